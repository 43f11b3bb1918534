"""Lines that are put on a draft at once: https://docs.stripe.com/api/invoice-line-item/bulk."""

from collections.abc import Mapping
from typing import Any

from tests.factories.fake_stripe.balances import settle_currency
from tests.factories.fake_stripe.errors import invalid, refused
from tests.factories.fake_stripe.invoice_items import item, relined
from tests.factories.fake_stripe.lists import page
from tests.factories.fake_stripe.params import BOOL, DECIMAL, INT, LIST, META, STR, merged, read
from tests.factories.fake_stripe.routing import Route
from tests.factories.fake_stripe.world import Obj, World

_PRICE = {
    "currency": STR,
    "product": STR,
    "product_data": {"name": STR, "description": STR, "metadata": META},
    "unit_amount": INT,
    "unit_amount_decimal": DECIMAL,
}
_LINE = {
    "amount": INT,
    "description": STR,
    "discountable": BOOL,
    "metadata": META,
    "period": {"start": INT, "end": INT},
    "price_data": _PRICE,
    "pricing": {"price": STR},
    "quantity": INT,
    "tax_rates": [STR],
}
MOST = 250


def add(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Put lines on a draft: all of them or, when one cannot be, none."""
    asked = read(form, {"lines": [_LINE], "invoice_metadata": META}, needs=("lines",))
    invoice = world.find("invoice", ref)
    if invoice["status"] != "draft":
        raise refused("This invoice is no longer editable", "invoice_not_editable")
    if len(invoice["lines"]["data"]) + len(asked["lines"]) > MOST:
        raise invalid(f"An invoice has at most {MOST} lines.", "lines")
    customer = world.find("customer", invoice["customer"])
    made = []
    for number, line in enumerate(asked["lines"]):
        code = (line.get("price_data") or {}).get("currency") or invoice["currency"]
        each = item(world, customer, {**line, "invoice": ref, "currency": code}, world.new_id("ii"))
        if each["currency"] != invoice["currency"]:
            raise invalid("The currency of a line must be that of its invoice.", f"lines[{number}]")
        made.append(each)
    settle_currency(customer, invoice["currency"])
    for each in made:
        world.add(each)
    relined(world, invoice)
    invoice["metadata"] = merged(invoice["metadata"], asked.get("invoice_metadata"))
    world.effect("invoice.updated", invoice, {})
    return invoice


def list_all(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Return the lines of an invoice, in their order."""
    return page(world.find("invoice", ref)["lines"]["data"], read(form, LIST), f"/v1/invoices/{ref}/lines")


ROUTES = [
    Route("POST", "/v1/invoices/{}/add_lines", add, "invoice"),
    Route("GET", "/v1/invoices/{}/lines", list_all, "invoice"),
]
