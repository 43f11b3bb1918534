"""The demo's shop being worked by the support role, and the books that are left when nothing is open any more.

Everything an approver decides here depends on what would happen alone, never on which session came first:

* Refunds and credits of up to $25.00 are approved. Whether the agent may make one by itself depends on what the
  customer got before on that day, so of two small refunds any one may be the one that asks. Both take effect in
  every order of events.
* Everything else asks in every order of events and is decided by a digest of its effect.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Sum
from guardian.shortcuts import assign_perm

from agentops.agents.models import Agent
from agentops.ledger.models import LedgerEvent, Payload, Stream
from agentops.ledger.payloads import Erased, read_payloads
from agentops.ledger.queries import leaf_of
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import employ_agent
from agentops.runtime.states import ENDED
from agentops.tenancy.models import Role, Tenant
from approvals.models import ApprovalQueue, ApprovalRequest, Verdict
from approvals.refusals import AlreadyClosed
from support_agent.models import (
    Customer,
    DeskOperation,
    Order,
    OrderLine,
    Payment,
    PaymentMethod,
    Ticket,
    TicketMessage,
    Variant,
)
from support_agent.role import ROLE
from support_agent.seeds import seed_demo
from tests.factories.deciding import decide_fully
from tests.factories.people import make_person
from tests.factories.sums import sums_of_targets

SMALL_MINOR = 2500
NO = "Not according to the rule of this approver."


@dataclass(frozen=True)
class Shop:
    """A demo shop with its agent and the one person who approves."""

    tenant: Tenant
    agent: Agent
    approver: User

    @property
    def is_open(self) -> bool:
        """Whether a ticket waits or a session has not ended."""
        waiting = Ticket.objects.filter(tenant=self.tenant, status="open", taken_at=None)
        unfinished = Session.objects.filter(tenant=self.tenant).exclude(status__in=ENDED)
        return waiting.exists() or unfinished.exists()

    def pending(self) -> list[ApprovalRequest]:
        """Return the requests that wait for the approver."""
        return list(ApprovalRequest.objects.filter(tenant=self.tenant, state="pending").order_by("id"))

    def decide_all(self) -> int:
        """Decide whatever waits, and return how much it was."""
        requests = self.pending()
        for request in requests:
            with suppress(AlreadyClosed):
                decide(request, self.approver, verdict_on(request))
        return len(requests)


def open_shop(name: str, *, approver: str = "") -> Shop:
    """Make a demo shop of its own: same content, another tenant. The approver's password is their name."""
    tenant = seed_demo()
    Tenant.objects.filter(pk=tenant.pk).update(slug=name)
    agent = employ_agent(tenant_id=tenant.pk, role=ROLE, name="Support", actor="tests")
    person = make_person(approver or f"approver-{name}", tenant, Role.APPROVER)
    for queue in ApprovalQueue.objects.filter(tenant=tenant):
        assign_perm("approvals.decide_queue", person, queue)
    return Shop(tenant, agent, person)


def decide(request: ApprovalRequest, person: User, verdict: Verdict) -> None:
    """Decide a request, with other people where one is not enough. Raises AlreadyClosed."""
    decide_fully(request, person, verdict, reason=NO)


def verdict_on(request: ApprovalRequest) -> Verdict:
    """Return what the approver says, from the effect alone."""
    if request.money_minor is not None and request.money_minor <= SMALL_MINOR:
        return Verdict.APPROVE
    even = hashlib.sha256(request.effect.encode()).digest()[0] % 2 == 0
    return Verdict.APPROVE if even else Verdict.REJECT


Rows = list[tuple[Any, ...]]


