"""Who may decide what, and reading requests."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Literal
from uuid import UUID

from babel.numbers import get_currency_precision
from django.contrib.auth.models import User
from django.db.models import (
    Case,
    Count,
    Exists,
    IntegerField,
    Min,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, Right
from guardian.shortcuts import get_objects_for_user

from agentops.console.codes import as_uuid, tail_of
from agentops.kernel.canonical import loads
from agentops.kernel.clock import utcnow
from agentops.kernel.money import CURRENCIES
from agentops.ledger.bodies import body_of
from agentops.ledger.models import LedgerEvent, Payload
from agentops.registry.tool import Tier
from agentops.runtime.ports import ApprovalState
from agentops.runtime.session import OBSERVED
from approvals.models import ApprovalQueue, ApprovalRequest, Decision, Verdict
from approvals.search import AmountLimit, Search

PERMISSION = "approvals.decide_queue"
PAGE_SIZE = 30

_LEVEL = Case(
    When(irreversible=True, then=Value(3)),
    When(tier=Tier.WRITE_HARD.value, then=Value(2)),
    default=Value(1),
    output_field=IntegerField(),
)


class Bucket(StrEnum):
    """The parts of the queue, as one person sees it."""

    TURN = "turn"
    OTHERS = "others"
    DECIDED = "decided"


@dataclass(frozen=True)
class View:
    """Whose queue is read, and when. ``mine`` are the keys of the queues that ``person`` may decide."""

    tenant_id: UUID
    person: User
    mine: frozenset[int]
    now: datetime


@dataclass(frozen=True)
class Cursor:
    """Where a page of a list ends: the sort key of its last row."""

    at: datetime
    level: int
    id: UUID


@dataclass(frozen=True)
class Counts:
    """How many requests each bucket holds; ``decided`` counts from the beginning of the day."""

    turn: int
    others: int
    decided: int
    others_next_due: datetime | None


def may_decide(person: User, queue: ApprovalQueue) -> bool:
    """Return whether the person has the queue's own permission. Being a superuser is not enough."""
    return queue.pk in decidable_queues(person)


def decidable_queues(person: User) -> frozenset[int]:
    """Return the keys of the queues that the person may decide, all of them in tenants that they belong to."""
    if not person.is_active:
        return frozenset()
    found = get_objects_for_user(
        person, PERMISSION, klass=ApprovalQueue, with_superuser=False, accept_global_perms=False
    )
    return frozenset(found.filter(tenant__memberships__user=person).values_list("pk", flat=True))


def requests_in(view: View, bucket: Bucket) -> QuerySet[ApprovalRequest]:
    """Return the requests of a bucket, in no order. One past its time is in none until it is recorded as expired."""
    requests = ApprovalRequest.objects.filter(tenant_id=view.tenant_id)
    if bucket is Bucket.DECIDED:
        return requests.exclude(state=ApprovalState.PENDING)
    pending = requests.filter(state=ApprovalState.PENDING, expires_at__gt=view.now)
    mine = _turn_of(view)
    return pending.filter(mine if bucket is Bucket.TURN else ~mine)


def _turn_of(view: View) -> Q:
    """It is no longer the turn of a person who has approved, while it waits for other people."""
    voted = Exists(Decision.objects.filter(request=OuterRef("pk"), person=view.person))
    return Q(queue_id__in=view.mine) & ~Q(voted)


def page_of(view: View, bucket: Bucket, search: Search, after: Cursor | None) -> list[ApprovalRequest]:
    """Return one row more than a page holds, if there are so many: the most urgent first, or the newest decided."""
    found = matching(requests_in(view, bucket), search, view.now).annotate(level=_LEVEL)
    found = found.select_related("queue").prefetch_related(_DECISIONS).only(*_ROW)
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
    return [decision for decision in reversed(list(request.decisions.all())) if decision.verdict == Verdict.APPROVE]


_ROW = (
    *("id", "tenant_id", "tool", "agent", "target", "effect", "tier", "irreversible", "money_minor"),
    *("money_currency", "created_at", "expires_at", "state", "closed_at", "people", "queue__name"),
)


