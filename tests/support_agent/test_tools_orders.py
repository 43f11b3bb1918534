"""Changes of pending orders and of the customer's address: effects, previews and refusals."""

from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.tool import Change, ToolFailure
from support_agent import models
from support_agent.connectors.reading import address_of
from support_agent.connectors.records import Address
from tests.factories.support import (
    ELSEWHERE,
    HOME,
    Shop,
    act,
    add_payment,
    make_gift_card,
    make_order,
    make_shop,
    show,
)

pytestmark = pytest.mark.django_db

NOT_PENDING = [status for status in models.OrderStatus.values if status != "pending"]
ITEMS = {"order_id": "#W1", "item_ids": ["L-RED"], "new_item_ids": ["L-BLUE"], "payment_method_id": "card-1"}
CALLS: dict[str, dict[str, Any]] = {
    "cancel_pending_order": {"order_id": "#W1", "reason": "no longer needed"},
    "change_order_items": ITEMS,
    "change_order_address": {"order_id": "#W1", **ELSEWHERE},
    "change_order_payment": {"order_id": "#W1", "payment_method_id": "paypal-1"},
}


@pytest.fixture
def shop() -> Shop:
    return make_shop()


def test_cancelling_gives_everything_back(shop: Shop) -> None:
    preview = show(shop.context(), "cancel_pending_order", order_id="#W1", reason="ordered by mistake")
    assert preview.effect == "Cancel order #W1 of Dana Ruiz and refund $45.00 to credit card ending 9917"
    assert preview.money == Money(4500, "USD")
    assert preview.changes == (
        Change("Status", "pending", "cancelled"),
        Change("Refund to credit card ending 9917", "", "$45.00"),
        Change("Reason", "", "ordered by mistake"),
    )
    assert act(shop.context("k"), "cancel_pending_order", order_id="#W1", reason="ordered by mistake") == {
        "order_id": "#W1",
        "status": "cancelled",
        "currency": "USD",
        "refunds": [{"payment_method_id": "card-1", "amount_minor": 4500}],
    }
    order = shop.order("#W1")
    assert (order.status, order.cancel_reason, order.version) == ("cancelled", "ordered by mistake", 2)
    assert shop.history("#W1") == [("payment", 4500, "card-1"), ("refund", 4500, "card-1")]


def test_cancelling_puts_money_back_on_a_gift_card_at_once(shop: Shop) -> None:
    act(shop.context("k"), "cancel_pending_order", order_id="#W3", reason="no longer needed")
    assert shop.balance("gift-1") == 1820
    assert shop.history("#W3") == [("payment", 820, "gift-1"), ("refund", 820, "gift-1")]


def test_cancelling_gives_back_only_what_was_kept(shop: Shop) -> None:
    order = shop.order("#W1")
    add_payment(order, "refund", 500, "gift-1")
    add_payment(order, "payment", 700, "paypal-1")
    act(shop.context("k"), "cancel_pending_order", order_id="#W1", reason="no longer needed")
    assert shop.history("#W1")[3:] == [("refund", 4500, "card-1"), ("refund", 200, "paypal-1")]


def test_another_reason_does_not_cancel(shop: Shop) -> None:
    with pytest.raises(AssertionError, match="reason"):
        act(shop.context("k"), "cancel_pending_order", order_id="#W1", reason="too expensive")
    assert shop.order("#W1").status == "pending"


@pytest.mark.parametrize(
    ("new", "difference", "settled", "entry"),
    [
        ("L-BLUE", 350, "take $3.50 from credit card ending 9917", ("payment", 350, "card-1")),
        ("L-GREY", -500, "refund $5.00 to credit card ending 9917", ("refund", 500, "card-1")),
        ("L-RED", 0, "the price stays the same", ("refund", 0, "card-1")),
    ],
)
def test_other_items_settle_the_difference(
    shop: Shop, new: str, difference: int, settled: str, entry: tuple[str, int, str]
) -> None:
    call = {**ITEMS, "new_item_ids": [new]}
    preview = show(shop.context(), "change_order_items", **call)
    assert preview.effect.endswith(f"; {settled}")
    assert preview.money == (Money(-difference, "USD") if difference < 0 else None)
    assert act(shop.context("k"), "change_order_items", **call) == {
        "order_id": "#W1",
        "status": "pending (item modified)",
        "payment_method_id": "card-1",
        "difference_minor": difference,
        "currency": "USD",
    }
    assert shop.history("#W1") == [("payment", 4500, "card-1"), entry]
    assert _items(shop, "#W1") == [(new, 2000 + difference), ("M-S", 500), ("L-RED", 2000)]


