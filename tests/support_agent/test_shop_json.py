"""Loading a shop from JSON and writing it back."""

from copy import deepcopy
from typing import Any

import pytest

from agentops.tenancy.models import Tenant
from support_agent import models
from support_agent.connectors.shop_json import BadShop, dump_customer, dump_order, in_minor, load_shop
from tests.factories.support import HOME, make_tenant

pytestmark = pytest.mark.django_db

USERS: dict[str, Any] = {
    "dana": {
        "name": {"first_name": "Dana", "last_name": "Ruiz"},
        "address": HOME,
        "email": "dana.ruiz@example.com",
        "payment_methods": {
            "card-1": {"source": "credit_card", "brand": "visa", "last_four": "9917", "id": "card-1"},
            "gift-1": {"source": "gift_card", "balance": 51, "id": "gift-1"},
            "paypal-1": {"source": "paypal", "id": "paypal-1"},
        },
        "orders": ["#W2", "#W1"],
    }
}
PRODUCTS: dict[str, Any] = {
    "P-1": {
        "name": "Mug",
        "product_id": "P-1",
        "variants": {"M-S": {"item_id": "M-S", "options": {"size": "S"}, "available": True, "price": 47.84}},
    }
}
ORDERS: dict[str, Any] = {
    "#W1": {
        "order_id": "#W1",
        "user_id": "dana",
        "address": HOME,
        "items": [{"name": "Mug", "product_id": "P-1", "item_id": "M-S", "price": 47.84, "options": {"size": "S"}}] * 2,
        "fulfillments": [{"tracking_id": ["1Z"], "item_ids": ["M-S", "M-S"]}],
        "status": "exchange requested",
        "payment_history": [
            {"transaction_type": "payment", "amount": 95.68, "payment_method_id": "card-1"},
            {"transaction_type": "refund", "amount": 0.04999999999999716, "payment_method_id": "gift-1"},
        ],
        "exchange_items": ["M-S"],
        "exchange_new_items": ["M-S"],
        "exchange_payment_method_id": "gift-1",
        "exchange_price_difference": -16.63,
    },
    "#W2": {
        "order_id": "#W2",
        "user_id": "dana",
        "address": HOME,
        "items": [],
        "fulfillments": [],
        "status": "return requested",
        "payment_history": [],
        "return_items": ["M-S"],
        "return_payment_method_id": "card-1",
        "cancel_reason": "no longer needed",
    },
}


def _load(tenant: Tenant, **changes: dict[str, Any]) -> None:
    given: dict[str, Any] = {"users": USERS, "orders": ORDERS, "products": PRODUCTS, **changes}
    load_shop(tenant, users=given["users"], orders=given["orders"], products=given["products"])


def test_what_was_loaded_is_written_back() -> None:
    tenant = make_tenant()
    _load(tenant)
    assert in_minor(dump_customer(tenant, "dana")) == in_minor(USERS["dana"])
    assert {ref: in_minor(dump_order(tenant, ref)) for ref in ORDERS} == {ref: in_minor(ORDERS[ref]) for ref in ORDERS}
    assert dump_customer(tenant, "dana")["payment_methods"]["gift-1"]["balance"] == 51
    assert models.Variant.objects.get().price_minor == 4784


def test_amounts_become_minor_units_without_binary_noise() -> None:
    record = {
        "amount": 0.04999999999999716,
        "price": 8.280000000000001,
        "balance": 51,
        "zip": "1",
        "items": [{"price": 1.1}],
    }
    assert in_minor(record) == {"amount": 5, "price": 828, "balance": 5100, "zip": "1", "items": [{"price": 110}]}
    assert in_minor({"exchange_price_difference": -16.63}) == {"exchange_price_difference": -1663}


def test_two_tenants_may_hold_the_same_shop() -> None:
    north, south = make_tenant(), make_tenant("south")
    _load(north)
    _load(south)
    assert dump_order(north, "#W1") == dump_order(south, "#W1")


@pytest.mark.parametrize("amount", [1.005, "x", float("nan"), float("inf"), None, True, [], 1e300])
def test_an_amount_that_is_none_loads_nothing(amount: object) -> None:
    products = deepcopy(PRODUCTS)
    products["P-1"]["variants"]["M-S"]["price"] = amount
    with pytest.raises(BadShop):
        _load(make_tenant(), products=products)
    assert models.Product.objects.count() == 0


@pytest.mark.parametrize(
    ("place", "path", "words"),
    [
        ("users", ("dana", "email"), "incomplete"),
        ("orders", ("#W1", "status"), "incomplete"),
        ("orders", ("#W1",), "order '#W1' has no record or no customer"),
        ("users", ("dana",), "order '#W1' has no record or no customer"),
        ("products", ("P-1", "variants", "M-S", "item_id"), "incomplete"),
    ],
)
def test_a_shop_with_a_hole_loads_nothing(place: str, path: tuple[str, ...], words: str) -> None:
    shop = {"users": deepcopy(USERS), "orders": deepcopy(ORDERS), "products": deepcopy(PRODUCTS)}
    holder: Any = shop[place]
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    with pytest.raises(BadShop, match=words):
        _load(make_tenant(), **shop)
    assert (models.Product.objects.count(), models.Customer.objects.count(), models.Order.objects.count()) == (0, 0, 0)
