"""Reading requests: the parts of the queue as one person sees them, their pages, and single requests."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any
from uuid import UUID

from babel.numbers import get_currency_precision
from django.contrib.auth.models import User
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import (
    Case,
    Exists,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, Right

from agentops.console.codes import as_uuid, tail_of
from agentops.kernel.clock import utcnow
from agentops.kernel.money import CURRENCIES
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payloads_of
from agentops.policy.flow import ROWS
from agentops.runtime.ports import ApprovalState
from agentops.runtime.session import OBSERVED
from approvals.access import (
    View,
    claimed_by_another,
    claimed_by_me,
    escalated_to,
    turn_of,
    view_of,
    visible_to,
)
from approvals.models import Act, ActKind, ApprovalRequest, Decision, Verdict
from approvals.search import AmountLimit, Search

PAGE_SIZE = 30


class Bucket(StrEnum):
    """The parts of the queue, as one person sees it."""

    TURN = "turn"
    OTHERS = "others"
    ESCALATED = "escalated"
    DECIDED = "decided"


@dataclass(frozen=True)
class Cursor:
    """Where a page of a list ends: the sort key of its last row."""

    at: datetime
    level: int
    id: UUID


@dataclass(frozen=True)
class Counts:
    """How many requests each bucket holds, up to ``MOST_COUNTED``; ``decided`` counts from the beginning of the day."""

    turn: int
    others: int
    escalated: int
    decided: int
    others_next_due: datetime | None


def requests_in(view: View, bucket: Bucket) -> QuerySet[ApprovalRequest]:
    """Return the requests of a bucket, in no order. One past its time is in none until it is recorded as expired.

    What has come up to a person stands in ``ESCALATED``, and in ``TURN`` too when they can decide it.
    """
    visible = ApprovalRequest.objects.filter(visible_to(view), tenant_id=view.tenant_id)
    if bucket is Bucket.DECIDED:
        return visible.exclude(state=ApprovalState.PENDING)
    pending = visible.filter(state=ApprovalState.PENDING, expires_at__gt=view.now)
    if bucket is Bucket.TURN:
        return pending.filter(turn_of(view))
    if bucket is Bucket.ESCALATED:
        return pending.filter(escalated_to(view))
    return pending.alias(elsewhere=_holds(turn_of(view) | escalated_to(view))).filter(elsewhere=False)


def _holds(condition: Q) -> Case:
    """Return a condition as true or false. What is not known, such as the end of no claim, is false."""
    return Case(When(condition, then=Value(value=True)), default=Value(value=False))


def pending_for(view: View) -> QuerySet[ApprovalRequest]:
    """Return all requests that wait and that the person sees, the most urgent first; ``turn`` when it is theirs."""
    found = ApprovalRequest.objects.filter(visible_to(view), tenant_id=view.tenant_id)
    found = found.filter(state=ApprovalState.PENDING, expires_at__gt=view.now)
    return found.annotate(turn=_holds(turn_of(view))).order_by("expires_at", "id")


def page_of(view: View, bucket: Bucket, search: Search, after: Cursor | None) -> list[ApprovalRequest]:
    """Return one row more than a page holds, if there are so many: the most urgent first, or the newest decided."""
    found = matching(requests_in(view, bucket), search, view)
    found = found.select_related("queue", "claimed_by", "assigned_to").prefetch_related(_DECISIONS).only(*_ROW)
    if bucket is Bucket.DECIDED:
        if after is not None:
            earlier = Q(closed_at__lt=after.at) | Q(closed_at=after.at, id__lt=after.id)
            found = found.filter(earlier, closed_at__lte=after.at)
        found = found.order_by("-closed_at", "-id")
    else:
        if after is not None:
            lower = Q(level__lt=after.level) | Q(level=after.level, id__gt=after.id)
            found = found.filter(Q(expires_at__gt=after.at) | Q(lower, expires_at=after.at), expires_at__gte=after.at)
        found = found.order_by("expires_at", "-level", "id")
    return list(found[: PAGE_SIZE + 1])


_DECISIONS = Prefetch("decisions", Decision.objects.select_related("person").order_by("-at"))


def approvals_of(request: ApprovalRequest) -> list[Decision]:
    """Return who approved a request whose decisions were read with it, the first person first."""
    found = [decision for decision in request.decisions.all() if decision.taken_back_at is None]
    return [decision for decision in reversed(found) if decision.verdict == Verdict.APPROVE]


_PEOPLE = ("username", "first_name", "last_name")
_ROW = (
    *("id", "tenant_id", "queue_id", "tool", "agent", "target", "effect", "level", "irreversible", "money_minor"),
    *("money_currency", "created_at", "expires_at", "state", "closed_at", "people", "facts", "digest", "requester"),
    *("claimed_until", "rung", "queue__name", "queue__bulk_approve"),
    *(f"{who}__{name}" for who in ("claimed_by", "assigned_to") for name in _PEOPLE),
)


def requests_by_id(view: View, ids: Collection[UUID]) -> list[ApprovalRequest]:
    """Return whole those of the requests that the person may see, in the order of the queue."""
    found = ApprovalRequest.objects.filter(visible_to(view), tenant_id=view.tenant_id, pk__in=ids)
    related = found.select_related("queue", "claimed_by", "assigned_to").prefetch_related(_DECISIONS)
    return list(by_urgency(related))


def cursor_of(row: ApprovalRequest) -> Cursor:
    """Return where a page that ends with ``row`` ends."""
    return Cursor(row.closed_at or row.expires_at, row.level, row.pk)


MOST_COUNTED = 1_000
"""Nobody needs to know more exactly how many wait, and counting must not become dear with them."""


def counts(view: View, *, day_began: datetime) -> Counts:
    """Return the size of each bucket, asked in one question: what waits is looked at once."""
    waiting = pending_for(view).annotate(up=_holds(escalated_to(view))).order_by().values("turn", "up", "expires_at")
    decided = requests_in(view, Bucket.DECIDED).filter(closed_at__gte=day_began).order_by("-closed_at")
    waits, of_waits = _sql_of(waiting)
    done, of_done = _sql_of(decided.values("closed_at")[:MOST_COUNTED])
    with connection.cursor() as cursor:
        cursor.execute(_SIZES.format(done=done, waits=waits), [*of_done, *of_waits])
        turn, others, escalated, today, due = cursor.fetchone()
    found = Counts(
        turn=min(turn, MOST_COUNTED),
        others=min(others, MOST_COUNTED),
        escalated=min(escalated, MOST_COUNTED),
        decided=today,
        others_next_due=due,
    )
    remember(view.person, view.tenant_id, found.turn)
    return found


_SIZES = """
SELECT count(*) FILTER (WHERE turn), count(*) FILTER (WHERE NOT turn AND NOT up), count(*) FILTER (WHERE up),
  (SELECT count(*) FROM ({done}) d), min(expires_at) FILTER (WHERE NOT turn AND NOT up)
