"""Invoices that are made by hand, taken back, and given up. Pure."""

from collections.abc import Sequence
from datetime import timedelta

from agentops.kernel.canonical import MAX_INTEGER
from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount
from agentops.registry.tool import Change, Preview
from billing_agent.connectors.checks import (
    MOST_QUANTITY,
    known_customer,
    known_invoice,
    present_customer,
    require_open,
    target_of,
)
from billing_agent.connectors.effect import Effect, NewCredit, Snapshot, conflict, invalid
from billing_agent.connectors.issuing import Issued, issued, taxed_line
from billing_agent.connectors.port import GenerateInvoice, VoidInvoice, WriteOffInvoice
from billing_agent.connectors.posting import Account, EntryKind, posted
from billing_agent.connectors.records import Customer, Invoice, InvoiceStatus, Line

MOST_DUE_DAYS = 365


def plan_invoice(snapshot: Snapshot, write: GenerateInvoice, taxed: Sequence[Line] | None = None) -> Effect:
    """Bill the customer for the items, with their tax; the credit that they have settles it, the oldest first.

    ``taxed`` are the items as a system of record taxes them that computes tax itself.

    Raises ToolFailure for no items, an item of nothing, another currency, days out of range and a deleted customer.
    """
    customer = present_customer(snapshot)
    lines = _lines(customer, write) if taxed is None else taxed
    due_at = snapshot.now + timedelta(days=write.due_days)
    made = issued(snapshot, snapshot.new_ref("in"), lines, subscription_ref="", memo=write.memo, due_at=due_at)
    return Effect(
        preview=_invoice_preview(snapshot, customer, made),
        result={
            "invoice_id": made.new_invoice.ref,
            "status": made.new_invoice.status.value,
            "subtotal_minor": made.subtotal.minor,
            "tax_minor": made.tax.minor,
            "total_minor": made.total.minor,
            "credited_minor": made.credited.minor,
            "left_minor": made.left.minor,
            "currency": made.total.currency,
            "due_at": due_at.isoformat(),
        },
        credits=made.credits,
        new_invoice=made.new_invoice,
        entries=made.entries,
    )


def _lines(customer: Customer, write: GenerateInvoice) -> tuple[Line, ...]:
    if write.currency != customer.currency:
        raise invalid(f"{customer.name} is billed in {customer.currency}, not {write.currency}.", "currency")
    if not 0 <= write.due_days <= MOST_DUE_DAYS:
        raise invalid(f"An invoice is due after 0 to {MOST_DUE_DAYS} days.", "due_days")
    if not write.items:
        raise invalid("An invoice has at least one item.", "items")
    if any(item.quantity < 1 or item.unit_minor < 1 for item in write.items):
        raise invalid("Each item is at least one, and costs more than nothing.", "items")
    if any(item.quantity > MOST_QUANTITY for item in write.items):
        raise invalid(f"Of an item there are at most {MOST_QUANTITY}.", "items")
    lines = tuple(
        taxed_line(item.description, item.quantity, item.unit_minor, customer.rate_bp) for item in write.items
    )
    if sum(line.amount_minor + line.tax_minor for line in lines) > MAX_INTEGER:
        raise invalid("The items come to more than any invoice here.", "items")
    return lines


def _invoice_preview(snapshot: Snapshot, customer: Customer, made: Issued) -> Preview:
    currency, due_at, memo = made.total.currency, made.new_invoice.due_at, made.new_invoice.memo
    nothing = Money(0, currency)
    credit = f"; credit settles {made.credited} of it" if made.credited.minor else ""
    return Preview(
        effect=f"Bill {customer.name} {made.total}, due on {due_at.day} {due_at:%B %Y}{credit}",
        target=target_of(customer),
        changes=(
            *(_line_change(line, currency) for line in made.new_invoice.lines),
            Change("Subtotal", "", str(made.subtotal)),
            Change("Tax", "", str(made.tax)),
            Change("Total", "", str(made.total)),
            *made.changes,
            Change("Left to pay", "", str(made.left)),
            *([Change("Memo", "", memo)] if memo else ()),
        ),
        versions=snapshot.versions(),
        money=made.total,
        parts=(Amount.of("Invoice", made.total, (("Left to pay on this invoice", nothing, made.left),)),),
    )


def _line_change(line: Line, currency: str) -> Change:
    unit, amount = Money(line.unit_minor, currency), Money(line.amount_minor, currency)
    return Change(line.description, "", f"{line.quantity} × {unit} = {amount}")


