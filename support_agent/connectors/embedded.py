"""The embedded desk: the port on this program's own PostgreSQL tables.

Rows are locked in one order (operation key, operation to be stopped, customer, payment methods by ref, order,
ticket, message), so two writes wait for each other and never deadlock.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import F

from agentops.kernel.errors import FailureKind
from agentops.registry.once import Once, call_of, fingerprint_of, require_versions
from agentops.registry.tool import CallContext, Preview, Result, ToolFailure
from support_agent import models
from support_agent.connectors import reading
from support_agent.connectors.plan import Plan, Snapshot, conflict, missing
from support_agent.connectors.port import (
    ChangeCustomerAddress,
    ChangeItems,
    CreditCustomer,
    DiscardDraft,
    ExchangeItems,
    RecallReply,
    RefundOrder,
    RestoreStatus,
    StopPayout,
    TicketWrite,
    Write,
)
from support_agent.connectors.recall import Recall, recall_reply
from support_agent.connectors.records import Customer, Order, Passage, Product
from support_agent.connectors.rules import plan
from support_agent.connectors.search import search_articles
from support_agent.connectors.stopping import Stop, stop_payout


@dataclass(frozen=True)
class _Rows:
    """The rows that a write is about."""

    customer: models.Customer | None
    order: models.Order | None
    ticket: models.Ticket | None
    written: models.TicketMessage | None
    payout: models.DeskOperation | None


_ONCE = Once(models.DeskOperation, subject="ticket_ref", name="desk's database")


class EmbeddedDesk:
    """Implements ``Desk``. Holds no state."""

    @_ONCE.answering()
    def customer(self, context: CallContext) -> Customer:
        """Return the session's customer. Raises ToolFailure NOT_FOUND."""
        row = reading.customer_row(context.tenant_id, context.customer_id)
        if row is None:
            raise missing()
        return reading.customer_record(row)

    @_ONCE.answering()
    def order(self, context: CallContext, ref: str) -> Order:
        """Return an order of the session's customer. Raises ToolFailure NOT_FOUND."""
        customer = reading.customer_row(context.tenant_id, context.customer_id)
        row = None if customer is None else reading.order_row(customer, ref)
        if customer is None or row is None:
            raise missing("order_id")
        return reading.order_record(row, customer.ref)

    @_ONCE.answering()
    def product(self, context: CallContext, ref: str) -> Product:
        """Return a product with its variants. Raises ToolFailure NOT_FOUND."""
        product = reading.product_record(context.tenant_id, ref)
        if product is None:
            raise ToolFailure(FailureKind.NOT_FOUND, f"There is no product {ref}.", field="product_id")
        return product

    @_ONCE.answering()
    def products(self, context: CallContext, query: str) -> list[Product]:
        """Return the products whose name holds ``query``."""
        return reading.product_records(context.tenant_id, query)

    @_ONCE.answering()
    def passages(self, context: CallContext, query: str) -> list[Passage]:
        """Return what the knowledge base says about ``query``."""
        return search_articles(context.tenant_id, query)

    @_ONCE.answering()
    def preview(self, context: CallContext, write: Write) -> Preview:
        """Return what ``write`` would do, from one consistent state. Raises ToolFailure."""
        snapshot, _ = _read(context, write, lock=False)
        return plan(snapshot, write).preview

    def write(self, context: CallContext, write: Write) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        The same key with the same arguments returns the recorded result; with others it is a CONFLICT.
        """

        def act() -> Result:
            snapshot, rows = _read(context, write, lock=True)
            require_versions(context, snapshot.versions())
            done = plan(snapshot, write)
            _apply(context, rows, done)
            record_result(context, done)
            return done.result

        # Saying the reason in other words does not make it another payment.
        fingerprint = fingerprint_of(
            context, write, unsaid=("reason",) if isinstance(write, RefundOrder | CreditCustomer) else ()
        )
        return _ONCE.write(context, fingerprint, type(write).__name__, act)

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the key, None when it took no effect. Waits for a write that is under way."""
        return _ONCE.outcome(context)


def record_result(context: CallContext, done: Plan) -> None:
    """Keep what the operation came to, and when its money is paid out, in the transaction of its effect."""
    _ONCE.record(call_of(context), done.result, settles_at=done.settles_at)


def _read(context: CallContext, write: Write, *, lock: bool) -> tuple[Snapshot, _Rows]:
    payout = None
    if isinstance(write, StopPayout):
        payout = reading.payout_row(context.tenant_id, write.payout_ref, lock=lock)
    of_ticket = isinstance(write, TicketWrite)
    customer = reading.customer_row(context.tenant_id, context.customer_id, lock=lock and not of_ticket)
    record = None if customer is None else reading.customer_record(customer, lock=lock and not of_ticket)
    order_ref = _order_ref(write, payout)
    order = reading.order_row(customer, order_ref, lock=lock) if customer is not None and order_ref else None
    ticket = reading.ticket_row(context.tenant_id, context.subject_id, lock=lock) if of_ticket else None
    written = None
    if ticket is not None and isinstance(write, RecallReply | DiscardDraft):
        written = reading.written_row(ticket, write.reply_ref if isinstance(write, RecallReply) else write.draft_ref)
    rows = _Rows(customer, order, ticket, written, payout)
    return _snapshot(context, write, rows, record), rows


