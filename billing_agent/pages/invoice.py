"""An invoice's page: what it is for, what settled it, and what explains its total."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentops.kernel.money import Money
from agentops.registry.pages import Status
from billing_agent import models, queries
from billing_agent.connectors import reading
from billing_agent.connectors.records import Charge, ChargeStatus, Invoice, Line
from billing_agent.models import DeclineCode
from billing_agent.pages.history import sentence
from billing_agent.pages.parts import Made, Makers, invoice_status


@dataclass(frozen=True)
class LineRow:
    """A line. ``description`` may be text from outside; ``period`` is the time that it pays for."""

    description: str
    quantity: int
    unit: str
    amount: str
    tax: str
    period: tuple[datetime, datetime] | None
    proration: bool


@dataclass(frozen=True)
class AttemptRow:
    """An attempt to charge it, with what became of it."""

    ref: str
    at: datetime
    amount: str
    method: str
    status: Status
    refunded: str
    made: Made


@dataclass(frozen=True)
class EntryRow:
    """An entry of the books about it. ``memo`` is text from outside."""

    at: datetime
    words: str
    memo: str
    made: Made


@dataclass(frozen=True)
class InvoicePage:
    """All of it. ``explained`` are sentences that lead from the lines to what is left."""

    ref: str
    number: str
    customer_ref: str
    customer: str
    memo: str
    status: Status
    issued: datetime | None
    due: datetime | None
    closed: datetime | None
    next_attempt: datetime | None
    subscription: str
    lines: Sequence[LineRow]
    subtotal: str
    tax: str
    total: str
    paid: str
    credited: str
    left: str
    explained: Sequence[str]
    attempts: Sequence[AttemptRow]
    entries: Sequence[EntryRow]


def invoice_page(row: models.Invoice, *, now: datetime) -> InvoicePage:
    """Return the page of an invoice; ``row`` comes with its customer."""
    customer = reading.customer_record(row.customer)
    invoice, charges = reading.invoice_record(row, customer.ref), reading.charges_of(row.customer, row)
    entries = queries.entries_of(row, [charge.ref for charge in charges])
    keys = dict(row.charges.values_list("ref", "operation_key"))
    makers = Makers(row.tenant_id, [*keys.values(), *(entry.operation_key for entry in entries)])
    methods = {method.ref: method.words for method in customer.methods}
    late = invoice.attempts > 0 or (invoice.due_at is not None and invoice.due_at < now)

    def told(minor: int) -> str:
        return str(Money(minor, invoice.currency))

    return InvoicePage(
        ref=invoice.ref,
        number=invoice.words,
        customer_ref=customer.ref,
        customer=customer.name,
        memo=invoice.memo,
        status=invoice_status(invoice.status.value, past_due=late),
        issued=invoice.issued_at,
        due=invoice.due_at,
        closed=invoice.closed_at,
        next_attempt=invoice.next_attempt_at,
        subscription=invoice.subscription_ref,
        lines=[_line(line, invoice.currency) for line in invoice.lines],
        subtotal=told(invoice.subtotal_minor),
        tax=told(invoice.tax_minor),
        total=told(invoice.total_minor),
        paid=told(invoice.paid_minor),
        credited=told(invoice.credited_minor),
        left=str(invoice.left),
        explained=explained(invoice, charges),
        attempts=[_attempt(charge, methods, makers.of(keys[charge.ref])) for charge in charges],
        entries=[_entry(entry, invoice.words, makers) for entry in entries],
    )


def _line(line: Line, currency: str) -> LineRow:
    unit, amount, tax = (Money(minor, currency) for minor in (line.unit_minor, line.amount_minor, line.tax_minor))
    return LineRow(line.description, line.quantity, str(unit), str(amount), str(tax), line.period, line.proration)


def _attempt(charge: Charge, methods: dict[str, str], made: Made) -> AttemptRow:
    declined = charge.status is ChargeStatus.FAILED
    why = DeclineCode(charge.decline_code).label if charge.decline_code in DeclineCode else charge.decline_code
    return AttemptRow(
        ref=charge.ref,
        at=charge.at,
        amount=str(charge.amount),
        method=methods.get(charge.method_ref, charge.method_ref),
        status=Status("stop", f"declined: {why.lower()}") if declined else Status("ok", "paid"),
        refunded=str(Money(charge.refunded_minor, charge.amount.currency)) if charge.refunded_minor else "",
        made=made,
    )


def _entry(entry: models.Entry, number: str, makers: Makers) -> EntryRow:
    moved = {line.account: line.minor for line in entry.postings.all()}
    words = sentence(entry.kind, entry.currency, moved, number)
    return EntryRow(entry.at, words, queries.reason(entry), makers.of(entry.operation_key))


def explained(invoice: Invoice, charges: Sequence[Charge]) -> list[str]:
    """Return the sentences that lead from an invoice's lines to what is left of it, each with its sums."""

    def told(minor: int) -> str:
        return str(Money(minor, invoice.currency))

    count = len(invoice.lines)
    lines = f"{count} line{'' if count == 1 else 's'} come{'s' if count == 1 else ''} to {told(invoice.subtotal_minor)}"
    tax = f"tax of {told(invoice.tax_minor)}" if invoice.tax_minor else "no tax"
    found = [f"{lines}; with {tax} that is {told(invoice.total_minor)}."]
    unused = sum(line.amount_minor for line in invoice.lines if line.proration and line.amount_minor < 0)
    if unused:
        found.append(f"Unused time took {told(-unused)} off.")
    if invoice.credited_minor:
        found.append(f"Credit settled {told(invoice.credited_minor)}.")
    if invoice.paid_minor:
        found.append(f"Charges settled {told(invoice.paid_minor)}.")
    declined = sum(charge.status is ChargeStatus.FAILED for charge in charges)
    if declined:
        tries = "1 attempt to charge it was" if declined == 1 else f"{declined} attempts to charge it were"
        found.append(f"{tries} declined.")
    refunded = sum(charge.refunded_minor for charge in charges)
    if refunded:
        found.append(f"{told(refunded)} of it went back later, which leaves the invoice as it is.")
    found.append(_end(invoice))
    return found


def _end(invoice: Invoice) -> str:
    match invoice.status.value:
        case "void":
            return "It was taken back, so nothing is owed."
        case "draft":
            return "It is a draft, so nothing is owed yet."
        case "uncollectible":
            return f"{invoice.left} were given up."
        case _:
            return f"{invoice.left} are left to pay."
