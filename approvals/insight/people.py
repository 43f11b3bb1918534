"""Who decides how: the signs of ``approvals.insight.signals`` for the people of some queues."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, Q

from agentops.tenancy.spans import Span
from approvals.insight.signals import LEAST, Limit, Measures, Seen, measures_of, signs_of
from approvals.insight.sql import fetch_all
from approvals.models import DrillAnswer
from approvals.previews.parts import LONG_CHARACTERS

MOST = 10_000
"""So many decisions are looked at, the newest: what people did lately counts."""

_SEEN = """
SELECT u.id, u.username, d.verdict = 'approve', d.dwell_ms,
  length(r.effect) + length(r.arguments::text) + length(r.preview::text) + length(r.subject_title)
    + length(r.subject_text),
  EXISTS (SELECT 1 FROM jsonb_each(r.arguments) one WHERE length(one.value::text) > %(long)s),
  EXISTS (SELECT 1 FROM approvals_regret g WHERE g.request_id = r.id)
FROM approvals_approvalrequest r
JOIN approvals_decision d ON d.request_id = r.id AND d.taken_back_at IS NULL
JOIN auth_user u ON u.id = d.person_id
WHERE r.tenant_id = %(tenant)s AND r.state <> 'pending' AND r.closed_at >= %(begins)s AND r.closed_at < %(ends)s
  AND (r.queue_id = ANY (%(queues)s) OR d.person_id = %(person)s)
ORDER BY r.closed_at DESC, d.id DESC LIMIT %(most)s"""


@dataclass(frozen=True)
class Person:
    """One person's measures and signs; ``signs`` is None when there are too few decisions to tell."""

    name: str
    own: bool
    measures: Measures
    signs: list[Limit] | None

    @property
    def missing(self) -> int:
        """How many more decisions it takes until anything can be told."""
        return max(0, LEAST - self.measures.decided)


def people_of(tenant_id: UUID, queues: Collection[int], reader: User, span: Span) -> tuple[list[Person], bool]:
    """Return everybody who decided in these queues, by name, and the reader in any case; and whether rows were left.

    In the order of names on purpose: an order by a figure would say that it ranks people. Two queries.
    """
    params = {
        "tenant": tenant_id,
        "queues": list(queues),
        "person": reader.pk,
        "begins": span.begins,
        "ends": span.ends,
        "long": LONG_CHARACTERS,
        "most": MOST,
    }
    rows = fetch_all(_SEEN, params)
    names: dict[int, str] = {reader.pk: reader.get_username()}
    seen: dict[int, list[Seen]] = {reader.pk: []}
    for person, name, *fields in reversed(rows):
        names[person] = name
        seen.setdefault(person, []).append(Seen(*fields))
    drills = _drills(tenant_id, seen.keys(), span)
    found = []
    for person in sorted(seen, key=lambda pk: (pk != reader.pk, names[pk])):
        answered, failed = drills.get(person, (0, 0))
        measures = measures_of(seen[person], drills=answered, drills_failed=failed)
        found.append(Person(names[person], person == reader.pk, measures, signs_of(measures)))
    return found, len(rows) == MOST


def _drills(tenant_id: UUID, people: Collection[int], span: Span) -> dict[int, tuple[int, int]]:
    answers = DrillAnswer.objects.filter(
        drill__tenant_id=tenant_id, person__in=list(people), at__gte=span.begins, at__lt=span.ends
    )
    sums = answers.values("person").annotate(n=Count("pk"), wrong=Count("pk", filter=Q(right=False)))
    return {row["person"]: (row["n"], row["wrong"]) for row in sums}