def test_other_items_are_previewed_line_by_line(shop: Shop) -> None:
    preview = show(shop.context(), "change_order_items", **{**ITEMS, "payment_method_id": "gift-1"})
    assert preview.effect == (
        "Change order #W1 of Dana Ruiz: Desk Lamp (red) for Desk Lamp (blue); take $3.50 from gift card gift-1"
    )
    assert preview.changes == (
        Change("Item 1", "Desk Lamp (red), $20.00", "Desk Lamp (blue), $23.50"),
        Change("Price of all items", "$45.00", "$48.50"),
        Change("Status", "pending", "pending (item modified)"),
        Change("Balance of gift card gift-1", "$10.00", "$6.50"),
    )
    assert preview.versions == {
        "order:#W1": 1,
        "payment_method:gift-1": 1,
        "variant:L-BLUE": 2350 * 2 + 1,
    }
    act(shop.context("k"), "change_order_items", **{**ITEMS, "payment_method_id": "gift-1"})
    assert shop.balance("gift-1") == 650


def test_an_item_named_twice_is_two_lines(shop: Shop) -> None:
    call = {**ITEMS, "item_ids": ["L-RED", "L-RED"], "new_item_ids": ["L-BLUE", "L-GREY"]}
    assert act(shop.context("k"), "change_order_items", **call)["difference_minor"] == -150
    assert _items(shop, "#W1") == [("L-BLUE", 2350), ("M-S", 500), ("L-GREY", 1500)]


@pytest.mark.parametrize(
    ("other", "words", "kind"),
    [
        ({"item_ids": ["M-L"]}, "Order #W1 holds no item M-L.", FailureKind.VALIDATION),
        (
            {"item_ids": ["L-RED"] * 3, "new_item_ids": ["L-BLUE"] * 3},
            "Order #W1 holds item L-RED 2 times, not 3 times.",
            FailureKind.VALIDATION,
        ),
        ({"new_item_ids": ["M-L"]}, "Item M-L is not a Desk Lamp", FailureKind.VALIDATION),
        ({"new_item_ids": ["NONE"]}, "Item NONE is not a Desk Lamp", FailureKind.VALIDATION),
        ({"new_item_ids": ["L-BLUE", "L-GREY"]}, "exactly one new item for each item", FailureKind.VALIDATION),
        (
            {"item_ids": ["M-S"], "new_item_ids": ["M-XL"]},
            "Item M-XL, Mug (XL), is out of stock.",
            FailureKind.CONFLICT,
        ),
        ({"payment_method_id": "card-9"}, "There is no such record for this customer.", FailureKind.NOT_FOUND),
        ({"order_id": "#W9"}, "There is no such record for this customer.", FailureKind.NOT_FOUND),
    ],
)
def test_items_that_cannot_be_changed_so_are_refused(
    shop: Shop, other: dict[str, Any], words: str, kind: FailureKind
) -> None:
    _assert_refused(shop, "change_order_items", {**ITEMS, **other}, words, kind)


def test_a_new_item_in_another_currency_is_refused(shop: Shop) -> None:
    models.Variant.objects.filter(ref="L-BLUE").update(currency="EUR")
    _assert_refused(shop, "change_order_items", ITEMS, "Item L-BLUE is priced in EUR, not USD.", FailureKind.CONFLICT)


def test_a_gift_card_must_hold_the_difference(shop: Shop) -> None:
    make_gift_card(shop.dana, "gift-2", 349)
    call = {**ITEMS, "payment_method_id": "gift-2"}
    _assert_refused(
        shop, "change_order_items", call, "gift card gift-2 holds $3.49, less than $3.50", FailureKind.CONFLICT
    )


def test_cheaper_items_refund_no_more_than_was_kept(shop: Shop) -> None:
    add_payment(shop.order("#W1"), "refund", 4100, "card-1")
    call = {**ITEMS, "new_item_ids": ["L-GREY"]}
    _assert_refused(shop, "change_order_items", call, "only $4.00 can still be refunded", FailureKind.CONFLICT)


def test_another_address_is_the_orders_alone(shop: Shop) -> None:
    preview = show(shop.context(), "change_order_address", order_id="#W1", **ELSEWHERE)
    assert preview.effect == "Send order #W1 of Dana Ruiz to 9 Oak Lane, Suite 4, Boise, ID 83701, USA"
    assert preview.changes == (
        Change("Delivery address", "1 Elm Street, Denver, CO 80279, USA", "9 Oak Lane, Suite 4, Boise, ID 83701, USA"),
    )
    result = act(shop.context("k"), "change_order_address", order_id="#W1", **ELSEWHERE)
    assert result == {"order_id": "#W1", "address": ELSEWHERE, "former_address": HOME}
    assert address_of(shop.order("#W1")) == Address(**ELSEWHERE)
    assert shop.order("#W1").status == "pending"
    assert models.Customer.objects.get(ref="dana").address1 == "1 Elm Street"


@pytest.mark.parametrize("name", ["change_order_address", "change_customer_address"])
def test_an_address_without_a_street_is_refused(shop: Shop, name: str) -> None:
    order = {"order_id": "#W1"} if name == "change_order_address" else {}
    with pytest.raises(ToolFailure) as failure:
        act(shop.context("k"), name, **{**order, **ELSEWHERE, "address1": "  "})
    assert (failure.value.kind, failure.value.field) == (FailureKind.VALIDATION, "address1")


