"""The list of examples as people see it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentops.console.marks import State, Text
from agentops.console.reveal import reveal
from agentops.tenancy.access import Reader
from agentops.tenancy.models import Role
from approvals.access import rights_of, visible_requests
from approvals.models import Exemplar

MOST = 100
_S = Exemplar.State
_STATES = {
    _S.PROPOSED: State("notice", "waits for a reader"),
    _S.ACCEPTED: State("ok", "accepted"),
    _S.DECLINED: State("gone", "declined"),
    _S.RETIRED: State("gone", "no longer shown"),
}


@dataclass(frozen=True)
class Example:
    """One example. ``may_review`` and ``may_retire`` say what the reader can do; ``own``: the reader proposed it."""

    pk: str
    request_pk: str
    code: str
    effect: Text
    tool: str
    state: State
    why: Text
    proposed_by: str
    proposed_at: datetime
    reviewed_by: str
    reviewed_at: datetime | None
    review: Text
    own: bool
    may_review: bool
    may_retire: bool


@dataclass(frozen=True)
class ExamplesPage:
    """Examples by where they stand. ``more``: there are older ones that are not shown."""

    waiting: Sequence[Example]
    accepted: Sequence[Example]
    over: Sequence[Example]
    more: bool


def examples_page(reader: Reader, now: datetime) -> ExamplesPage:
    """Return the newest examples of requests that the reader may see."""
    rights = rights_of(reader.person)
    admin = Role.ADMIN in reader.roles
    found = Exemplar.objects.filter(tenant_id=reader.tenant.pk).order_by("-proposed_at", "-pk")
    if not admin:
        found = found.filter(request__in=visible_requests(reader.person, reader.tenant.pk, now))
    rows = list(found.select_related("request", "proposed_by", "reviewed_by")[: MOST + 1])
    reviewable = rights.decide | rights.manage
    examples = [(row.state, _example(reader, row, admin or row.request.queue_id in reviewable)) for row in rows[:MOST]]
    return ExamplesPage(
        waiting=[one for state, one in examples if state == _S.PROPOSED],
        accepted=[one for state, one in examples if state == _S.ACCEPTED],
        over=[one for state, one in examples if state in (_S.DECLINED, _S.RETIRED)],
        more=len(rows) > MOST,
    )


def _example(reader: Reader, row: Exemplar, may: bool) -> Example:
    own = row.proposed_by_id == reader.person.pk
    return Example(
        pk=str(row.pk),
        request_pk=str(row.request_id),
        code=row.request.code,
        effect=reveal(row.request.effect),
        tool=row.request.tool,
        state=_STATES[_S(row.state)],
        why=reveal(row.why),
        proposed_by=row.proposed_by.get_username(),
        proposed_at=row.proposed_at,
        reviewed_by=row.reviewed_by.get_username() if row.reviewed_by else "",
        reviewed_at=row.reviewed_at,
        review=reveal(row.review),
        own=own,
        may_review=may and not own and row.state == _S.PROPOSED,
        may_retire=may and row.state in (_S.PROPOSED, _S.ACCEPTED),
    )
