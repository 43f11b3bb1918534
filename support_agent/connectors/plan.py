"""What a write comes to: computed once from a snapshot, shown as a preview or carried out. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.tool import Change, Preview, Result, ToolFailure
from support_agent.connectors.records import (
    Customer,
    Entry,
    Line,
    Method,
    Order,
    OrderState,
    Payout,
    StatusChange,
    Ticket,
    Variant,
    Written,
)


@dataclass(frozen=True)
class Snapshot:
    """The records that a write is about. ``variants`` are the new items it names, as far as they exist.

    ``key`` is the operation's own, empty for a preview: what the write makes is known by it later. ``written``,
    ``change`` and ``payout`` are what a write takes back.
    """

    now: datetime
    key: str = ""
    customer: Customer | None = None
    order: Order | None = None
    ticket: Ticket | None = None
    variants: Mapping[str, Variant] = field(default_factory=dict)
    written: Written | None = None
    change: StatusChange | None = None
    payout: Payout | None = None

    def versions(self) -> dict[str, int]:
        """Return the version of every record in here that has one, by record id."""
        found = {f"variant:{variant.ref}": variant.version for variant in self.variants.values()}
        if self.customer is not None:
            found[f"customer:{self.customer.ref}"] = self.customer.version
            found |= {f"payment_method:{method.ref}": method.version for method in self.customer.methods}
        if self.order is not None:
            found[f"order:{self.order.ref}"] = self.order.version
        return found | ticket_versions(self.ticket)


@dataclass(frozen=True)
class Message:
    """Something to write on the ticket; a reply has the moment it leaves."""

    kind: str
    body: str
    release_at: datetime | None = None


@dataclass(frozen=True)
class Plan:
    """The effects of a write: columns to set, lines to replace, entries to append, balances to reach.

    ``settles_at`` is when money that leaves the house is paid out, for writes that can be stopped until then.
    ``recalls``, ``discards`` and ``stops`` name the reply, draft or payout that is taken back;
    ``takes_status_back`` is True when the ticket gets its former status.
    """

    preview: Preview
    result: Result
    order: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    entries: tuple[Entry, ...] = ()
    balances: Mapping[str, int] = field(default_factory=dict)
    customer: Mapping[str, Any] = field(default_factory=dict)
    ticket_status: str = ""
    messages: tuple[Message, ...] = ()
    settles_at: datetime | None = None
    recalls: str = ""
    discards: str = ""
    stops: str = ""
    takes_status_back: bool = False


def invalid(message: str, field: str | None = None) -> ToolFailure:
    """Return the refusal of an argument that can never be right."""
    return ToolFailure(FailureKind.VALIDATION, message, field=field)


def conflict(message: str, field: str | None = None) -> ToolFailure:
    """Return the refusal of something that the record, as it is now, does not allow."""
    return ToolFailure(FailureKind.CONFLICT, message, field=field)


def missing(field: str | None = None) -> ToolFailure:
    """Return the one refusal for what does not exist and for what belongs to somebody else."""
    return ToolFailure(FailureKind.NOT_FOUND, "There is no such record for this customer.", field=field)


def known_customer(snapshot: Snapshot) -> Customer:
    """Return the session's customer. Raises ToolFailure NOT_FOUND."""
    if snapshot.customer is None:
        raise missing()
    return snapshot.customer


def known_order(snapshot: Snapshot) -> Order:
    """Return the order in question. Raises ToolFailure NOT_FOUND."""
    if snapshot.order is None:
        raise missing("order_id")
    return snapshot.order


def own_method(customer: Customer, ref: str) -> Method:
    """Return the customer's payment method. Raises ToolFailure NOT_FOUND."""
    method = customer.method(ref)
    if method is None:
        raise missing("payment_method_id")
    return method


def require_state(order: Order, state: OrderState, done: str) -> None:
    """Raise ToolFailure CONFLICT unless the order is in ``state``; ``done`` ends the sentence (``cancelled``)."""
    if order.status != state:
        raise conflict(f"Order {order.ref} is {order.status}; only a {state} order can be {done}.", "order_id")


def target_of(customer: Customer) -> str:
    """Return how a preview names the customer."""
    return f"customer:{customer.ref}"


def settle(method: Method, amount: Money) -> tuple[dict[str, int], tuple[Change, ...]]:
    """Return the new balance, by method id, after ``amount`` goes to (negative: is taken from) ``method``.

    Only a gift card has one; every other method is settled outside the desk. Raises ToolFailure CONFLICT
    when the card has another currency or not enough on it.
    """
    if method.balance is None:
        return {}, ()
    if method.balance.currency != amount.currency:
        raise conflict(
            f"The {method.words} is in {method.balance.currency}, not {amount.currency}.", "payment_method_id"
        )
    after = Money(method.balance.minor + amount.minor, amount.currency)
    if after.minor < 0:
        needed = Money(-amount.minor, amount.currency)
        raise conflict(f"The {method.words} holds {method.balance}, less than {needed}.", "payment_method_id")
    if after == method.balance:
        return {}, ()
    return {method.ref: after.minor}, (Change(f"Balance of {method.words}", str(method.balance), str(after)),)


def ticket_versions(ticket: Ticket | None) -> dict[str, int]:
    """Return the version of a ticket on which something was taken back, nothing for any other.

    It tells a reply that is rightly sent again after a recall from one that was merely proposed twice.
    """
    return {f"ticket:{ticket.ref}": ticket.taken_back} if ticket is not None and ticket.taken_back else {}


def versions_of(
    *,
    order: Order | None = None,
    customer: Customer | None = None,
    methods: Iterable[Method] = (),
    variants: Iterable[Variant] = (),
) -> dict[str, int]:
    """Return record id to version for the records that a preview was computed from."""
    found: dict[str, int] = {}
    if order is not None:
        found[f"order:{order.ref}"] = order.version
    if customer is not None:
        found[f"customer:{customer.ref}"] = customer.version
    found |= {f"payment_method:{method.ref}": method.version for method in methods}
    found |= {f"variant:{variant.ref}": variant.version for variant in variants}
    return found
