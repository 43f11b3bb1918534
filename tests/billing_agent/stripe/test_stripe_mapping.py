"""Amounts, credits, versions and states of Stripe as the desk has them. Pure."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.kernel.money import Money
from agentops.registry.tool import ToolFailure
from billing_agent.connectors.records import DisputeStatus, SubscriptionStatus
from billing_agent.connectors.stripe.amounts import from_stripe, to_stripe
from billing_agent.connectors.stripe.charges import charge_of, decline_code, dispute_of
from billing_agent.connectors.stripe.credits import GIVEN, REVERSES, balance_of
from billing_agent.connectors.stripe.objects import Obj, versioned
from billing_agent.connectors.stripe.step import Find, Step, filled, step_from, sub_key
from billing_agent.connectors.stripe.subscriptions import is_plan, next_price, plan_of, subscription_of


@pytest.mark.parametrize(
    ("money", "amount"),
    [
        (Money(1099, "USD"), 1099),
        (Money(500, "JPY"), 500),
        (Money(-300, "EUR"), -300),
        (Money(5, "ISK"), 500),
        (Money(7, "UGX"), 700),
        (Money(1230, "KWD"), 1230),
        (Money(0, "USD"), 0),
    ],
)
def test_amount_as_stripe_counts_it(money: Money, amount: int) -> None:
    assert (to_stripe(money), from_stripe(amount, money.currency.lower())) == (amount, money)


def test_amount_that_one_side_cannot_hold_is_refused() -> None:
    with pytest.raises(ToolFailure, match="as fine as"):
        to_stripe(Money(1231, "KWD"))
    with pytest.raises(ToolFailure, match="cannot be held"):
        from_stripe(150, "isk")
    with pytest.raises(ToolFailure, match="cannot be held"):
        from_stripe(1, "zzz")


def entry(ref: str, amount: int, at: int, **metadata: str) -> Obj:
    return {
        "id": ref,
        "amount": amount,
        "currency": "usd",
        "created": at,
        "type": "adjustment",
        "description": f"Because {ref}",
        "metadata": metadata,
    }


def test_what_is_left_belongs_to_the_newest_credits() -> None:
    entries = [entry("c3", -300, 30), entry("used", 350, 25), entry("c2", -200, 20), entry("c1", -400, 10)]
    found = balance_of(-550, "USD", entries)
    assert [(credit.ref, credit.left_minor) for credit in found.left] == [("c1", 50), ("c2", 200), ("c3", 300)]
    assert found.credit("c1") == replace(found.left[0])


def test_credit_that_was_taken_back_has_nothing_left() -> None:
    entries = [entry("back", 300, 40, **{REVERSES: "c2"}), entry("c3", -100, 30), entry("c2", -300, 20)]
    found = balance_of(-100, "USD", entries)
    reversed_one = found.credit("c2")
    assert [(credit.ref, credit.left_minor) for credit in found.left] == [("c3", 100)]
    assert reversed_one is not None
    assert (reversed_one.left_minor, reversed_one.reversed_at is not None) == (0, True)


def test_credit_in_another_currency_and_debt_are_no_credit() -> None:
    assert balance_of(-100, "EUR", [entry("c1", -100, 10)]).credits == ()
    assert balance_of(500, "USD", [entry("debt", 600, 20), entry("c1", -100, 10)]).left == ()


def test_credit_says_what_was_given() -> None:
    (credit,) = balance_of(-80, "USD", [entry("c1", -80, 10, **{GIVEN: "300"})]).left
    assert (credit.amount, credit.left_minor) == (Money(300, "USD"), 80)


@given(given=st.lists(st.integers(1, 10_000), min_size=1, max_size=8), share=st.integers(0, 100))
def test_what_is_left_of_credits_comes_to_the_balance(given: list[int], share: int) -> None:
    entries = [entry(f"c{number}", -amount, number) for number, amount in enumerate(given)][::-1]
    balance = sum(given) * share // 100
    assert sum(credit.left_minor for credit in balance_of(-balance, "USD", entries).left) == balance


PRICE: Obj = {
    "id": "price_1",
    "nickname": "Team",
    "currency": "eur",
    "unit_amount": 2000,
    "active": True,
    "recurring": {"interval": "month", "interval_count": 1, "usage_type": "licensed"},
}


def subscription(**fields: Any) -> Obj:
    item = {
        "id": "si_1",
        "price": PRICE,
        "quantity": 2,
        "current_period_start": 1_793_491_200,
        "current_period_end": 1_796_083_200,
    }
    return {
        "id": "sub_1",
        "customer": "cus_1",
        "status": "active",
        "billing_cycle_anchor": 1_793_491_200,
        "cancel_at_period_end": False,
        "items": {"data": [item]},
        "metadata": {},
        **fields,
    }


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, SubscriptionStatus.ACTIVE),
        ({"status": "trialing"}, SubscriptionStatus.ACTIVE),
        ({"status": "unpaid"}, SubscriptionStatus.PAST_DUE),
        ({"status": "incomplete_expired"}, SubscriptionStatus.CANCELLED),
        ({"pause_collection": {"behavior": "void"}}, SubscriptionStatus.PAUSED),
        ({"status": "canceled", "pause_collection": {"behavior": "void"}}, SubscriptionStatus.CANCELLED),
    ],
)
def test_state_of_a_subscription(fields: dict[str, Any], status: SubscriptionStatus) -> None:
    assert subscription_of(subscription(**fields), plan_of(PRICE, None), None).status is status


def test_version_moves_with_what_the_rules_see_and_with_who_wrote_last() -> None:
    first = subscription_of(subscription(), plan_of(PRICE, None), None)
    same = subscription_of(subscription(description="not seen"), plan_of(PRICE, None), None)
    written = subscription_of(subscription(metadata={"agentops_key": "k"}), plan_of(PRICE, None), None)
    assert first.version == same.version == versioned(first).version
    assert len({first.version, written.version, versioned(replace(first, quantity=3)).version}) == 3
    assert 0 <= first.version < 2**48


def test_price_that_is_sold_otherwise_is_no_plan() -> None:
    for recurring in ({"interval": "week"}, {"interval": "month", "interval_count": 3}, None):
        assert not is_plan({**PRICE, "recurring": recurring})
    assert not is_plan({**PRICE, "billing_scheme": "tiered"})
    assert not is_plan({**PRICE, "unit_amount": None})
    assert not plan_of(PRICE, {"name": "Team", "active": False}).active


def test_price_that_a_schedule_brings_next() -> None:
    phases = [
        {"start_date": 100, "end_date": 200, "items": [{"price": "price_1"}]},
        {"start_date": 200, "end_date": 300, "items": [{"price": "price_2"}]},
    ]
    schedule = {"id": "sub_sched_1", "status": "active", "current_phase": {"end_date": 200}, "phases": phases}
    assert next_price(subscription(schedule=schedule)) == "price_2"
    assert next_price(subscription(schedule={**schedule, "status": "released"})) == ""
    assert next_price(subscription(schedule="sub_sched_1")) == ""


def test_why_a_card_was_declined() -> None:
    assert decline_code("stolen_card", "card_declined") == "lost_or_stolen"
    assert decline_code(None, "expired_card") == "expired_card"
    assert decline_code("a_reason_of_its_own") == "a_reason_of_its_own"
    assert decline_code() == "processing_error"


def test_refund_that_failed_gave_nothing_back() -> None:
    charge = {
        "id": "ch_1",
        "status": "succeeded",
        "amount": 500,
        "amount_refunded": 200,
        "currency": "usd",
        "payment_method": "pm_1",
        "created": 10,
    }
    made = {"amount": 200, "currency": "usd", "created": 20, "metadata": {"reason": "Twice"}}
    refunds = [{**made, "id": "re_2", "status": "failed"}, {**made, "id": "re_1", "status": "succeeded"}]
    found = charge_of(charge, "in_1", refunds, [])
    assert [(refund.ref, refund.reason) for refund in found.refunds] == [("re_1", "Twice")]
    assert found.refundable == Money(300, "USD")


def test_early_inquiry_that_was_closed_is_won() -> None:
    dispute = {"id": "du_1", "charge": "ch_1", "amount": 5, "currency": "usd", "reason": "general", "created": 1}
    assert dispute_of({**dispute, "status": "warning_closed"}).status is DisputeStatus.WON


def test_step_is_kept_and_read_back() -> None:
    step = Step("issue", "/v1/invoices/{draft}/finalize", {"a": [1]}, Find("/v1/x", told_in="status", values=("open",)))
    assert step_from(step.as_json()) == step
    assert filled(step.path, {"draft": {"id": "in_1"}}) == "/v1/invoices/in_1/finalize"


def test_key_of_a_step_tells_tenants_calls_steps_and_attempts_apart() -> None:
    keys = {
        sub_key(tenant, key, step, attempt)
        for tenant in ("t1", "t2")
        for key in ("k1", "k2")
        for step in ("a", "b")
        for attempt in (0, 1)
    }
    assert len(keys) == 16
    assert max(map(len, keys)) <= 255
    assert sub_key("t1", "k1", "a", 0) in keys
