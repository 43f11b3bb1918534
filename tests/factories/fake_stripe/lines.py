"""Lines of invoices with their tax, and the sums of an invoice: https://docs.stripe.com/api/invoice-line-item."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tests.factories.fake_stripe.money import rounded
from tests.factories.fake_stripe.world import Obj, World


@dataclass(frozen=True)
class Draft:
    """A line that is to be: of a price for a period, or of an invoice item. ``rates`` are ids of tax rates."""

    amount: int
    currency: str
    description: str
    start: int
    end: int
    quantity: int = 1
    price: Obj | None = None
    subscription: str | None = None
    subscription_item: str | None = None
    invoice_item: str | None = None
    proration: bool = False
    rates: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


def line(world: World, invoice: Obj, draft: Draft, ref: str) -> Obj:
    """Return the line of an invoice, with the tax of its own rates or else of the invoice's."""
    rates = draft.rates or tuple(rate["id"] for rate in invoice["default_tax_rates"])
    exempt = invoice["customer_tax_exempt"] != "none"
    return {
        "id": ref,
        "object": "line_item",
        "amount": draft.amount,
        "currency": draft.currency,
        "description": draft.description,
        "discount_amounts": [],
        "discountable": not draft.proration,
        "discounts": [],
        "invoice": invoice["id"],
        "livemode": world.live,
        "metadata": dict(draft.metadata),
        "parent": _parent(draft),
        "period": {"start": draft.start, "end": draft.end},
        "pretax_credit_amounts": [],
        "pricing": _pricing(draft),
        "quantity": draft.quantity,
        "subscription": draft.subscription,
        "subtotal": draft.amount,
        "taxes": [_tax(world.find("tax_rate", rate, "tax_rates"), draft.amount, exempt=exempt) for rate in rates],
    }


def _parent(draft: Draft) -> Obj:
    if draft.subscription_item is not None:
        details = {
            "invoice_item": draft.invoice_item,
            "proration": draft.proration,
            "proration_details": {"credited_items": None},
            "subscription": draft.subscription,
            "subscription_item": draft.subscription_item,
        }
        return {"invoice_item_details": None, "subscription_item_details": details, "type": "subscription_item_details"}
    details = {
        "invoice_item": draft.invoice_item,
        "proration": draft.proration,
        "proration_details": {"credited_items": None},
        "subscription": draft.subscription,
    }
    return {"invoice_item_details": details, "subscription_item_details": None, "type": "invoice_item_details"}


def _pricing(draft: Draft) -> Obj | None:
    if draft.price is None:
        each = Fraction(draft.amount, draft.quantity or 1)
        shown = f"{float(each):.12f}".rstrip("0").rstrip(".")
        return {"price_details": None, "type": "price_details", "unit_amount_decimal": shown}
    return {
        "price_details": {"price": draft.price["id"], "product": draft.price["product"]},
        "type": "price_details",
        "unit_amount_decimal": draft.price["unit_amount_decimal"],
    }


def _tax(rate: Obj, amount: int, *, exempt: bool) -> Obj:
    tax = 0 if exempt else rounded(Fraction(amount) * Fraction(str(rate["percentage"])) / 100)
    return {
        "amount": tax,
        "tax_behavior": "exclusive",
        "tax_rate_details": {"tax_rate": rate["id"]},
        "taxability_reason": "customer_exempt" if exempt else "not_available",
        "taxable_amount": 0 if exempt else amount,
        "type": "tax_rate_details",
    }


def summed(invoice: Obj, lines: Iterable[Obj]) -> None:
    """Put the lines and their sums into an invoice that is not final yet."""
    rows = list(lines)
    subtotal = sum(row["amount"] for row in rows)
    taxes: dict[str, Obj] = {}
    for row in rows:
        for tax in row["taxes"]:
            total = taxes.setdefault(tax["tax_rate_details"]["tax_rate"], {**tax, "amount": 0, "taxable_amount": 0})
            total["amount"] += tax["amount"]
            total["taxable_amount"] += tax["taxable_amount"]
    total = subtotal + sum(tax["amount"] for tax in taxes.values())
    due = max(total + invoice["starting_balance"], 0) if total >= 0 else 0
    invoice |= {
        "lines": {
            "object": "list",
            "data": rows,
            "has_more": False,
            "total_count": len(rows),
            "url": f"/v1/invoices/{invoice['id']}/lines",
        },
        "subtotal": subtotal,
        "subtotal_excluding_tax": subtotal,
        "total": total,
        "total_excluding_tax": subtotal,
        "total_taxes": list(taxes.values()),
        "amount_due": due,
        "amount_remaining": due,
    }


def priced(price: Obj, quantity: int) -> int:
    """Return what a number of something costs."""
    return rounded(Fraction(price["unit_amount_decimal"]) * quantity)