FROM ({waits}) w"""
_NONE = "SELECT false AS turn, false AS up, NULL::timestamptz AS expires_at WHERE false"


def _sql_of(rows: QuerySet[Any, Any]) -> tuple[str, Sequence[Any]]:
    """Return a query as SQL with its parameters; one that can find nothing is not sent by the ORM."""
    try:
        return rows.query.sql_with_params()
    except EmptyResultSet:
        return _NONE, ()


_KNOWN, _KNOWN_VIEW = "_approvals_turn", "_approvals_view"


def remember(person: User, tenant_id: UUID, turn: int) -> None:
    """Let the frame around a page know what the page has counted: the person's object lives as long as a request."""
    setattr(person, _KNOWN, (tenant_id, turn))


def remember_view(view: View) -> None:
    """Let the frame around a page know whose queue the page has read, as ``remember`` does."""
    setattr(view.person, _KNOWN_VIEW, view)


def turn_count(person: User, tenant_id: UUID) -> int:
    """Return how many requests of the tenant wait for this person now."""
    known = getattr(person, _KNOWN, None)
    if known is not None and known[0] == tenant_id:
        return int(known[1])
    read: View | None = getattr(person, _KNOWN_VIEW, None)
    view = read if read is not None and read.tenant_id == tenant_id else view_of(person, tenant_id, utcnow())
    return requests_in(view, Bucket.TURN).order_by("expires_at")[:MOST_COUNTED].count()


def matching(requests: QuerySet[ApprovalRequest], search: Search, view: View) -> QuerySet[ApprovalRequest]:
    """Return those of ``requests`` that meet every condition of ``search``."""
    conditions = [_mentions(word) for word in search.words]
    conditions += [Q(tool=tool) for tool in search.tools]
    conditions += [Q(agent__icontains=agent) for agent in search.agents]
    conditions += [Q(queue__slug__iexact=queue) | Q(queue__name__icontains=queue) for queue in search.queues]
    conditions += [Q(level=level) for level in search.tiers]
    conditions += [Q(**{f"expires_at__{_LOOKUPS[limit.op]}": view.now + limit.span}) for limit in search.due]
    conditions += [_amount(limit) for limit in search.amounts]
    conditions += [_MARKED[mark] for mark in search.marks]
    conditions += [_claimed(view, whose) for whose in search.claims]
    if not conditions:
        return requests
    return requests.alias(id_tail=Right(Cast("id", TextField()), 10)).filter(*conditions)


_SHOWN = ("effect", "target", "tool", "agent", "sender", "subject_id", "subject_title")
_LOOKUPS = {"<": "lt", "<=": "lte", "=": "exact", ">=": "gte", ">": "gt"}


def _mentions(word: str) -> Q:
    whole, tail = as_uuid(word), tail_of(word)
    if whole is not None:
        return Q(pk=whole) | Q(session_id=whole) | Q(invocation_id=whole)
    if tail is not None:
        return Q(id_tail=tail)
    found = Q()
    for name in _SHOWN:
        found |= Q(**{f"{name}__icontains": word})
    return found