def books_of(tenant: Tenant) -> dict[str, Rows]:
    """Return everything about a shop that must not depend on when it was worked, by whom, or in which order."""
    return {
        "customers": _rows(Customer, tenant, "ref", "version", "address1", "address2", "city", "state", "zip"),
        "methods": _rows(PaymentMethod, tenant, "ref", "balance_minor", "version"),
        "orders": _rows(Order, tenant, "ref", *_ORDER),
        "lines": _rows(OrderLine, tenant, "order__ref", "number", "variant_ref", "price_minor"),
        "payments": _rows(Payment, tenant, "order__ref", "number", "kind", "amount_minor", "payment_method_ref"),
        "variants": _rows(Variant, tenant, "ref", "available"),
        "tickets": _rows(Ticket, tenant, "ref", "status"),
        "messages": _counted(TicketMessage.objects.filter(tenant=tenant).values_list("ticket__ref", "kind")),
        "effects": _counted(DeskOperation.objects.filter(tenant=tenant).values_list("action")),
        "sums": list(
            sums_of_targets()
            .filter(tenant_id=tenant.pk)
            .values("family", "target", "currency")
            .annotate(total=Sum("total_minor"))
            .exclude(total=0)
            .order_by("family", "target", "currency")
            .values_list("family", "target", "currency", "total")
        ),
        "sessions": list(
            Session.objects.filter(tenant=tenant)
            .order_by("subject_id", "id")
            .values_list("subject_id", "status", "stop_code", "outcome")
        ),
        "calls": _counted(Invocation.objects.filter(tenant_id=tenant.pk).values_list("session_id", "tool", "state")),
    }


_ORDER = (
    "status",
    "version",
    "cancel_reason",
    "return_items",
    "return_payment_method_ref",
    "exchange_items",
    "exchange_new_items",
    "exchange_payment_method_ref",
    "exchange_difference_minor",
    "address1",
    "address2",
    "city",
    "state",
    "zip",
)


def _rows(model: Any, tenant: Tenant, *columns: str) -> Rows:
    return list(model.objects.filter(tenant=tenant).order_by(*columns[:2]).values_list(*columns))


def _counted(rows: Any) -> Rows:
    """Count equal rows; a session stands as the ticket it worked."""
    subjects = dict(Session.objects.values_list("id", "subject_id"))
    counts = Counter(tuple(subjects.get(value, value) for value in row) for row in rows)
    return sorted((*row, count) for row, count in counts.items())


def accounts_of_effects(tenant: Tenant) -> tuple[list[str], list[str]]:
    """Return the keys of the effects that the desk made, and those of the calls that are on record as done."""
    made = DeskOperation.objects.filter(tenant=tenant).values_list("key", flat=True)
    known = Invocation.objects.filter(tenant_id=tenant.pk, state="succeeded").values_list("idempotency_key", flat=True)
    return sorted(made), sorted(key or "" for key in known)


def faults_of_ledger() -> Iterator[str]:
    """Yield what is wrong with the streams: gaps, hashes that do not fit, payloads that are missing or changed."""
    heads = dict(Session.objects.values_list("id", "position")) | dict(Stream.objects.values_list("id", "position"))
    stored = list(Payload.objects.values_list("stream", "position", "body"))
    bodies = {row[:2]: read for row, read in zip(stored, read_payloads(stored), strict=True)}
    found: dict[Any, list[int]] = {stream: [] for stream in heads}
    for event in LedgerEvent.objects.order_by("stream", "position"):
        found.setdefault(event.stream, []).append(event.position)
        leaf = leaf_of(event)
        if leaf.hash != bytes(event.leaf_hash):
            yield f"{event}: the leaf hash does not fit"
        body = bodies.pop((event.stream, event.position), None)
        if isinstance(body, Erased):
            continue
        if leaf.payload_digest != (None if body is None else body.commitment):
            yield f"{event}: the payload does not fit"
    for stream, positions in found.items():
        if positions != list(range(heads.get(stream, 0))):
            yield f"stream {stream}: positions {positions}, its head is at {heads.get(stream)}"
    for place in bodies:
        yield f"payload of {place} without an event"
