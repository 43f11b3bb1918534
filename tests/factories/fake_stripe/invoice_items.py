"""Items that wait for an invoice, or are put on a draft: https://docs.stripe.com/api/invoiceitems."""

from collections.abc import Mapping
from typing import Any

from tests.factories.fake_stripe.balances import settle_currency
from tests.factories.fake_stripe.errors import invalid, refused
from tests.factories.fake_stripe.invoice_shape import with_lines
from tests.factories.fake_stripe.lines import Draft, priced
from tests.factories.fake_stripe.lists import page, within
from tests.factories.fake_stripe.money import currency
from tests.factories.fake_stripe.params import BOOL, DECIMAL, INT, LIST, META, RANGE, STR, merged, read
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World

_PERIOD = {"start": INT, "end": INT}
_FIELDS = {
    "amount": INT,
    "description": STR,
    "discountable": BOOL,
    "metadata": META,
    "period": _PERIOD,
    "pricing": {"price": STR},
    "price_data": {"currency": STR, "product": STR, "unit_amount": INT, "unit_amount_decimal": DECIMAL},
    "quantity": INT,
    "tax_rates": [STR],
    "unit_amount_decimal": DECIMAL,
}
SHAPE = _FIELDS | {"customer": STR, "currency": STR, "invoice": STR, "subscription": STR}


def item(world: World, customer: Obj, asked: Mapping[str, Any], ref: str) -> Obj:
    """Return an item as it is asked for. Raises ApiError for an amount that is not clear."""
    price, amount, quantity = _priced(world, asked)
    data = asked.get("price_data") or {}
    given = data.get("currency") or asked.get("currency") or customer["currency"] or "usd"
    code = price["currency"] if price else currency(given)
    period = asked.get("period") or {}
    rates = [world.find("tax_rate", rate, "tax_rates") for rate in asked.get("tax_rates") or ()]
    return {
        "id": ref,
        "object": "invoiceitem",
        "amount": amount,
        "currency": code,
        "customer": customer["id"],
        "date": world.now,
        "description": asked.get("description"),
        "discountable": asked.get("discountable", True),
        "discounts": [],
        "invoice": asked.get("invoice"),
        "livemode": world.live,
        "metadata": merged({}, asked.get("metadata")),
        "net_amount": amount,
        "parent": None,
        "period": {"start": period.get("start") or world.now, "end": period.get("end") or world.now},
        "pricing": _pricing(price, amount, quantity),
        "proration": False,
        "proration_details": None,
        "quantity": quantity,
        "quantity_decimal": str(quantity),
        "tax_rates": rates,
        "test_clock": None,
        "_price": price,
        "_subscription": asked.get("subscription"),
        "_subscription_item": None,
    }


def _priced(world: World, asked: Mapping[str, Any]) -> tuple[Obj | None, int, int]:
    quantity = 1 if asked.get("quantity") is None else asked["quantity"]
    if quantity < 0:
        raise invalid("Invalid non-negative integer", "quantity", "parameter_invalid_integer")
    ways = [name for name in ("amount", "unit_amount_decimal", "pricing", "price_data") if asked.get(name) is not None]
    if len(ways) != 1:
        raise invalid("You must pass exactly one of amount, pricing, price_data and unit_amount_decimal.", "amount")
    if ways == ["amount"]:
        if asked.get("quantity") not in (None, 1):
            raise invalid("You may only specify one of these parameters: amount, quantity.", "quantity")
        return None, asked["amount"], 1
    if ways == ["pricing"]:
        price = world.find("price", asked["pricing"].get("price") or "", "pricing[price]")
        return price, priced(price, quantity), quantity
    given = asked.get("price_data") or asked
    each = given.get("unit_amount_decimal") or str(given.get("unit_amount") or 0)
    return None, priced({"unit_amount_decimal": each}, quantity), quantity


