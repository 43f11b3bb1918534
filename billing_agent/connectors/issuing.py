"""Issue an invoice: its totals, the credit that settles it, and its entries. Pure; for all rules that bill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentops.kernel.money import Money
from agentops.registry.tool import Change
from billing_agent.connectors.effect import NewInvoice, Posted, Snapshot, invalid, nobody
from billing_agent.connectors.posting import Account, EntryKind, posted
from billing_agent.connectors.records import Credit, Invoice, InvoiceStatus, Line
from billing_agent.connectors.taxes import line_tax

_USED_ON = "On invoice "


@dataclass(frozen=True)
class Issued:
    """An invoice with what it does to credits and books.

    ``credits`` map the credits that it uses to what is left of each afterwards, in minor units; ``left`` is what is
    still to be paid.
    """

    new_invoice: NewInvoice
    subtotal: Money
    tax: Money
    total: Money
    credited: Money
    left: Money
    credits: Mapping[str, int]
    entries: tuple[Posted, ...]
    changes: tuple[Change, ...]


def taxed_line(
    description: str,
    quantity: int,
    unit_minor: int,
    rate_bp: int,
    *,
    proration: bool = False,
    period: tuple[datetime, datetime] | None = None,
) -> Line:
    """Return a line of ``quantity`` times ``unit_minor`` with its tax; a negative unit gives back."""
    amount = quantity * unit_minor
    return Line(description, quantity, unit_minor, amount, line_tax(amount, rate_bp), proration, period)


def issued(
    snapshot: Snapshot,
    ref: str,
    lines: Sequence[Line],
    *,
    subscription_ref: str,
    memo: str,
    due_at: datetime,
) -> Issued:
    """Bill the snapshot's customer for ``lines``, in their currency, and settle it with the credits that are left.

    The oldest credit goes first, and none gives more than is left of it or of the invoice. Raises ToolFailure
    NOT_FOUND without a customer, VALIDATION when the lines come to less than nothing.
    """
    customer = snapshot.customer
    if customer is None:
        raise nobody()
    subtotal, tax = sum(line.amount_minor for line in lines), sum(line.tax_minor for line in lines)
    total = subtotal + tax
    if total < 0:
        raise invalid("An invoice never comes to less than nothing.", "items")
    currency = customer.currency
    used = _used([credit for credit in snapshot.credits if credit.amount.currency == currency], total)
    credited = sum(taken for _, taken in used)
    entries = posted(
        EntryKind.INVOICE,
        currency,
        ref,
        {Account.RECEIVABLE: total, Account.REVENUE: -subtotal, Account.TAX: -tax},
        memo=memo,
    )
    for credit, taken in used:
        entries += credit_used(credit.ref, ref, Money(taken, currency))
    return Issued(
        new_invoice=NewInvoice(ref, subscription_ref, currency, memo, tuple(lines), due_at, credited),
        subtotal=Money(subtotal, currency),
        tax=Money(tax, currency),
        total=Money(total, currency),
        credited=Money(credited, currency),
        left=Money(total - credited, currency),
        credits={credit.ref: credit.left_minor - taken for credit, taken in used},
        entries=entries,
        changes=tuple(_left_of(credit, taken) for credit, taken in used),
    )


def settlement(invoice: Invoice, now: datetime, *, paid_minor: int = 0, credited_minor: int = 0) -> dict[str, Any]:
    """Return the fields of an open invoice after so much more of it is settled; paid and closed when nothing is left.

    Raises ValueError for more than is left.
    """
    left = invoice.left.minor - paid_minor - credited_minor
    if left < 0:
        raise ValueError(f"no more settles invoice {invoice.ref} than it says")
    fields: dict[str, Any] = {}
    if paid_minor:
        fields["paid_minor"] = invoice.paid_minor + paid_minor
    if credited_minor:
        fields["credited_minor"] = invoice.credited_minor + credited_minor
    if left == 0:
        fields |= {"status": InvoiceStatus.PAID.value, "closed_at": now, "next_attempt_at": None}
    return fields


def used_on(invoice_ref: str) -> str:
    """Return the memo of an entry for credit that settles an invoice; from it the books know which invoice it was."""
    return f"{_USED_ON}{invoice_ref}"


def invoice_in(memo: str) -> str:
    """Return the invoice that the memo of such an entry names, empty for any other memo."""
    return memo.removeprefix(_USED_ON) if memo.startswith(_USED_ON) else ""


def credit_used(credit_ref: str, invoice_ref: str, amount: Money) -> tuple[Posted, ...]:
    """Return the entry for credit that settles an invoice, none for nothing."""
    return posted(
        EntryKind.CREDIT_USED,
        amount.currency,
        credit_ref,
        {Account.CUSTOMER_CREDIT: amount.minor, Account.RECEIVABLE: -amount.minor},
        memo=used_on(invoice_ref),
    )


def _used(oldest_first: Sequence[Credit], total: int) -> list[tuple[Credit, int]]:
    used, open_minor = [], total
    for credit in oldest_first:
        taken = min(credit.left_minor, open_minor)
        if taken > 0:
            used.append((credit, taken))
            open_minor -= taken
    return used


def _left_of(credit: Credit, taken: int) -> Change:
    currency = credit.amount.currency
    before, after = Money(credit.left_minor, currency), Money(credit.left_minor - taken, currency)
    return Change(f"Left of credit {credit.ref}", str(before), str(after))
