"""The money of models: reserved before a call, settled by the durable point after it. Micro-dollars.

A reservation counts in the session's row and in up to three rows of the business day: the tenant's, the agent's and the
workstream's. Whoever locks them does so in one order, the session first and then the days by id, so that nobody
waits in a circle. What a worker had reserved when it was lost counts as spent: the call may have been made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction

from agentops.kernel.errors import IncidentCode
from agentops.kernel.ids import derived_id
from agentops.ledger.append import Event, StaleStream, Statement, append_to
from agentops.ledger.sql import fetch_all, fetch_one
from agentops.registry.planner import Usage
from agentops.runtime.guards import WARN_AT
from agentops.runtime.models import Session, SpendDay

TENANT = "tenant"


@dataclass(frozen=True)
class Purse:
    """Who pays for a session's model calls, and within which limits; None is no limit.

    ``session_micro`` is the version's limit for one session, the others are for one business day in ``zone``.
    """

    tenant_id: UUID
    agent_id: UUID
    workstream: str
    zone: ZoneInfo
    session_micro: int | None = None
    agent_day_micro: int | None = None
    tenant_day_micro: int | None = None

    def limit_of(self, scope: str) -> int | None:
        """Return the daily limit of a scope; a workstream has none."""
        return {TENANT: self.tenant_day_micro, _agent(self.agent_id): self.agent_day_micro}.get(scope)


@dataclass(frozen=True)
class Reservation:
    """Money that is set aside for model calls. ``rows`` are the day's rows, in the order they are locked in."""

    micro: int
    day: date
    rows: tuple[UUID, ...]


@dataclass(frozen=True)
class LimitReached:
    """The limit that stands in the way of a call. ``scope`` is ``session``, ``tenant`` or ``agent:ID``."""

    code: IncidentCode
    scope: str
    limit_micro: int


class _Over(Exception):
    def __init__(self, reached: LimitReached) -> None:
        super().__init__(reached.scope)
        self.reached = reached


def reserve(
    *,
    session_id: UUID,
    fence: int,
    purse: Purse,
    micro: int,
    at: datetime,
    onto: Reservation | None = None,
) -> Reservation | LimitReached:
    """Set ``micro`` aside for one call of the session's model, or say which limit stands in the way.

    ``onto`` is a reservation that no durable point has settled yet; what is returned then replaces it. One short
    transaction of its own. Raises StaleStream when the session is no longer held under ``fence``.
    """
    day = onto.day if onto else business_day(at, purse.zone)
    try:
        with transaction.atomic():
            _reserve_in_session(session_id, fence, purse, micro, day)
            rows = _reserve_in_days(purse, micro, day)
    except _Over as over:
        return over.reached
    return Reservation(micro + (onto.micro if onto else 0), day, rows)


def _reserve_in_session(session_id: UUID, fence: int, purse: Purse, micro: int, day: date) -> None:
    params = {"session": session_id, "fence": fence, "micro": micro, "day": day}
    found = fetch_one(_RESERVE_IN_SESSION, params)
    if found is None:
        raise StaleStream(f"session {session_id} is held by somebody else")
    if purse.session_micro is not None and found[0] > purse.session_micro:
        raise _Over(LimitReached(IncidentCode.BUDGET_COST, "session", purse.session_micro))