def _pricing(price: Obj | None, amount: int, quantity: int) -> Obj:
    each = price["unit_amount_decimal"] if price else str(amount // quantity if quantity else 0)
    details = {"price": price["id"], "product": price["product"]} if price else None
    return {"price_details": details, "type": "price_details", "unit_amount_decimal": each}


def pending(world: World, customer: str, code: str, subscription: str | None = None) -> list[Obj]:
    """Return the items that wait for an invoice, the oldest first; for a subscription, its own and those of none."""
    return [
        each
        for each in reversed(list(world.all("invoiceitem", customer=customer, invoice=None, currency=code)))
        if each["_subscription"] in (None, subscription)
    ]


def draft_of(each: Obj) -> Draft:
    """Return the line that an item becomes."""
    return Draft(
        each["amount"],
        each["currency"],
        each["description"] or "",
        each["period"]["start"],
        each["period"]["end"],
        each["quantity"],
        each["_price"],
        each["_subscription"],
        each["_subscription_item"],
        each["id"],
        each["proration"],
        tuple(rate["id"] for rate in each["tax_rates"]),
        each["metadata"],
    )


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Make an item, on a draft when one is named."""
    asked = read(form, SHAPE, needs=("customer",))
    customer = world.customer(asked["customer"])
    invoice = _draft(world, asked["invoice"], customer) if asked.get("invoice") else None
    made = item(world, customer, asked, world.new_id("ii"))
    if invoice is not None and made["currency"] != invoice["currency"]:
        raise invalid("The currency of the invoice item must match that of the invoice.", "currency")
    settle_currency(customer, made["currency"])
    world.add(made)
    world.effect("invoiceitem.created", made)
    if invoice is not None:
        relined(world, invoice)
    return made


def _draft(world: World, ref: str, customer: Obj) -> Obj:
    invoice = world.find("invoice", ref, "invoice")
    if invoice["customer"] != customer["id"]:
        raise invalid(f"The invoice {ref} does not belong to this customer.", "invoice")
    if invoice["status"] != "draft":
        raise refused("This invoice is no longer editable", "invoice_not_editable", "invoice")
    return invoice


def relined(world: World, invoice: Obj) -> None:
    """Make the lines of a draft anew from its items; what a subscription billed stays."""
    kept: list[tuple[str, Draft]] = list(invoice.get("_billed", ()))
    known = {row["parent"][row["parent"]["type"]]["invoice_item"]: row["id"] for row in invoice["lines"]["data"]}
    items = reversed(list(world.all("invoiceitem", invoice=invoice["id"])))
    rows = [(known.get(each["id"]) or world.new_id("il"), draft_of(each)) for each in items] + kept
    with_lines(world, invoice, [draft for _, draft in rows], [ref for ref, _ in rows])
    world.snapshot(invoice)


def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change an item that is on no final invoice."""
    asked = read(form, _FIELDS)
    old = _editable(world, ref)
    customer = world.find("customer", old["customer"])
    ways = ("amount", "unit_amount_decimal", "pricing", "price_data")
    if any(name in asked for name in (*ways, "quantity")):
        given = asked if any(name in asked for name in ways) else asked | {"unit_amount_decimal": _each(old)}
        fresh = item(world, customer, given | {"currency": old["currency"]}, ref)
        old |= {
            name: fresh[name] for name in ("amount", "net_amount", "pricing", "quantity", "quantity_decimal", "_price")
        }
    old["metadata"] = merged(old["metadata"], asked.get("metadata"))
    old |= {name: asked[name] for name in ("description", "discountable", "period") if name in asked}
    world.effect("invoiceitem.updated", old, {}, event=False)
    if old["invoice"]:
        relined(world, world.find("invoice", old["invoice"]))
    return old


def _each(each: Obj) -> str:
    return str(each["pricing"]["unit_amount_decimal"])


def _editable(world: World, ref: str) -> Obj:
    each = world.find("invoiceitem", ref)
    if each["invoice"] and world.find("invoice", each["invoice"])["status"] != "draft":
        raise refused("This invoice is no longer editable", "invoice_not_editable")
    return each


def delete(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Take an item away that is on no final invoice."""
    read(form, {})
    each = _editable(world, ref)
    del world.records["invoiceitem"][ref]
    world.effect("invoiceitem.deleted", each)
    if each["invoice"]:
        relined(world, world.find("invoice", each["invoice"]))
    return {"id": ref, "object": "invoiceitem", "deleted": True}


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return items."""
    asked = read(form, LIST | {"customer": STR, "invoice": STR, "pending": BOOL, "created": RANGE})
    equal = {name: asked[name] for name in ("customer", "invoice") if asked.get(name)}
    rows = (
        each
        for each in world.all("invoiceitem", **equal)
        if asked.get("pending") in (None, each["invoice"] is None)
        and within(each, {"date": asked.get("created")}, "date")
    )
    return page(rows, asked, "/v1/invoiceitems")


ROUTES = [
    Route("POST", "/v1/invoiceitems", create, "invoice"),
    Route("GET", "/v1/invoiceitems", list_all, "invoice"),
    Route("GET", "/v1/invoiceitems/{}", retrieving("invoiceitem"), "invoice"),
    Route("POST", "/v1/invoiceitems/{}", update, "invoice"),
    Route("DELETE", "/v1/invoiceitems/{}", delete, "invoice"),
]
