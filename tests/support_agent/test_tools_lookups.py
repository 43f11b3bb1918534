"""Reads see the session's customer and nobody else."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from agentops.gateway.prepare import NOT_FOUND_WORDS
from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, ToolFailure
from support_agent import models
from support_agent.connectors import owner_of
from tests.factories.support import HOME, Shop, add_payment, look, make_order, make_shop, make_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop() -> Shop:
    return make_shop()


def test_the_customer_is_the_tickets(shop: Shop) -> None:
    assert look(shop.context(), "lookup_customer") == {
        "customer_id": "dana",
        "first_name": "Dana",
        "last_name": "Ruiz",
        "email": "dana.ruiz@example.com",
        "address": HOME,
        "payment_methods": [
            {"payment_method_id": "card-1", "kind": "credit_card", "brand": "visa", "last_four": "9917"},
            {"payment_method_id": "paypal-1", "kind": "paypal"},
            {"payment_method_id": "gift-1", "kind": "gift_card", "balance_minor": 1000, "currency": "USD"},
        ],
        "order_ids": ["#W1", "#W2", "#W3"],
        "older_orders": 0,
    }


@pytest.mark.parametrize(
    "named",
    [
        {"email": "Dana.Ruiz@Example.com"},
        {"first_name": "dana", "last_name": "RUIZ", "zip": "80279"},
    ],
)
def test_naming_the_tickets_customer_finds_them(shop: Shop, named: dict[str, str]) -> None:
    assert look(shop.context(), "lookup_customer", **named)["customer_id"] == "dana"


@pytest.mark.parametrize(
    "named",
    [
        {"email": "erin.cole@example.com"},
        {"email": "nobody@example.com"},
        {"first_name": "Erin", "last_name": "Cole", "zip": "10001"},
        {"first_name": "Dana", "last_name": "Ruiz", "zip": "10001"},
    ],
)
def test_naming_anybody_else_finds_nobody(shop: Shop, named: dict[str, str]) -> None:
    _assert_not_found(shop.context(), "lookup_customer", **named)


def test_half_a_name_is_refused(shop: Shop) -> None:
    with pytest.raises(ToolFailure) as failure:
        look(shop.context(), "lookup_customer", first_name="Dana")
    assert failure.value.kind is FailureKind.VALIDATION


def test_a_session_without_a_customer_finds_nobody(shop: Shop) -> None:
    _assert_not_found(shop.context(customer_id=None), "lookup_customer")
    _assert_not_found(shop.context(customer_id=None), "lookup_customer", email="dana.ruiz@example.com")
    _assert_not_found(shop.context(customer_id=None), "lookup_order", order_id="#W1")


def test_an_order_is_shown_whole(shop: Shop) -> None:
    add_payment(shop.order("#W2"), "refund", 300, "paypal-1")
    assert look(shop.context(), "lookup_order", order_id="#W2") == {
        "order_id": "#W2",
        "status": "delivered",
        "currency": "USD",
        "address": HOME,
        "items": [
            {
                "item_id": "L-RED",
                "product_id": "P-LAMP",
                "name": "Desk Lamp",
                "price_minor": 2000,
                "options": [["color", "red"]],
            },
            {"item_id": "M-S", "product_id": "P-MUG", "name": "Mug", "price_minor": 500, "options": [["size", "S"]]},
        ],
        "fulfilments": [{"tracking_ids": ["1Z-1"], "item_ids": ["L-RED", "M-S"]}],
        "payments": [
            {"kind": "payment", "amount_minor": 2500, "payment_method_id": "paypal-1"},
            {"kind": "refund", "amount_minor": 300, "payment_method_id": "paypal-1"},
        ],
        "refundable_minor": 2200,
    }


def test_a_foreign_order_and_an_unknown_one_look_the_same(shop: Shop) -> None:
    other = make_shop(make_tenant("south", "South Goods"))
    make_order(other.dana, "#W77", ["M-S"], models.PaymentMethod.objects.get(tenant=other.tenant, ref="card-1"))
    for order_id in ("#W9", "#W77", "#W404", "W1", "' OR 1=1 --"):
        _assert_not_found(shop.context(), "lookup_order", order_id=order_id)


def test_a_customer_of_another_tenant_is_nobody_here(shop: Shop) -> None:
    south = make_tenant("south", "South Goods")
    _assert_not_found(CallContext(south.id, uuid4(), "T-1", "dana", datetime.now(UTC)), "lookup_customer")


def test_a_product_is_shown_with_what_is_out_of_stock(shop: Shop) -> None:
    assert look(shop.context(), "lookup_product", product_id="P-MUG") == {
        "product_id": "P-MUG",
        "name": "Mug",
        "variants": [
            {"item_id": "M-S", "options": [["size", "S"]], "price_minor": 500, "currency": "USD", "available": True},
            {"item_id": "M-L", "options": [["size", "L"]], "price_minor": 820, "currency": "USD", "available": True},
            {"item_id": "M-XL", "options": [["size", "XL"]], "price_minor": 900, "currency": "USD", "available": False},
        ],
    }


def test_an_item_id_is_not_a_product_id(shop: Shop) -> None:
    with pytest.raises(ToolFailure) as failure:
        look(shop.context(), "lookup_product", product_id="M-S")
    assert (failure.value.kind, failure.value.message) == (FailureKind.NOT_FOUND, "There is no product M-S.")


def test_products_are_listed_by_name(shop: Shop) -> None:
    lamp, mug = {"product_id": "P-LAMP", "name": "Desk Lamp"}, {"product_id": "P-MUG", "name": "Mug"}
    assert look(shop.context(), "list_products") == {"products": [lamp, mug], "more": False}
    assert look(shop.context(), "list_products", query="LAMP") == {"products": [lamp], "more": False}
    assert look(shop.context(), "list_products", query="100%") == {"products": [], "more": False}


def test_a_long_list_says_that_there_is_more(shop: Shop) -> None:
    models.Product.objects.bulk_create(
        models.Product(tenant=shop.tenant, ref=f"P-{n:03}", name=f"Part {n:03}") for n in range(101)
    )
    found = look(shop.context(), "list_products", query="part")
    assert (len(found["products"]), found["products"][99]["name"], found["more"]) == (100, "Part 099", True)


def test_owner_of_names_the_customer_of_a_record(shop: Shop) -> None:
    tenant = shop.tenant.id
    assert owner_of(tenant, "order", "#W1") == "dana"
    assert owner_of(tenant, "order", "#W9") == "erin"
    assert owner_of(tenant, "payment_method", "card-9") == "erin"
    assert owner_of(tenant, "ticket", "T-1") == "dana"
    assert owner_of(tenant, "order", "#W404") is None
    assert owner_of(make_tenant("south").id, "order", "#W1") is None
    with pytest.raises(ValueError, match="no records of kind 'invoice'"):
        owner_of(tenant, "invoice", "1")


def _assert_not_found(context: CallContext, name: str, **arguments: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        look(context, name, **arguments)
    assert (failure.value.kind, failure.value.message) == (FailureKind.NOT_FOUND, NOT_FOUND_WORDS)
