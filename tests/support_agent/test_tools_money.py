"""Refunds and credits: what they do, and every reason for which they are refused."""

import pytest

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount
from agentops.registry.tool import Change, ToolFailure
from support_agent import models
from tests.factories.support import Shop, act, add_payment, make_gift_card, make_order, make_shop, show

pytestmark = pytest.mark.django_db

REFUND = {
    "order_id": "#W1",
    "amount_minor": 1200,
    "currency": "USD",
    "payment_method_id": "card-1",
    "reason": "The mug arrived chipped.",
}
CREDIT = {"amount_minor": 500, "currency": "USD", "payment_method_id": "gift-1", "reason": "A late parcel."}


@pytest.fixture
def shop() -> Shop:
    return make_shop()


def test_a_refund_is_appended_to_the_payment_history(shop: Shop) -> None:
    assert act(shop.context("k"), "issue_refund", **REFUND) == {
        "order_id": "#W1",
        "payment_method_id": "card-1",
        "amount_minor": 1200,
        "currency": "USD",
        "refunded_minor": 1200,
        "refundable_minor": 3300,
        "payout_id": "k",
    }
    assert shop.history("#W1") == [("payment", 4500, "card-1"), ("refund", 1200, "card-1")]
    assert (shop.order("#W1").status, shop.order("#W1").version) == ("pending", 2)


def test_a_refund_is_previewed_precisely(shop: Shop) -> None:
    add_payment(shop.order("#W1"), "refund", 300, "card-1")
    preview = show(shop.context(), "issue_refund", **REFUND)
    assert preview.effect == "Refund $12.00 to Dana Ruiz for order #W1, to credit card ending 9917"
    assert preview.target == "customer:dana"
    assert preview.money == Money(1200, "USD")
    assert preview.versions == {"order:#W1": 1, "payment_method:card-1": 1}
    assert preview.changes == (Change("Reason", "", "The mug arrived chipped."),)
    sums = (("Refunded on order #W1", 300, 1500), ("Can still be refunded", 4200, 3000))
    assert preview.parts == (Amount("Refund", 1200, "USD", sums),)


def test_a_refund_to_a_gift_card_is_there_at_once(shop: Shop) -> None:
    preview = show(shop.context(), "issue_refund", **{**REFUND, "payment_method_id": "gift-1"})
    assert preview.effect == "Refund $12.00 to Dana Ruiz for order #W1, to gift card gift-1"
    assert Change("Balance of gift card gift-1", "$10.00", "$22.00") in preview.changes
    act(shop.context("k"), "issue_refund", **{**REFUND, "payment_method_id": "gift-1"})
    assert shop.balance("gift-1") == 2200
    assert shop.history("#W1")[-1] == ("refund", 1200, "gift-1")


def test_everything_that_was_paid_can_be_refunded_and_not_a_cent_more(shop: Shop) -> None:
    act(shop.context("k1"), "issue_refund", **{**REFUND, "amount_minor": 4499})
    _assert_refused(shop, "only $0.01 can still be refunded", FailureKind.CONFLICT, "amount_minor", amount_minor=2)
    act(shop.context("k2"), "issue_refund", **{**REFUND, "amount_minor": 1})
    _assert_refused(shop, "has been given back already", FailureKind.CONFLICT, "order_id", amount_minor=1)
    assert shop.history("#W1") == [("payment", 4500, "card-1"), ("refund", 4499, "card-1"), ("refund", 1, "card-1")]


def test_a_refund_of_more_than_was_paid_is_refused(shop: Shop) -> None:
    _assert_refused(shop, "only $45.00 can still be refunded", FailureKind.CONFLICT, "amount_minor", amount_minor=4501)


def test_a_cancelled_order_is_not_refunded_again(shop: Shop) -> None:
    act(shop.context("k"), "cancel_pending_order", order_id="#W1", reason="no longer needed")
    _assert_refused(shop, "has been given back already", FailureKind.CONFLICT, "order_id", amount_minor=1)


def test_a_refund_in_another_currency_is_refused(shop: Shop) -> None:
    _assert_refused(shop, "Order #W1 was paid in USD, not EUR.", FailureKind.VALIDATION, "currency", currency="EUR")


def test_a_currency_that_does_not_exist_is_refused(shop: Shop) -> None:
    _assert_refused(shop, "'XXQ' is not a currency.", FailureKind.VALIDATION, "currency", currency="XXQ")
    _assert_refused(shop, "'usd' is not a currency.", FailureKind.VALIDATION, "currency", currency="usd")