def cursor_of(row: ApprovalRequest) -> Cursor:
    """Return where a page that ends with ``row`` ends."""
    return Cursor(row.closed_at or row.expires_at, level_of(row), row.pk)


def level_of(row: ApprovalRequest) -> Literal[1, 2, 3]:
    """Return how much a mistake would cost: 1 reversible, 2 consequential, 3 irreversible."""
    if row.irreversible:
        return 3
    return 2 if row.tier == Tier.WRITE_HARD else 1


def counts(view: View, *, day_began: datetime) -> Counts:
    """Return the size of each bucket."""
    mine = _turn_of(view)
    pending = ApprovalRequest.objects.filter(
        tenant_id=view.tenant_id, state=ApprovalState.PENDING, expires_at__gt=view.now
    ).aggregate(
        turn=Count("pk", filter=mine),
        others=Count("pk", filter=~mine),
        others_next_due=Min("expires_at", filter=~mine),
    )
    decided = requests_in(view, Bucket.DECIDED).filter(closed_at__gte=day_began).count()
    return Counts(decided=decided, **pending)


def turn_count(person: User, tenant_id: UUID) -> int:
    """Return how many requests of the tenant wait for this person now."""
    return requests_in(View(tenant_id, person, decidable_queues(person), utcnow()), Bucket.TURN).count()


def matching(requests: QuerySet[ApprovalRequest], search: Search, now: datetime) -> QuerySet[ApprovalRequest]:
    """Return those of ``requests`` that meet every condition of ``search``."""
    conditions = [_mentions(word) for word in search.words]
    conditions += [Q(tool=tool) for tool in search.tools]
    conditions += [Q(agent__icontains=agent) for agent in search.agents]
    conditions += [Q(queue__slug__iexact=queue) | Q(queue__name__icontains=queue) for queue in search.queues]
    conditions += [Q(level=level) for level in search.tiers]
    conditions += [Q(**{f"expires_at__{_LOOKUPS[limit.op]}": now + limit.span}) for limit in search.due]
    conditions += [_amount(limit) for limit in search.amounts]
    return requests.alias(level=_LEVEL, id_tail=Right(Cast("id", TextField()), 10)).filter(*conditions)


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
    found = matching(requests_in(view, bucket), search, view.now).exclude(pk__in=shown)
    moment = "closed_at" if bucket is Bucket.DECIDED else "created_at"
    return found.filter(**{f"{moment}__gte": since}).count()


def still_in(view: View, bucket: Bucket, shown: Collection[UUID]) -> frozenset[UUID]:
    """Return those of the requests ``shown`` that are in the bucket."""
    return frozenset(requests_in(view, bucket).filter(pk__in=shown).values_list("pk", flat=True))


def get_request(tenant_id: UUID, pk: UUID) -> ApprovalRequest | None:
    """Return a request of the tenant with its queue and decisions, None for every other id."""
    requests = ApprovalRequest.objects.filter(tenant_id=tenant_id, pk=pk)
    return requests.select_related("queue", "supersedes").prefetch_related(_DECISIONS).first()


def successor_of(request: ApprovalRequest) -> ApprovalRequest | None:
    """Return the request that replaced this one, if one did."""
    return ApprovalRequest.objects.filter(supersedes=request).order_by("-id").first()


def next_for(view: View, *, other_than: UUID) -> UUID | None:
    """Return the most urgent request that the person may decide."""
    mine = requests_in(view, Bucket.TURN).exclude(pk=other_than).annotate(level=_LEVEL)
    return mine.order_by("expires_at", "-level", "id").values_list("pk", flat=True).first()


_CALLS = ("call.read", "call.read_failed", "call.refused", "call.intended", "call.failed", "call.unknown")


def steps_before(request: ApprovalRequest, *, limit: int) -> list[tuple[LedgerEvent, dict[str, Any]]]:
    """Return the last calls that the session made before it asked, oldest first, with their payloads."""
    before = LedgerEvent.objects.filter(stream=request.session_id, position__lt=request.position, type__in=_CALLS)
    events = list(before.order_by("-position")[:limit])[::-1]
    payloads = Payload.objects.filter(stream=request.session_id, position__in=[event.position for event in events])
    bodies = {position: loads(body_of(body)) for position, body in payloads.values_list("position", "body")}
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
