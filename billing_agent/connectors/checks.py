"""What the rules ask of the records before anything else. Pure; each raises ToolFailure."""

from datetime import date

from agentops.kernel.canonical import MAX_INTEGER
from agentops.kernel.money import Money
from billing_agent.connectors.effect import Snapshot, conflict, invalid, missing, nobody
from billing_agent.connectors.records import Customer, Invoice, InvoiceStatus, Method

MOST_QUANTITY = 100_000
"""Of one line or subscription."""


def known_customer(snapshot: Snapshot) -> Customer:
    """Return the session's customer, deleted or not. Raises NOT_FOUND."""
    if snapshot.customer is None:
        raise nobody()
    return snapshot.customer


def present_customer(snapshot: Snapshot) -> Customer:
    """Return the session's customer, for whom something new is begun. Raises NOT_FOUND, CONFLICT for a deleted one."""
    customer = known_customer(snapshot)
    if customer.deleted_at is not None:
        raise conflict(f"{customer.name} is deleted; nothing new is begun for them.", "customer_id")
    return customer


def known_invoice(snapshot: Snapshot) -> Invoice:
    """Return the invoice in question. Raises NOT_FOUND."""
    if snapshot.invoice is None:
        raise missing("invoice", "invoice_id")
    return snapshot.invoice


def require_open(invoice: Invoice, done: str) -> None:
    """Raise CONFLICT unless the invoice is open; ``done`` ends the sentence (``charged``)."""
    if invoice.status is not InvoiceStatus.OPEN:
        raise conflict(f"Invoice {invoice.words} is {invoice.status}; only an open one is {done}.", "invoice_id")


def own_method(customer: Customer, ref: str) -> Method:
    """Return the customer's payment method. Raises NOT_FOUND."""
    method = customer.method(ref)
    if method is None:
        raise missing("payment method", "payment_method_id")
    return method


def require_amount(amount: Money, currency: str, owner: str) -> None:
    """Raise VALIDATION unless the amount is more than nothing, and in the ``currency`` of its ``owner``."""
    if amount.currency != currency:
        raise invalid(f"{owner} is in {currency}, not {amount.currency}.", "currency")
    if amount.minor < 1:
        raise invalid("The amount must be more than nothing.", "amount_minor")
    if amount.minor > MAX_INTEGER:
        raise invalid("The amount is larger than any that is booked here.", "amount_minor")


def require_open_books(closed_through: date | None, on: date) -> None:
    """Raise CONFLICT when the books of the day of an entry are closed."""
    if closed_through is not None and on <= closed_through:
        raise conflict(f"The books are closed through {closed_through}, so nothing is booked on {on}.")


def target_of(customer: Customer) -> str:
    """Return how a preview names the customer."""
    return f"customer:{customer.ref}"
