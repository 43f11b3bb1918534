"""What the operators' pages read, lists and counts. Every query names the tenant and is bounded."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

from agentops.agents.models import Agent
from agentops.console.queries import freezes_of
from agentops.gateway.breaker import BreakerState
from agentops.gateway.models import Breaker
from agentops.kernel.canonical import loads
from agentops.ledger.payloads import bodies
from agentops.registry import roles
from agentops.runtime.models import Invocation, Question, Session
from agentops.runtime.reconciling import unreconciled
from agentops.tenancy.models import Freeze

PAGE = 30
MOST_ACTIVE = 50
MOST_BREAKERS = 100
MOST_AGENTS = 20


@dataclass(frozen=True)
class Counts:
    """How much there is to look at in a tenant."""

    unknown: int
    questions: int
    breakers_off: int
    unusual: int
    webhooks_failed: int
    schedules_troubled: int


_COUNTS = """
SELECT (SELECT count(*) FROM invocation WHERE tenant_id = %(tenant)s AND unknown_since IS NOT NULL),
  (SELECT count(*) FROM agentops_question WHERE tenant_id = %(tenant)s AND closed_at IS NULL),
  (SELECT count(*) FROM agentops_breaker WHERE (tenant_id = %(tenant)s OR tenant_id IS NULL) AND state <> 'closed'),
  (SELECT count(*) FROM session WHERE tenant_id = %(tenant)s AND stop_code = 'ANOMALY'),
  (SELECT count(*) FROM agentops_webhookdelivery WHERE tenant_id = %(tenant)s AND state = 'failed'),
  (SELECT count(*) FROM role_schedule WHERE tenant_id = %(tenant)s AND (failed_since IS NOT NULL OR refused > 0)
    AND role || '/' || name = ANY(%(schedules)s))"""


def counts_of(tenant_id: UUID) -> Counts:
    """Return the counts in the navigation. One query. A schedule that no role has any more troubles nobody."""
    schedules = [f"{role.name}/{spec.name}" for role in roles.all_roles() for spec in role.schedules]
    return Counts(*rows_of(_COUNTS, {"tenant": tenant_id, "schedules": schedules})[0])


def rows_of(sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a SELECT of this package."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def active_freezes(tenant_id: UUID) -> tuple[list[Freeze], int]:
    """Return the newest active freezes, and how many there are."""
    return first_of(freezes_of(tenant_id).filter(lifted_at=None), MOST_ACTIVE)


def lifted_freezes(tenant_id: UUID, *, after: UUID | None) -> tuple[list[Freeze], bool]:
    """Return a page of lifted freezes, the newest first, and whether there are more."""
    found = freezes_of(tenant_id).exclude(lifted_at=None)
    if after is not None:
        found = found.filter(id__lt=after)
    return page_of(found)


def freeze_or_none(tenant_id: UUID, freeze_id: UUID) -> Freeze | None:
    """Return a freeze that concerns the tenant."""
    return freezes_of(tenant_id).filter(pk=freeze_id).first()


def agent_names(tenant_id: UUID, ids: Collection[UUID | None]) -> dict[UUID, str]:
    """Return the names of the tenant's agents among ``ids``. No query when there are none."""
    wanted = {pk for pk in ids if pk is not None}
    if not wanted:
        return {}
    return dict(Agent.objects.filter(tenant_id=tenant_id, pk__in=wanted).values_list("pk", "name"))


def agents_with_grants(tenant_id: UUID) -> tuple[list[Agent], int]:
    """Return the first active agents of a tenant with what their current versions may do, and how many there are."""
    found = Agent.objects.filter(tenant_id=tenant_id, is_active=True, current_version__isnull=False)
    found = found.select_related("current_version").prefetch_related("current_version__grants__thresholds")
    return first_of(found.order_by("name"), MOST_AGENTS)


def page_of(found: QuerySet[Any]) -> tuple[list[Any], bool]:
    """Return at most 30 rows, and whether there are more."""
    rows = list(found[: PAGE + 1])
    return rows[:PAGE], len(rows) > PAGE


