"""Returns and exchanges of delivered orders: requested now, settled later."""

from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.tool import Change, ToolFailure
from support_agent import models
from tests.factories.support import Shop, act, add_payment, look, make_gift_card, make_shop, show

pytestmark = pytest.mark.django_db

RETURN = {"order_id": "#W2", "item_ids": ["M-S", "L-RED"], "payment_method_id": "paypal-1"}
EXCHANGE = {
    "order_id": "#W2",
    "item_ids": ["M-S", "L-RED"],
    "new_item_ids": ["M-L", "L-BLUE"],
    "payment_method_id": "card-1",
}
CALLS: dict[str, dict[str, Any]] = {"return_delivered_items": RETURN, "exchange_delivered_items": EXCHANGE}


@pytest.fixture
def shop() -> Shop:
    return make_shop()


def test_a_return_is_requested_and_moves_no_money_yet(shop: Shop) -> None:
    preview = show(shop.context(), "return_delivered_items", **RETURN)
    assert preview.effect == (
        "Accept the return of Desk Lamp (red) and Mug (S) from order #W2 of Dana Ruiz;"
        " $25.00 goes to PayPal account paypal-1 when the items arrive"
    )
    assert preview.money == Money(2500, "USD")
    assert preview.changes == (
        Change("Item 1", "Desk Lamp (red)", "to be returned, $20.00"),
        Change("Item 2", "Mug (S)", "to be returned, $5.00"),
        Change("Status", "delivered", "return requested"),
        Change("Refund on arrival", "", "$25.00 to PayPal account paypal-1"),
    )
    assert act(shop.context("k"), "return_delivered_items", **RETURN) == {
        "order_id": "#W2",
        "status": "return requested",
        "item_ids": ["L-RED", "M-S"],
        "payment_method_id": "paypal-1",
        "refund_minor": 2500,
        "currency": "USD",
    }
    assert shop.history("#W2") == [("payment", 2500, "paypal-1")]
    shown = look(shop.context(), "lookup_order", order_id="#W2")
    assert shown["return"] == {"item_ids": ["L-RED", "M-S"], "payment_method_id": "paypal-1"}
    assert shown["status"] == "return requested"


def test_a_return_may_go_to_a_gift_card(shop: Shop) -> None:
    act(shop.context("k"), "return_delivered_items", **{**RETURN, "item_ids": ["M-S"], "payment_method_id": "gift-1"})
    assert (shop.balance("gift-1"), shop.order("#W2").return_payment_method_ref) == (1000, "gift-1")


def test_a_return_promises_no_more_than_was_kept(shop: Shop) -> None:
    add_payment(shop.order("#W2"), "refund", 2200, "paypal-1")
    assert act(shop.context("k"), "return_delivered_items", **RETURN)["refund_minor"] == 300


def test_nothing_is_returned_when_everything_was_given_back(shop: Shop) -> None:
    add_payment(shop.order("#W2"), "refund", 2500, "paypal-1")
    _assert_refused(shop, "return_delivered_items", RETURN, "has been given back already", FailureKind.CONFLICT)


def test_an_exchange_is_requested_and_settled_later(shop: Shop) -> None:
    preview = show(shop.context(), "exchange_delivered_items", **EXCHANGE)
    assert preview.effect == (
        "Accept the exchange of Mug (S) for Mug (L) and Desk Lamp (red) for Desk Lamp (blue) from order #W2 of"
        " Dana Ruiz; when the items arrive, take $6.70 from credit card ending 9917"
    )
    assert preview.money is None
    assert act(shop.context("k"), "exchange_delivered_items", **EXCHANGE) == {
        "order_id": "#W2",
        "status": "exchange requested",
        "item_ids": ["L-RED", "M-S"],
        "new_item_ids": ["L-BLUE", "M-L"],
        "payment_method_id": "card-1",
        "difference_minor": 670,
        "currency": "USD",
    }
    assert shop.history("#W2") == [("payment", 2500, "paypal-1")]
    assert [line.variant_ref for line in shop.order("#W2").lines.all()] == ["L-RED", "M-S"]
    assert look(shop.context(), "lookup_order", order_id="#W2")["exchange"] == {
        "item_ids": ["L-RED", "M-S"],
        "new_item_ids": ["L-BLUE", "M-L"],
        "payment_method_id": "card-1",
        "difference_minor": 670,
    }