_UNTRUSTED, _FIRST = Q(facts__flow__untrusted=True), Q(facts__rate__first_target=True)
_MARKED = {
    "untrusted": _UNTRUSTED,
    "first": _FIRST,
    "anomaly": _UNTRUSTED
    | _FIRST
    | Q(facts__rate__unusual=True)
    | Q(facts__flow__chosen=True)
    | Q(facts__flow__has_any_keys=list(ROWS)),
}
"""What stands in the facts of a request only when it is unusual (``policy.facts.recorded``)."""


def _claimed(view: View, whose: str) -> Q:
    if whose == "none":
        return Q(claimed_until=None) | Q(claimed_until__lte=view.now)
    return claimed_by_me(view) if whose == "mine" else claimed_by_another(view)


def _amount(limit: AmountLimit) -> Q:
    """Compare in minor units: an amount of money is stored in those of its own currency."""
    by_digits = {get_currency_precision(limit.currency): [limit.currency]} if limit.currency else _by_digits()
    found = Q()
    for digits, currencies in by_digits.items():
        exact = limit.value.scaleb(digits)
        minor = math.ceil(exact) if limit.op in ("<", ">=") else math.floor(exact)
        if limit.op != "=" or minor == exact:
            found |= Q(**{f"money_minor__{_LOOKUPS[limit.op]}": minor}, money_currency__in=currencies)
    return found or Q(pk__in=[])


@cache
def _by_digits() -> dict[int, list[str]]:
    """Return the currencies by how many digits their minor unit has."""
    found: dict[int, list[str]] = {}
    for currency in sorted(CURRENCIES):
        found.setdefault(get_currency_precision(currency), []).append(currency)
    return found


def arrived(view: View, bucket: Bucket, search: Search, *, since: datetime, shown: Collection[UUID]) -> int:
    """Return how many requests came into the bucket since a page with the rows ``shown`` was made."""
    found = matching(requests_in(view, bucket), search, view).exclude(pk__in=shown)
    if bucket is Bucket.DECIDED:
        came = Q(closed_at__gte=since)
    else:
        moved = Act.objects.filter(request=OuterRef("pk"), at__gte=since, kind__in=_MOVES)
        ended = Q(claimed_until__gte=since, claimed_until__lte=view.now)
        came = Q(created_at__gte=since) | ended | Q(Exists(moved))
    return found.filter(came)[:MOST_COUNTED].count()


_MOVES = (
    *(ActKind.ROUTED, ActKind.CLAIMED, ActKind.RELEASED, ActKind.SKIPPED, ActKind.ASSIGNED, ActKind.ESCALATED),
    ActKind.TAKEN_BACK,
)
"""After these a request can be in another bucket than before."""


def still_in(view: View, bucket: Bucket, shown: Collection[UUID]) -> frozenset[UUID]:
    """Return those of the requests ``shown`` that are in the bucket."""
    return frozenset(requests_in(view, bucket).filter(pk__in=shown).values_list("pk", flat=True))


def get_request(view: View, pk: UUID) -> ApprovalRequest | None:
    """Return a request of the tenant that the person may see, with its queue and decisions; None for other ids."""
    requests = ApprovalRequest.objects.filter(visible_to(view), tenant_id=view.tenant_id, pk=pk)
    related = ("queue", "supersedes", "claimed_by", "assigned_to")
    return requests.select_related(*related).prefetch_related(_DECISIONS).first()


def successor_of(request: ApprovalRequest) -> ApprovalRequest | None:
    """Return the request that replaced this one, if one did."""
    return ApprovalRequest.objects.filter(supersedes=request).order_by("-id").first()


def by_urgency(requests: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
    """Return pending requests in the order of the queue."""
    return requests.order_by("expires_at", "-level", "id")


_CALLS = ("call.read", "call.read_failed", "call.refused", "call.intended", "call.failed", "call.unknown")


def steps_before(request: ApprovalRequest, *, limit: int) -> list[tuple[LedgerEvent, dict[str, Any]]]:
    """Return the last calls that the session made before it asked, oldest first, with their payloads."""
    before = LedgerEvent.objects.filter(stream=request.session_id, position__lt=request.position, type__in=_CALLS)
    events = list(before.order_by("-position")[:limit])[::-1]
    bodies = payloads_of(request.session_id, [event.position for event in events])
    return [(event, bodies.get(event.position) or {}) for event in events]


def observed_before(request: ApprovalRequest) -> list[tuple[int, str]]:
    """Return the position and the tool ("" for none) of what the session was told before it asked, oldest first."""
    before = LedgerEvent.objects.filter(stream=request.session_id, position__lt=request.position, type__in=OBSERVED)
    events = before.order_by("position").values_list("position", "facts__tool")
    return [(position, tool or "") for position, tool in events]


def events_after(request: ApprovalRequest) -> Sequence[LedgerEvent]:
    """Return what the session's stream says about this call from the question on, oldest first."""
    after = LedgerEvent.objects.filter(
        stream=request.session_id, position__gte=request.position, refs__invocation=str(request.invocation_id)
    )
    return list(after.order_by("position"))