def _reserve_in_days(purse: Purse, micro: int, day: date) -> tuple[UUID, ...]:
    rows = day_rows(purse.tenant_id, purse.agent_id, purse.workstream, day)
    params = {"tenant": purse.tenant_id, "day": day, "micro": micro}
    ids, scopes = [row for row, _ in rows], [scope for _, scope in rows]
    taken = fetch_all(_RESERVE_IN_DAYS, {**params, "ids": ids, "scopes": scopes})
    for scope, micros, warned in taken:
        limit = purse.limit_of(scope)
        if limit is not None and micros > limit:
            raise _Over(LimitReached(IncidentCode.BUDGET_DAY, scope, limit))
        if limit:
            _warn(purse.tenant_id, day, scope, micros * 100 // limit, warned)
    return tuple(ids)


def _warn(tenant_id: UUID, day: date, scope: str, percent: int, warned: int) -> None:
    """Record once a day when half, and once when four fifths, of a daily limit are spent or set aside."""
    crossed = [mark for mark in WARN_AT if warned < mark <= percent]
    if not crossed:
        return
    SpendDay.objects.filter(pk=_day_id(tenant_id, scope, day)).update(warned=crossed[-1])
    kind = "tenant_day" if scope == TENANT else "agent_day"
    events = [
        Event("budget.warned", "runtime", {"kind": kind, "percent": mark, "day": day.isoformat()}) for mark in crossed
    ]
    append_to(tenant_id=tenant_id, name=f"budget:{scope}", events=events)


_RESERVE_IN_SESSION = """
UPDATE session SET reserved_micro = reserved_micro + %(micro)s, reserved_day = %(day)s
WHERE id = %(session)s AND fence = %(fence)s AND status = 'running'
RETURNING cost_micro + reserved_micro"""

# The rows are locked in the order in which they stand here.
_RESERVE_IN_DAYS = """
INSERT INTO spend_day (id, tenant_id, scope, day, spent_micro, reserved_micro, tokens, calls, warned)
SELECT d.id, %(tenant)s, d.scope, %(day)s, 0, %(micro)s, 0, 0, 0
FROM unnest(%(ids)s::uuid[], %(scopes)s::text[]) AS d(id, scope)
ON CONFLICT (id) DO UPDATE SET reserved_micro = spend_day.reserved_micro + excluded.reserved_micro
RETURNING scope, spent_micro + reserved_micro, warned"""

# Each part selects from the one before, so that these rows, too, are locked in their order.
_SETTLE_DAY = """
UPDATE spend_day SET reserved_micro = spend_day.reserved_micro - %(spend_reserved)s,
  spent_micro = spend_day.spent_micro + %(spend_cost)s, tokens = spend_day.tokens + %(spend_tokens)s,
  calls = spend_day.calls + %(spend_calls)s
FROM {before} WHERE spend_day.id = %(spend_row_{n})s RETURNING 1"""
_PARTS = [(f"spend_{n}", _SETTLE_DAY.format(before=f"spend_{n - 1}" if n else "head", n=n)) for n in range(3)]


def settle_parts(reservation: Reservation, usage: Usage) -> list[Statement]:
    """Return the parts of the durable point after a call that count what it really took.

    The session's own row is the head of that statement, which sets its ``reserved_micro`` to 0. A usage without a
    model is that of a call that gave no answer.
    """
    tokens = usage.input_tokens + usage.output_tokens
    return _parts(reservation.rows, reservation.micro, usage.cost_micro, tokens, int(bool(usage.model)))


def forfeit_parts(session: Session) -> list[Statement]:
    """Return the parts that count as spent what a lost worker had reserved; none when that is nothing.

    The head of that statement moves ``reserved_micro`` into ``cost_micro``. ``session`` is locked by the caller.
    """
    if not session.reserved_micro or session.reserved_day is None:
        return []
    rows = day_rows(session.tenant_id, session.agent_id, session.workstream, session.reserved_day)
    return _parts([row for row, _ in rows], session.reserved_micro, session.reserved_micro, 0, 1)


def _parts(rows: Sequence[UUID], reserved: int, cost: int, tokens: int, calls: int) -> list[Statement]:
    params = {"spend_reserved": reserved, "spend_cost": cost, "spend_tokens": tokens, "spend_calls": calls}
    named = zip(rows, _PARTS, strict=False)
    return [Statement(name, sql, {**params, f"spend_row_{n}": row}) for n, (row, (name, sql)) in enumerate(named)]


def business_day(at: datetime, zone: ZoneInfo) -> date:
    """Return the day that ``at`` belongs to where the tenant is."""
    return at.astimezone(zone).date()


def day_rows(tenant_id: UUID, agent_id: UUID, workstream: str, day: date) -> list[tuple[UUID, str]]:
    """Return id and scope of the rows that a model call counts in, in the order they are locked in."""
    scopes = [TENANT, _agent(agent_id), *([f"workstream:{workstream}"] if workstream else [])]
    return sorted((_day_id(tenant_id, scope, day), scope) for scope in scopes)


def _day_id(tenant_id: UUID, scope: str, day: date) -> UUID:
    return derived_id("spend", str(tenant_id), scope, day.isoformat())


def _agent(agent_id: UUID) -> str:
    return f"agent:{agent_id}"


@dataclass(frozen=True)
class Spent:
    """What models cost in one business day; ``reserved_micro`` belongs to calls under way."""

    spent_micro: int = 0
    reserved_micro: int = 0
    tokens: int = 0
    calls: int = 0


@dataclass(frozen=True)
class DayOfSpend:
    """One business day of a tenant: all of it, and by agent id and by workstream, the dearest first."""

    total: Spent
    agents: tuple[tuple[UUID, Spent], ...]
    workstreams: tuple[tuple[str, Spent], ...]


def spend_of(tenant_id: UUID, day: date) -> DayOfSpend:
    """Return what a tenant's models cost on ``day``. One query."""
    total = Spent()
    agents, workstreams = [], []
    for row in SpendDay.objects.filter(tenant_id=tenant_id, day=day).order_by("-spent_micro", "scope"):
        spent = Spent(row.spent_micro, row.reserved_micro, row.tokens, row.calls)
        kind, _, name = row.scope.partition(":")
        if kind == "agent":
            agents.append((UUID(name), spent))
        elif kind == "workstream":
            workstreams.append((name, spent))
        else:
            total = spent
    return DayOfSpend(total, tuple(agents), tuple(workstreams))