def test_a_cheaper_exchange_owes_the_customer(shop: Shop) -> None:
    call = {**EXCHANGE, "item_ids": ["L-RED"], "new_item_ids": ["L-GREY"]}
    preview = show(shop.context(), "exchange_delivered_items", **call)
    assert preview.money == Money(500, "USD")
    assert preview.effect.endswith("when the items arrive, refund $5.00 to credit card ending 9917")
    assert act(shop.context("k"), "exchange_delivered_items", **call)["difference_minor"] == -500


def test_a_gift_card_must_hold_the_difference_already(shop: Shop) -> None:
    make_gift_card(shop.dana, "gift-2", 669)
    call = {**EXCHANGE, "payment_method_id": "gift-2"}
    words = "gift card gift-2 holds $6.69, less than $6.70"
    _assert_refused(shop, "exchange_delivered_items", call, words, FailureKind.CONFLICT)
    act(shop.context("k"), "exchange_delivered_items", **{**EXCHANGE, "payment_method_id": "gift-1"})
    assert shop.balance("gift-1") == 1000


@pytest.mark.parametrize(
    ("name", "other", "words", "kind"),
    [
        (
            "return_delivered_items",
            {"payment_method_id": "card-1"},
            "Order #W2 was not paid with the credit card ending 9917",
            FailureKind.CONFLICT,
        ),
        ("return_delivered_items", {"item_ids": ["M-L"]}, "Order #W2 holds no item M-L.", FailureKind.VALIDATION),
        (
            "return_delivered_items",
            {"item_ids": ["M-S", "M-S"]},
            "Order #W2 holds item M-S 1 times, not 2 times.",
            FailureKind.VALIDATION,
        ),
        ("exchange_delivered_items", {"new_item_ids": ["L-RED", "M-S"]}, "is not a Mug", FailureKind.VALIDATION),
        ("exchange_delivered_items", {"new_item_ids": ["M-XL", "L-BLUE"]}, "out of stock", FailureKind.CONFLICT),
        ("exchange_delivered_items", {"new_item_ids": ["M-L"]}, "exactly one new item", FailureKind.VALIDATION),
    ],
)
def test_items_that_cannot_go_back_so_are_refused(
    shop: Shop, name: str, other: dict[str, Any], words: str, kind: FailureKind
) -> None:
    _assert_refused(shop, name, {**CALLS[name], **other}, words, kind)


@pytest.mark.parametrize("status", [status for status in models.OrderStatus.values if status != "delivered"])
@pytest.mark.parametrize("name", CALLS)
def test_an_order_that_is_not_delivered_stays_as_it_is(shop: Shop, name: str, status: str) -> None:
    models.Order.objects.filter(ref="#W2").update(status=status)
    _assert_refused(shop, name, CALLS[name], f"Order #W2 is {status}; only a delivered order", FailureKind.CONFLICT)


@pytest.mark.parametrize(
    "other", [{"order_id": "#W9"}, {"order_id": "#W404"}, {"payment_method_id": "card-9"}, {"payment_method_id": "no"}]
)
@pytest.mark.parametrize("name", CALLS)
def test_a_foreign_record_and_an_unknown_one_are_refused_alike(shop: Shop, name: str, other: dict[str, str]) -> None:
    words = "There is no such record for this customer."
    _assert_refused(shop, name, {**CALLS[name], **other}, words, FailureKind.NOT_FOUND)


def _assert_refused(shop: Shop, name: str, call: dict[str, Any], words: str, kind: FailureKind) -> None:
    before = shop.order("#W2").version
    for attempt in (show, act):
        with pytest.raises(ToolFailure) as failure:
            attempt(shop.context("refused"), name, **call)
        assert words in failure.value.message
        assert failure.value.kind is kind
    assert (shop.order("#W2").version, shop.order("#W2").return_items) == (before, None)
    assert models.DeskOperation.objects.count() == 0
