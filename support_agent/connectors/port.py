"""The port between the role's tools and the system of record: what can be read, and what can be asked for.

A write is a value. ``preview`` and ``write`` take the same value, so what a person approved is what is done.
"""

from dataclasses import dataclass
from typing import Protocol

from agentops.kernel.money import Money
from agentops.registry.tool import CallContext, Preview, Result
from support_agent.connectors.records import Address, Customer, Order, Passage, Product


@dataclass(frozen=True)
class DraftReply:
    """Keep a reply for a person to look at."""

    body: str


@dataclass(frozen=True)
class SendReply:
    """Answer the customer; the reply can be recalled until it leaves."""

    body: str


@dataclass(frozen=True)
class UpdateTicket:
    """Set the ticket to ``answered`` or ``closed``, with a note for colleagues."""

    status: str
    note: str


@dataclass(frozen=True)
class EscalateTicket:
    """Hand the ticket to a person."""

    reason: str
    summary: str


@dataclass(frozen=True)
class RefundOrder:
    """Give back part or all of what was paid for an order."""

    order_ref: str
    amount: Money
    method_ref: str
    reason: str


@dataclass(frozen=True)
class CreditCustomer:
    """Put goodwill money on a gift card of the customer."""

    amount: Money
    method_ref: str
    reason: str


@dataclass(frozen=True)
class CancelOrder:
    """Cancel a pending order and give back what was paid for it."""

    order_ref: str
    reason: str


@dataclass(frozen=True)
class ChangeItems:
    """Replace items of a pending order, pairwise, and settle the difference with one method."""

    order_ref: str
    item_refs: tuple[str, ...]
    new_item_refs: tuple[str, ...]
    method_ref: str


@dataclass(frozen=True)
class ChangeOrderAddress:
    """Send a pending order elsewhere."""

    order_ref: str
    address: Address


@dataclass(frozen=True)
class ChangePayment:
    """Pay a pending order with another method."""

    order_ref: str
    method_ref: str


@dataclass(frozen=True)
class ChangeCustomerAddress:
    """Change the customer's default address."""

    address: Address


@dataclass(frozen=True)
class ReturnItems:
    """Take items of a delivered order back; the refund follows when they arrive."""

    order_ref: str
    item_refs: tuple[str, ...]
    method_ref: str


@dataclass(frozen=True)
class ExchangeItems:
    """Exchange items of a delivered order, pairwise; the difference is settled when they arrive."""

    order_ref: str
    item_refs: tuple[str, ...]
    new_item_refs: tuple[str, ...]
    method_ref: str


@dataclass(frozen=True)
class RecallReply:
    """Take a reply back that has not left yet."""

    reply_ref: str


@dataclass(frozen=True)
class DiscardDraft:
    """Delete a draft."""

    draft_ref: str


@dataclass(frozen=True)
class RestoreStatus:
    """Give the ticket the status that it had before one change of it."""

    change_ref: str


@dataclass(frozen=True)
class StopPayout:
    """Take a refund or credit back that is not paid out yet."""

    payout_ref: str


TicketWrite = DraftReply | SendReply | UpdateTicket | EscalateTicket | RecallReply | DiscardDraft | RestoreStatus
OrderWrite = RefundOrder | CancelOrder | ChangeItems | ChangeOrderAddress | ChangePayment | ReturnItems | ExchangeItems
Write = TicketWrite | OrderWrite | CreditCustomer | ChangeCustomerAddress | StopPayout


class Desk(Protocol):
    """A system of record for support work.

    Everything is seen through the call's context: records of another tenant or customer do not exist, and
    asking for them raises the same NOT_FOUND as asking for what never was.
    """

    def customer(self, context: CallContext) -> Customer:
        """Return the session's customer. Raises ToolFailure NOT_FOUND when nobody was identified."""

    def order(self, context: CallContext, ref: str) -> Order:
        """Return an order of the session's customer. Raises ToolFailure NOT_FOUND."""

    def product(self, context: CallContext, ref: str) -> Product:
        """Return a product with its variants. Raises ToolFailure NOT_FOUND."""

    def products(self, context: CallContext, query: str) -> list[Product]:
        """Return products whose name holds ``query``, by name, without variants."""

    def passages(self, context: CallContext, query: str) -> list[Passage]:
        """Return what the knowledge base says about ``query``, best first, at most five, often none."""

    def preview(self, context: CallContext, write: Write) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""

    def write(self, context: CallContext, write: Write) -> Result:
        """Do it, once for each idempotency key. Raises ToolFailure (no effect) or OutcomeUnknown."""

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the context's idempotency key, None when it took no effect."""