def plan_void(snapshot: Snapshot, write: VoidInvoice) -> Effect:
    """Take an open invoice back. Credit that was used on it is given back as a new credit.

    Raises ToolFailure when it is not open, something was paid on it, or it was issued in closed books.
    """
    customer, invoice = known_customer(snapshot), known_invoice(snapshot)
    _require_voidable(snapshot, invoice)
    total = Money(invoice.total_minor, invoice.currency)
    credited = Money(invoice.credited_minor, invoice.currency)
    credit_ref = snapshot.new_ref("cr") if credited.minor else ""
    return Effect(
        preview=_void_preview(snapshot, customer, invoice, write),
        result={
            "invoice_id": invoice.ref,
            "status": InvoiceStatus.VOID.value,
            "total_minor": total.minor,
            "credit_id": credit_ref,
            "credited_minor": credited.minor,
            "currency": invoice.currency,
        },
        invoice={
            "status": InvoiceStatus.VOID.value,
            "credited_minor": 0,
            "closed_at": snapshot.now,
            "next_attempt_at": None,
        },
        new_credit=_given_back(invoice, credit_ref) if credited.minor else None,
        entries=posted(
            EntryKind.VOID,
            invoice.currency,
            invoice.ref,
            {
                Account.RECEIVABLE: credited.minor - total.minor,
                Account.REVENUE: invoice.subtotal_minor,
                Account.TAX: invoice.tax_minor,
                Account.CUSTOMER_CREDIT: -credited.minor,
            },
            memo=write.reason,
        ),
    )


def _void_preview(snapshot: Snapshot, customer: Customer, invoice: Invoice, write: VoidInvoice) -> Preview:
    total, nothing = Money(invoice.total_minor, invoice.currency), Money(0, invoice.currency)
    credited = Money(invoice.credited_minor, invoice.currency)
    given_back = f" and give {credited} of credit back" if credited.minor else ""
    label = f"Left to pay on invoice {invoice.words}"
    return Preview(
        effect=f"Void invoice {invoice.words} of {customer.name} over {total}{given_back}",
        target=target_of(customer),
        changes=(
            Change(f"Invoice {invoice.words}", invoice.status.value, InvoiceStatus.VOID.value),
            Change(label, str(invoice.left), str(nothing)),
            *([Change("Credit given back", "", str(credited))] if credited.minor else ()),
            Change("Reason", "", write.reason),
        ),
        versions=snapshot.versions(),
        money=total,
        parts=(Amount.of("Voided", total, ((label, invoice.left, nothing),)),),
    )


def _require_voidable(snapshot: Snapshot, invoice: Invoice) -> None:
    require_open(invoice, "voided")
    if invoice.paid_minor:
        paid = Money(invoice.paid_minor, invoice.currency)
        raise conflict(f"{paid} of invoice {invoice.words} were paid, so it is not voided.", "invoice_id")
    closed = snapshot.closed_through
    if closed is not None and invoice.issued_at is not None and invoice.issued_at.date() <= closed:
        raise conflict(
            f"Invoice {invoice.words} was issued in books that are closed through {closed}; give a credit instead.",
            "invoice_id",
        )


def _given_back(invoice: Invoice, ref: str) -> NewCredit:
    reason = f"Used on invoice {invoice.words}, which was voided"
    return NewCredit(ref, invoice.credited_minor, invoice.credited_minor, invoice.currency, reason)


def plan_write_off(snapshot: Snapshot, write: WriteOffInvoice) -> Effect:
    """Give up what is left of an open invoice that should have been paid; what was paid of it stays.

    Raises ToolFailure when it is not open, or not due yet.
    """
    customer, invoice = known_customer(snapshot), known_invoice(snapshot)
    require_open(invoice, "written off")
    if invoice.due_at is None or invoice.due_at > snapshot.now:
        raise conflict(f"Invoice {invoice.words} is not due yet, so nobody can say that it is not paid.", "invoice_id")
    left = invoice.left
    return Effect(
        preview=_write_off_preview(snapshot, customer, invoice, write),
        result={
            "invoice_id": invoice.ref,
            "status": InvoiceStatus.UNCOLLECTIBLE.value,
            "written_off_minor": left.minor,
            "currency": left.currency,
        },
        invoice={
            "status": InvoiceStatus.UNCOLLECTIBLE.value,
            "closed_at": snapshot.now,
            "next_attempt_at": None,
        },
        entries=posted(
            EntryKind.WRITE_OFF,
            left.currency,
            invoice.ref,
            {Account.WRITTEN_OFF: left.minor, Account.RECEIVABLE: -left.minor},
            memo=write.reason,
        ),
    )


def _write_off_preview(snapshot: Snapshot, customer: Customer, invoice: Invoice, write: WriteOffInvoice) -> Preview:
    left, nothing = invoice.left, Money(0, invoice.currency)
    label = f"Left to pay on invoice {invoice.words}"
    return Preview(
        effect=f"Write off {left} of invoice {invoice.words} of {customer.name}",
        target=target_of(customer),
        changes=(
            Change(f"Invoice {invoice.words}", invoice.status.value, InvoiceStatus.UNCOLLECTIBLE.value),
            Change(label, str(left), str(nothing)),
            Change("Attempts to charge it", str(invoice.attempts), str(invoice.attempts)),
            Change("Reason", "", write.reason),
        ),
        versions=snapshot.versions(),
        money=left,
        parts=(Amount.of("Written off", left, ((label, left, nothing),)),),
    )
