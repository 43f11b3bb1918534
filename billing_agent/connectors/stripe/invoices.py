"""Stripe's invoices as records. Pure."""

from collections.abc import Sequence
from decimal import Decimal

from billing_agent.connectors.records import Invoice, InvoiceStatus, Line
from billing_agent.connectors.stripe.amounts import minor
from billing_agent.connectors.stripe.objects import KEY, Obj, known_moment, metadata_of, moment, ref_of, versioned


def invoice_of(obj: Obj, lines: Sequence[Obj]) -> Invoice:
    """Return an invoice with all of its lines.

    What neither was paid nor is left was settled by credit: by the customer's balance or by credit notes.
    """
    currency, moves = obj["currency"], obj.get("status_transitions") or {}
    status = InvoiceStatus(obj["status"])
    total, paid = minor(obj["total"], currency), minor(obj["amount_paid"], currency)
    left = minor(obj["amount_remaining"], currency)
    settles = status in (InvoiceStatus.OPEN, InvoiceStatus.PAID, InvoiceStatus.UNCOLLECTIBLE)
    record = Invoice(
        ref=obj["id"],
        number=obj.get("number") or "",
        customer_ref=ref_of(obj["customer"]),
        subscription_ref=subscription_ref(obj),
        status=status,
        currency=currency.upper(),
        memo=(obj.get("description") or "")[:300],
        lines=tuple(line_of(line) for line in lines),
        subtotal_minor=minor(obj["subtotal"], currency),
        tax_minor=added_tax(obj.get("total_taxes"), currency),
        total_minor=total,
        paid_minor=paid,
        credited_minor=max(total - paid - left, 0) if settles else 0,
        created_at=known_moment(obj["created"]),
        issued_at=moment(moves.get("finalized_at")),
        due_at=moment(obj.get("due_date") or _due_at_once(obj)),
        closed_at=moment(moves.get("paid_at") or moves.get("voided_at")),
        attempts=obj.get("attempt_count") or 0,
        next_attempt_at=moment(obj.get("next_payment_attempt")),
        version=0,
    )
    return versioned(record, metadata_of(obj).get(KEY, ""))


def _due_at_once(obj: Obj) -> int | None:
    """Return when an invoice was issued that is charged by itself: it is due then, and Stripe names no date."""
    by_itself = obj.get("collection_method") == "charge_automatically"
    return (obj.get("status_transitions") or {}).get("finalized_at") if by_itself else None


def subscription_ref(obj: Obj) -> str:
    """Return the id of the subscription that an invoice is for, empty for none."""
    parent = obj.get("parent") or {}
    return ref_of((parent.get("subscription_details") or {}).get("subscription"))


def line_of(obj: Obj) -> Line:
    """Return one line. A unit whose price is finer than a smallest unit is told as its share of the amount."""
    currency, quantity = obj["currency"], obj.get("quantity") or 1
    unit = Decimal(str((obj.get("pricing") or {}).get("unit_amount_decimal") or Decimal(obj["amount"]) / quantity))
    period = obj.get("period") or {}
    during = None
    if period.get("start") is not None and period.get("end") is not None:
        during = (known_moment(period["start"]), known_moment(period["end"]))
    parent = obj.get("parent") or {}
    details = parent.get("subscription_item_details") or parent.get("invoice_item_details") or {}
    return Line(
        description=(obj.get("description") or "")[:300],
        quantity=quantity,
        unit_minor=minor(int(unit), currency),
        amount_minor=minor(obj["amount"], currency),
        tax_minor=added_tax(obj.get("taxes"), currency),
        proration=bool(details.get("proration")),
        period=during,
    )


def added_tax(taxes: Sequence[Obj] | None, currency: str) -> int:
    """Return the tax that is added to an amount, in our minor units; tax that a price includes is part of the price."""
    added = sum(tax["amount"] for tax in taxes or () if tax.get("tax_behavior", "exclusive") == "exclusive")
    return minor(added, currency)