def test_a_refund_to_a_method_that_did_not_pay_is_refused(shop: Shop) -> None:
    words = "Order #W1 was not paid with the PayPal account paypal-1"
    _assert_refused(shop, words, FailureKind.CONFLICT, "payment_method_id", payment_method_id="paypal-1")


def test_a_card_gets_no_more_than_it_paid(shop: Shop) -> None:
    add_payment(shop.order("#W1"), "payment", 800, "paypal-1")
    words = "Only $45.00 of order #W1 was paid with the credit card ending 9917"
    _assert_refused(shop, words, FailureKind.CONFLICT, "amount_minor", amount_minor=4600)
    act(shop.context("k"), "issue_refund", **{**REFUND, "amount_minor": 800, "payment_method_id": "paypal-1"})
    assert shop.history("#W1")[-1] == ("refund", 800, "paypal-1")


def test_a_gift_card_in_another_currency_gets_no_refund(shop: Shop) -> None:
    make_gift_card(shop.dana, "gift-eur", 100, "EUR")
    words = "The gift card gift-eur is in EUR, not USD."
    _assert_refused(shop, words, FailureKind.CONFLICT, "payment_method_id", payment_method_id="gift-eur")


@pytest.mark.parametrize(
    "other",
    [{"order_id": "#W9"}, {"order_id": "#W404"}, {"payment_method_id": "card-9"}, {"payment_method_id": "none"}],
)
def test_a_foreign_record_and_an_unknown_one_are_refused_alike(shop: Shop, other: dict[str, str]) -> None:
    words = "There is no such record for this customer."
    _assert_refused(shop, words, FailureKind.NOT_FOUND, next(iter(other)), **other)


def test_a_session_without_a_customer_refunds_nothing(shop: Shop) -> None:
    with pytest.raises(ToolFailure) as failure:
        act(shop.context("k", customer_id=None), "issue_refund", **REFUND)
    assert failure.value.kind is FailureKind.NOT_FOUND


def test_a_credit_goes_to_a_gift_card(shop: Shop) -> None:
    preview = show(shop.context(), "issue_credit", **CREDIT)
    assert preview.effect == "Credit $5.00 to Dana Ruiz, to gift card gift-1"
    assert preview.money == Money(500, "USD")
    assert preview.target == "customer:dana"
    assert preview.changes == (
        Change("Balance of gift card gift-1", "$10.00", "$15.00"),
        Change("Reason", "", "A late parcel."),
    )
    assert act(shop.context("k"), "issue_credit", **CREDIT) == {
        "payment_method_id": "gift-1",
        "amount_minor": 500,
        "currency": "USD",
        "balance_minor": 1500,
        "payout_id": "k",
    }
    assert shop.balance("gift-1") == 1500


@pytest.mark.parametrize(
    ("other", "kind", "field"),
    [
        ({"payment_method_id": "card-1"}, FailureKind.VALIDATION, "payment_method_id"),
        ({"payment_method_id": "card-9"}, FailureKind.NOT_FOUND, "payment_method_id"),
        ({"currency": "EUR"}, FailureKind.CONFLICT, "payment_method_id"),
        ({"currency": "ZZZ"}, FailureKind.VALIDATION, "currency"),
    ],
)
def test_a_credit_elsewhere_is_refused(shop: Shop, other: dict[str, str], kind: FailureKind, field: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        act(shop.context("k"), "issue_credit", **{**CREDIT, **other})
    assert (failure.value.kind, failure.value.field) == (kind, field)
    assert (shop.balance("gift-1"), models.DeskOperation.objects.count()) == (1000, 0)


def test_an_order_in_yen_has_no_cents(shop: Shop) -> None:
    models.Variant.objects.filter(ref="M-S").update(currency="JPY")
    card = models.PaymentMethod.objects.get(ref="card-1")
    make_order(shop.dana, "#J1", ["M-S"], card, currency="JPY")
    preview = show(
        shop.context(), "issue_refund", **{**REFUND, "order_id": "#J1", "amount_minor": 500, "currency": "JPY"}
    )
    assert preview.effect == "Refund ¥500 to Dana Ruiz for order #J1, to credit card ending 9917"


def _assert_refused(shop: Shop, words: str, kind: FailureKind, field: str, **other: object) -> None:
    before = shop.history("#W1")
    operations = models.DeskOperation.objects.count()
    for call in (show, act):
        with pytest.raises(ToolFailure) as failure:
            call(shop.context("refused"), "issue_refund", **{**REFUND, **other})
        assert words in failure.value.message
        assert (failure.value.kind, failure.value.field) == (kind, field)
    assert shop.history("#W1") == before
    assert models.DeskOperation.objects.count() == operations
