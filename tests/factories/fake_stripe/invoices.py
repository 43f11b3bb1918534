"""Invoices: https://docs.stripe.com/api/invoices."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.factories.fake_stripe import collecting
from tests.factories.fake_stripe.balances import settle_currency
from tests.factories.fake_stripe.errors import refused
from tests.factories.fake_stripe.invoice_items import pending, relined
from tests.factories.fake_stripe.invoice_shape import shaped, subscription_of
from tests.factories.fake_stripe.lines import Draft
from tests.factories.fake_stripe.lists import listed, page, searched, within
from tests.factories.fake_stripe.money import currency
from tests.factories.fake_stripe.params import BOOL, INT, LIST, META, RANGE, STR, merged, read, require_one_of
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World, changed_fields

_FIELDS = {
    "auto_advance": BOOL,
    "collection_method": STR,
    "days_until_due": INT,
    "default_payment_method": STR,
    "default_tax_rates": [STR],
    "description": STR,
    "due_date": INT,
    "footer": STR,
    "metadata": META,
}


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Make a draft, with the items that wait for an invoice when that is asked."""
    own = {"customer": STR, "currency": STR, "subscription": STR, "pending_invoice_items_behavior": STR}
    asked = read(form, _FIELDS | own, needs=("customer",))
    customer = world.customer(asked["customer"])
    behavior = asked.pop("pending_invoice_items_behavior", None)
    require_one_of(behavior, ("include", "exclude"), "pending_invoice_items_behavior")
    require_one_of(asked.get("collection_method"), ("charge_automatically", "send_invoice"), "collection_method")
    given = {name: value for name, value in asked.items() if name != "customer"}
    given["metadata"] = merged({}, given.get("metadata"))
    given["currency"] = currency(given.get("currency") or customer["currency"] or "usd")
    if given.get("subscription"):
        world.find("subscription", given["subscription"], "subscription")
    settle_currency(customer, given["currency"])
    invoice = world.add(shaped(world, customer, given, ref=world.new_id("in")))
    if invoice["auto_advance"]:
        invoice["automatically_finalizes_at"] = world.now + collecting.HOUR
    world.effect("invoice.created", invoice)
    if behavior == "include":
        take(world, invoice, pending(world, customer["id"], invoice["currency"], given.get("subscription")))
    return invoice


def take(world: World, invoice: Obj, items: list[Obj], billed: Sequence[Draft] = ()) -> None:
    """Put items, and what a subscription bills, on a draft."""
    for each in items:
        each["invoice"] = invoice["id"]
    invoice["_billed"] = [(world.new_id("il"), draft) for draft in billed]
    relined(world, invoice)


def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change a draft, and of a final one what does not change what it says."""
    asked = read(form, _FIELDS)
    invoice = world.find("invoice", ref)
    final = {"auto_advance", "metadata", "default_payment_method"}
    if invoice["status"] != "draft" and not set(asked) <= final:
        raise refused(
            f"Finalized invoices can't be updated in this way: {', '.join(sorted(set(asked) - final))}.",
            "invoice_not_editable",
        )
    before = dict(invoice)
    invoice["metadata"] = merged(invoice["metadata"], asked.pop("metadata", None))
    if "default_tax_rates" in asked:
        rates = [world.find("tax_rate", rate, "default_tax_rates") for rate in asked.pop("default_tax_rates")]
        invoice["default_tax_rates"] = rates
        relined(world, invoice)
    asked.pop("days_until_due", None)
    invoice |= asked
    world.effect("invoice.updated", invoice, changed_fields(before, invoice))
    return invoice


def delete(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Throw a draft away. Raises ApiError for a final one."""
    read(form, {})
    invoice = world.find("invoice", ref)
    if invoice["status"] != "draft":
        raise refused("You can only delete draft invoices; use void instead.", "invoice_not_editable")
    for item in world.all("invoiceitem", invoice=ref):
        item["invoice"] = None
    del world.records["invoice"][ref]
    world.effect("invoice.deleted", invoice)
    return {"id": ref, "object": "invoice", "deleted": True}