def test_the_former_address_can_be_set_again(shop: Shop) -> None:
    act(shop.context("k1"), "change_order_address", order_id="#W1", **ELSEWHERE)
    act(shop.context("k2"), "change_order_address", order_id="#W1", **{**ELSEWHERE, "address2": ""})
    assert (shop.order("#W1").address2, shop.order("#W1").version) == ("", 3)


def test_the_default_address_is_the_customers_alone(shop: Shop) -> None:
    preview = show(shop.context(), "change_customer_address", **ELSEWHERE)
    assert preview.effect == ("Change the default address of Dana Ruiz to 9 Oak Lane, Suite 4, Boise, ID 83701, USA")
    assert preview.versions == {"customer:dana": 1}
    act(shop.context("k"), "change_customer_address", **ELSEWHERE)
    customer = models.Customer.objects.get(ref="dana")
    assert (address_of(customer), customer.version) == (Address(**ELSEWHERE), 2)
    assert shop.order("#W1").address1 == "1 Elm Street"


def test_another_method_pays_the_whole_and_the_first_is_refunded(shop: Shop) -> None:
    preview = show(shop.context(), "change_order_payment", order_id="#W3", payment_method_id="card-1")
    assert preview.effect == (
        "Pay order #W3 of Dana Ruiz with credit card ending 9917 instead of gift card gift-1:"
        " take $8.20 and refund $8.20"
    )
    assert preview.money is None
    assert act(shop.context("k"), "change_order_payment", order_id="#W3", payment_method_id="card-1") == {
        "order_id": "#W3",
        "payment_method_id": "card-1",
        "amount_minor": 820,
        "currency": "USD",
    }
    assert shop.history("#W3") == [("payment", 820, "gift-1"), ("payment", 820, "card-1"), ("refund", 820, "gift-1")]
    assert (shop.balance("gift-1"), shop.order("#W3").status) == (1820, "pending")


def test_a_gift_card_that_holds_enough_pays(shop: Shop) -> None:
    make_order(shop.dana, "#W4", ["M-S"], models.PaymentMethod.objects.get(ref="card-1"))
    act(shop.context("k"), "change_order_payment", order_id="#W4", payment_method_id="gift-1")
    assert shop.balance("gift-1") == 500


@pytest.mark.parametrize(
    ("method", "words", "kind"),
    [
        ("gift-1", "gift card gift-1 holds $10.00, less than $45.00", FailureKind.CONFLICT),
        ("card-1", "already paid with the credit card ending 9917", FailureKind.CONFLICT),
        ("card-9", "There is no such record for this customer.", FailureKind.NOT_FOUND),
    ],
)
def test_a_method_that_cannot_pay_is_refused(shop: Shop, method: str, words: str, kind: FailureKind) -> None:
    _assert_refused(shop, "change_order_payment", {"order_id": "#W1", "payment_method_id": method}, words, kind)


def test_the_method_changes_once(shop: Shop) -> None:
    act(shop.context("k"), "change_order_payment", **CALLS["change_order_payment"])
    call = {"order_id": "#W1", "payment_method_id": "card-1"}
    _assert_refused(shop, "change_order_payment", call, "was not paid in one payment", FailureKind.CONFLICT)


@pytest.mark.parametrize("status", NOT_PENDING)
@pytest.mark.parametrize("name", CALLS)
def test_an_order_that_is_not_pending_stays_as_it_is(shop: Shop, name: str, status: str) -> None:
    models.Order.objects.filter(ref="#W1").update(status=status)
    _assert_refused(shop, name, CALLS[name], f"Order #W1 is {status}; only a pending order", FailureKind.CONFLICT)


@pytest.mark.parametrize("order_id", ["#W9", "#W404"])
@pytest.mark.parametrize("name", CALLS)
def test_a_foreign_order_and_an_unknown_one_are_refused_alike(shop: Shop, name: str, order_id: str) -> None:
    words = "There is no such record for this customer."
    _assert_refused(shop, name, {**CALLS[name], "order_id": order_id}, words, FailureKind.NOT_FOUND)


def _items(shop: Shop, ref: str) -> list[tuple[str, int]]:
    return [(line.variant_ref, line.price_minor) for line in shop.order(ref).lines.all()]


def _assert_refused(shop: Shop, name: str, call: dict[str, Any], words: str, kind: FailureKind) -> None:
    before = [(order.ref, order.version, shop.history(order.ref)) for order in models.Order.objects.all()]
    for attempt in (show, act):
        with pytest.raises(ToolFailure) as failure:
            attempt(shop.context("refused"), name, **call)
        assert words in failure.value.message
        assert failure.value.kind is kind
    assert [(order.ref, order.version, shop.history(order.ref)) for order in models.Order.objects.all()] == before
    assert not models.DeskOperation.objects.filter(key="refused").exists()