def _order_ref(write: Write, payout: models.DeskOperation | None) -> str:
    if isinstance(write, StopPayout):
        return reading.payout_record(payout).order_ref if payout is not None else ""
    return "" if isinstance(write, TicketWrite | CreditCustomer | ChangeCustomerAddress) else write.order_ref


def _snapshot(context: CallContext, write: Write, rows: _Rows, customer: Customer | None) -> Snapshot:
    named = write.new_item_refs if isinstance(write, ChangeItems | ExchangeItems) else ()
    ticket = rows.ticket
    return Snapshot(
        now=context.now,
        key=context.idempotency_key,
        customer=customer,
        order=None if rows.order is None or customer is None else reading.order_record(rows.order, customer.ref),
        ticket=None if ticket is None else reading.ticket_record(ticket),
        variants=reading.variants(context.tenant_id, named) if named else {},
        written=None if rows.written is None else reading.written_record(rows.written),
        change=(
            reading.status_change(ticket, write.change_ref)
            if ticket is not None and isinstance(write, RestoreStatus)
            else None
        ),
        payout=None if rows.payout is None else reading.payout_record(rows.payout),
    )


def _apply(context: CallContext, rows: _Rows, done: Plan) -> None:
    key = context.idempotency_key
    if rows.customer is not None:
        _apply_to_customer(rows.customer, done)
    if rows.order is not None and not done.stops:
        _apply_to_order(rows.order, done, key)
    if rows.ticket is not None:
        _apply_to_ticket(context, rows.ticket, done)
    _take_back(context, rows, done)


def _apply_to_customer(row: models.Customer, done: Plan) -> None:
    if done.customer:
        models.Customer.objects.filter(pk=row.pk).update(**done.customer, version=F("version") + 1)
    for ref, balance in done.balances.items():
        row.methods.filter(ref=ref).update(balance_minor=balance, version=F("version") + 1)


def _apply_to_order(row: models.Order, done: Plan, key: str) -> None:
    models.Order.objects.filter(pk=row.pk).update(**done.order, version=F("version") + 1)
    for line in done.lines:
        row.lines.filter(number=line.number).update(
            variant_ref=line.variant_ref, price_minor=line.price_minor, options=dict(line.options)
        )
    taken = row.payments.count()
    models.Payment.objects.bulk_create(
        models.Payment(
            tenant_id=row.tenant_id,
            order=row,
            number=taken + offset,
            kind=entry.kind,
            amount_minor=entry.amount_minor,
            payment_method_ref=entry.method_ref,
            operation_key=key,
        )
        for offset, entry in enumerate(done.entries, start=1)
    )


def _apply_to_ticket(context: CallContext, row: models.Ticket, done: Plan) -> None:
    changes: dict[str, Any] = {}
    if done.ticket_status and done.ticket_status != row.status:
        changes = {"status": done.ticket_status, "status_key": context.idempotency_key}
    if done.discards or done.takes_status_back:
        changes["taken_back"] = F("taken_back") + 1
    if changes:
        # At most once a transaction: PostgreSQL checks the keys of a row that is updated again, and thereby locks
        # the customer after the ticket.
        models.Ticket.objects.filter(pk=row.pk).update(**changes)
    models.TicketMessage.objects.bulk_create(
        models.TicketMessage(
            tenant_id=row.tenant_id,
            ticket=row,
            kind=message.kind,
            body=message.body,
            created_at=context.now,
            release_at=message.release_at,
            operation_key=context.idempotency_key,
        )
        for message in done.messages
    )


def _take_back(context: CallContext, rows: _Rows, done: Plan) -> None:
    """Take back what the plan names, by the operations that people use as well."""
    if done.stops and rows.payout is not None:
        stopped = stop_payout(operation_id=rows.payout.pk, by="", now=context.now)
        if stopped is not Stop.STOPPED:
            raise conflict(f"The payout cannot be stopped: {stopped.value}.", "payout_id")
    if done.recalls and rows.written is not None:
        recalled = recall_reply(message_id=rows.written.pk, now=context.now)
        if recalled is not Recall.RECALLED:
            raise conflict(f"The reply cannot be recalled: {recalled.value}.", "reply_id")
    if done.discards and rows.written is not None and not rows.written.delete()[0]:
        raise conflict("The draft was deleted meanwhile.", "draft_id")