def finalize(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Make a draft final."""
    asked = read(form, {"auto_advance": BOOL})
    invoice = world.find("invoice", ref)
    collecting.finalize(world, invoice, auto_advance=asked.get("auto_advance"))
    return invoice


def pay(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Try to take what an invoice asks for; a draft is made final first."""
    shape = {"payment_method": STR, "off_session": BOOL, "paid_out_of_band": BOOL, "forgive": BOOL}
    asked = read(form, shape)
    invoice = world.find("invoice", ref)
    if invoice["status"] == "paid":
        raise refused("Invoice is already paid")
    if invoice["status"] == "void":
        raise refused("This invoice was voided and can no longer be paid.")
    if asked.get("paid_out_of_band"):
        return _paid_elsewhere(world, invoice)
    method = collecting.method_of(world, invoice, asked.get("payment_method"))
    if invoice["status"] == "draft":
        collecting.finalize(world, invoice)
        if invoice["status"] == "paid":
            return invoice
    refusal = collecting.collect(world, invoice, method)
    if refusal is not None:
        raise refusal
    return invoice


def _paid_elsewhere(world: World, invoice: Obj) -> Obj:
    if invoice["status"] == "draft":
        collecting.finalize(world, invoice)
    if invoice["status"] != "paid":
        invoice |= {
            "amount_paid": invoice["amount_due"],
            "amount_paid_off_stripe": invoice["amount_due"],
            "amount_remaining": 0,
        }
        collecting.closed_as_paid(world, invoice)
    return invoice


def void(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Take an invoice back."""
    read(form, {})
    invoice = world.find("invoice", ref)
    collecting.void(world, invoice)
    return invoice


def give_up(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Say that an invoice will not be paid."""
    read(form, {})
    invoice = world.find("invoice", ref)
    collecting.give_up(world, invoice)
    return invoice


def send(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Send an invoice to the customer by mail."""
    read(form, {})
    invoice = world.find("invoice", ref)
    if invoice["status"] == "draft":
        collecting.finalize(world, invoice)
    world.effect("invoice.sent", invoice)
    return invoice


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return invoices."""
    equal = {"customer": STR, "status": STR, "collection_method": STR}
    shape = LIST | equal | {"subscription": STR, "created": RANGE, "due_date": RANGE}
    asked = read(form, shape)
    require_one_of(asked.get("status"), ("draft", "open", "paid", "uncollectible", "void"), "status")
    if asked.get("customer"):
        world.find("customer", asked["customer"], "customer")
    rows = (
        invoice
        for invoice in world.all("invoice", **{name: asked[name] for name in equal if asked.get(name)})
        if within(invoice, asked)
        and within(invoice, asked, "due_date")
        and (not asked.get("subscription") or subscription_of(invoice) == asked["subscription"])
    )
    return page(rows, asked, "/v1/invoices")


def search(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the invoices that a query finds."""
    return searched(world, "invoice", form, "/v1/invoices/search")


def list_payments(world: World, form: Mapping[str, Any]) -> Obj:
    """Return payments of invoices, which lead from an invoice to its intent and back."""
    filters = {"invoice": STR, "status": STR, "created": RANGE}
    payment = form.get("payment")
    if payment is None:
        return listed(world, "invoice_payment", form, "/v1/invoice_payments", filters)
    asked = read(form, LIST | filters | {"payment": {"type": STR, "payment_intent": STR}}, needs=("payment",))
    intent = asked["payment"].get("payment_intent")
    rows = (row for row in world.all("invoice_payment") if row["payment"].get("payment_intent") == intent)
    return page(rows, asked, "/v1/invoice_payments")


ROUTES = [
    Route("GET", "/v1/invoices/search", search, "invoice"),
    Route("POST", "/v1/invoices", create, "invoice"),
    Route("GET", "/v1/invoices", list_all, "invoice"),
    Route("GET", "/v1/invoices/{}", retrieving("invoice"), "invoice"),
    Route("POST", "/v1/invoices/{}", update, "invoice"),
    Route("DELETE", "/v1/invoices/{}", delete, "invoice"),
    Route("POST", "/v1/invoices/{}/finalize", finalize, "invoice"),
    Route("POST", "/v1/invoices/{}/pay", pay, "invoice"),
    Route("POST", "/v1/invoices/{}/void", void, "invoice"),
    Route("POST", "/v1/invoices/{}/mark_uncollectible", give_up, "invoice"),
    Route("POST", "/v1/invoices/{}/send", send, "invoice"),
    Route("GET", "/v1/invoice_payments", list_payments, "invoice"),
    Route("GET", "/v1/invoice_payments/{}", retrieving("invoice_payment"), "invoice"),
]