def first_of(found: QuerySet[Any], most: int) -> tuple[list[Any], int]:
    """Return at most ``most`` rows, and how many there are. Counts only when there are more."""
    rows = list(found[: most + 1])
    return rows[:most], len(rows) if len(rows) <= most else found.count()


@dataclass(frozen=True)
class Told:
    """When an unknown call was intended, and in which words it was given up."""

    intended: datetime | None = None
    words: str = ""


_TOLD = """
SELECT e.refs->>'invocation', e.type, e.at, e.stream, e.position, p.body
FROM ledger_event e LEFT JOIN ledger_payload p
  ON p.stream = e.stream AND p.position = e.position AND e.type = 'call.unknown'
WHERE e.stream = ANY(%(streams)s) AND e.type IN ('call.intended', 'call.unknown')
  AND e.refs->>'invocation' = ANY(%(calls)s)
ORDER BY e.stream, e.position"""


def told_of(calls: Sequence[Invocation]) -> dict[UUID, Told]:
    """Return what the ledger tells of calls whose outcome is unknown. One query."""
    if not calls:
        return {}
    params = {"streams": [call.session_id for call in calls], "calls": [str(call.pk) for call in calls]}
    found: dict[UUID, Told] = {}
    rows = rows_of(_TOLD, params)
    read = bodies(row[3:] for row in rows)
    for (text, kind, at, *_), body in zip(rows, read, strict=True):
        pk = UUID(text)
        before = found.get(pk, Told())
        if kind == "call.intended":
            found[pk] = Told(at, before.words)
        else:
            found[pk] = Told(before.intended, _words_in(body))
    return found


def _words_in(body: bytes | None) -> str:
    payload = loads(body) if body is not None else {}
    result = payload.get("result") if isinstance(payload, dict) else None
    if not isinstance(result, dict):
        return ""
    return f"{result.get('message', '')} {result.get('next_step', '')}".strip()


def unknown_page(tenant_id: UUID, *, start: UUID | None) -> tuple[list[Invocation], UUID | None]:
    """Return a page of calls of unknown outcome from ``start`` on, the oldest first, and where the next one starts."""
    found = unreconciled(tenant_id)
    rows = list((found if start is None else found.filter(id__gte=start))[: PAGE + 1])
    return rows[:PAGE], rows[PAGE].pk if len(rows) > PAGE else None


def unknown_or_none(tenant_id: UUID, invocation_id: UUID) -> Invocation | None:
    """Return a call of the tenant, whatever is known of it by now."""
    return Invocation.objects.filter(tenant_id=tenant_id, pk=invocation_id).first()


def sessions_by_id(tenant_id: UUID, ids: Collection[UUID]) -> dict[UUID, Session]:
    """Return sessions of the tenant with their agents."""
    found = Session.objects.filter(tenant_id=tenant_id, pk__in=ids).select_related("agent_version__agent")
    return {session.pk: session for session in found}


def breakers_seen(tenant_id: UUID) -> tuple[list[Breaker], int]:
    """Return the breakers that concern a tenant, those that do not just work first, and how many there are."""
    rank = Case(
        When(state=BreakerState.CLOSED.value, failures=0, then=Value(2)),
        When(state=BreakerState.CLOSED.value, then=Value(1)),
        default=Value(0),
        output_field=IntegerField(),
    )
    found = Breaker.objects.filter(Q(tenant_id=tenant_id) | Q(tenant_id=None)).order_by(rank, "name")
    return first_of(found, MOST_BREAKERS)


def breaker_or_none(tenant_id: UUID, breaker_id: UUID) -> Breaker | None:
    """Return a breaker that concerns the tenant."""
    return Breaker.objects.filter(Q(tenant_id=tenant_id) | Q(tenant_id=None), pk=breaker_id).first()


def open_questions(tenant_id: UUID, *, after: UUID | None) -> tuple[list[Question], bool]:
    """Return a page of questions that wait for an answer, the oldest first, and whether there are more."""
    found = Question.objects.filter(tenant_id=tenant_id, closed_at=None).order_by("id")
    return page_of(found if after is None else found.filter(id__gt=after))
