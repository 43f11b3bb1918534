"""Customers: https://docs.stripe.com/api/customers."""

from collections.abc import Mapping
from typing import Any

from tests.factories.fake_stripe import payment_methods, subscription_ends
from tests.factories.fake_stripe.errors import invalid
from tests.factories.fake_stripe.lists import listed, searched
from tests.factories.fake_stripe.params import BOOL, INT, META, RANGE, STR, merged, read, require_one_of
from tests.factories.fake_stripe.routing import Route
from tests.factories.fake_stripe.world import Obj, World, changed_fields

_ADDRESS = dict.fromkeys(("city", "country", "line1", "line2", "postal_code", "state"), STR)
_FIELDS = {
    "address": _ADDRESS,
    "balance": INT,
    "description": STR,
    "email": STR,
    "invoice_prefix": STR,
    "invoice_settings": {"default_payment_method": STR, "footer": STR},
    "metadata": META,
    "name": STR,
    "phone": STR,
    "tax_exempt": STR,
}


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Make a customer."""
    asked = read(form, _FIELDS | {"payment_method": STR, "validate": BOOL})
    require_one_of(asked.get("tax_exempt"), ("none", "exempt", "reverse"), "tax_exempt")
    if asked.get("invoice_settings", {}).get("default_payment_method") and not asked.get("payment_method"):
        raise invalid(
            "The customer does not have a payment method with that ID.", "invoice_settings[default_payment_method]"
        )
    ref = world.new_id("cus")
    customer = world.add(
        {
            "id": ref,
            "object": "customer",
            "address": _address(asked.get("address")),
            "balance": asked.get("balance") or 0,
            "created": world.now,
            "currency": None,
            "default_source": None,
            "delinquent": False,
            "description": asked.get("description"),
            "discount": None,
            "email": asked.get("email"),
            "invoice_prefix": asked.get("invoice_prefix") or ref[-8:].upper(),
            "invoice_settings": {
                "custom_fields": None,
                "default_payment_method": None,
                "footer": None,
                "rendering_options": None,
            },
            "livemode": world.live,
            "metadata": merged({}, asked.get("metadata")),
            "name": asked.get("name"),
            "next_invoice_sequence": 1,
            "phone": asked.get("phone"),
            "preferred_locales": [],
            "shipping": None,
            "tax_exempt": asked.get("tax_exempt") or "none",
            "test_clock": None,
        }
    )
    world.effect("customer.created", customer)
    if asked.get("payment_method"):
        method = payment_methods.attach(world, {"customer": ref}, asked["payment_method"])
        if asked.get("invoice_settings", {}).get("default_payment_method"):
            customer["invoice_settings"]["default_payment_method"] = method["id"]
    return customer


def _address(asked: Mapping[str, Any] | None) -> Obj | None:
    return None if not asked else {name: asked.get(name) for name in _ADDRESS}


def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change a customer."""
    customer = world.customer(ref, "id")
    asked = read(form, _FIELDS)
    require_one_of(asked.get("tax_exempt"), ("none", "exempt", "reverse"), "tax_exempt")
    settings = asked.pop("invoice_settings", None) or {}
    default = settings.get("default_payment_method")
    if default and world.find("payment_method", default, "invoice_settings[default_payment_method]")["customer"] != ref:
        raise invalid(
            "The customer does not have a payment method with the ID"
            f" {default}. The payment method must be attached to the customer.",
            "invoice_settings[default_payment_method]",
            "resource_missing",
        )
    before = {**customer, "invoice_settings": dict(customer["invoice_settings"])}
    if "address" in asked:
        customer["address"] = _address(asked.pop("address"))
    customer["metadata"] = merged(customer["metadata"], asked.pop("metadata", None))
    customer["invoice_settings"] |= {name: value or None for name, value in settings.items()}
    customer |= {name: None if value == "" else value for name, value in asked.items()}
    world.effect("customer.updated", customer, changed_fields(before, customer))
    return customer


def retrieve(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Return a customer, of a deleted one only that it was."""
    read(form, {})
    return world.find("customer", ref)


def delete(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Delete a customer and end what they subscribed to. Invoices and charges stay."""
    customer = world.customer(ref, "id")
    for subscription in list(world.all("subscription", customer=ref)):
        if subscription["status"] not in ("canceled", "incomplete_expired"):
            subscription_ends.end_now(world, subscription)
    world.effect("customer.deleted", customer)
    gone = {"id": ref, "object": "customer", "deleted": True}
    world.records["customer"][ref] = gone
    return gone


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return customers, by e-mail when one is given."""
    return listed(world, "customer", form, "/v1/customers", {"email": STR, "created": RANGE})


def search(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the customers that a query finds."""
    return searched(world, "customer", form, "/v1/customers/search")


ROUTES = [
    Route("GET", "/v1/customers/search", search, "customer"),
    Route("POST", "/v1/customers", create, "customer"),
    Route("GET", "/v1/customers", list_all, "customer"),
    Route("GET", "/v1/customers/{}", retrieve, "customer"),
    Route("POST", "/v1/customers/{}", update, "customer"),
    Route("DELETE", "/v1/customers/{}", delete, "customer"),
]
