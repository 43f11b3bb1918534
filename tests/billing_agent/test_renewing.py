from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentops.kernel.money import Money
from billing_agent.connectors.effect import Effect
from billing_agent.connectors.port import RetryCharge
from billing_agent.connectors.records import Invoice, InvoiceStatus, Method, Subscription, SubscriptionStatus
from billing_agent.connectors.renewing_rules import MOST_ATTEMPTS, due_retry, plan_due, standing
from tests.billing_agent.subscribers import (
    BASIC,
    BASIC_YEARLY,
    CARD,
    DANA,
    DELETED,
    FREE,
    NOW,
    TEAM,
    at,
    credit,
    customer,
    invoice,
    paused,
    plan,
    postings,
    refusal,
    rows,
    snapshot,
    subscription,
)

END = at("2026-12-01")


def due(now: datetime = END, **fields: Any) -> Effect:
    """Return what is due, which there is."""
    effect = plan_due(snapshot(**{"now": now} | fields))
    assert effect is not None
    return effect


def test_a_subscription_is_renewed_when_its_period_ends() -> None:
    effect = due()
    assert effect.subscription == {"period_start": END, "period_end": at("2027-01-01")}
    made = effect.new_invoice
    assert made is not None
    assert [(line.description, line.quantity, line.unit_minor, line.tax_minor, line.period) for line in made.lines] == [
        ("Basic", 1, 3_000, 600, (END, at("2027-01-01")))
    ]
    assert (made.subscription_ref, made.memo) == ("sub_1", "Basic until 2027-01-01")
    assert (made.due_at, made.next_attempt_at) == (END + timedelta(days=14), END)
    assert postings(effect) == [("invoice", {"receivable": 3_600, "revenue": -3_000, "tax": -600})]
    assert effect.preview.effect == "Renew Basic of Dana Ash until 2027-01-01 and invoice €36.00"
    assert effect.preview.money == Money(3_600, "EUR")
    assert effect.result == {
        "subscription_id": "sub_1",
        "status": "active",
        "former_status": "active",
        "plan_id": "basic",
        "period_end": "2027-01-01T00:00:00.000000Z",
        "invoice_id": made.ref,
        "invoiced_minor": 3_600,
        "left_minor": 3_600,
        "currency": "EUR",
    }


def test_a_renewal_that_credit_pays_is_not_charged() -> None:
    effect = due(credits=(credit("cr_1", 5_000),))
    assert effect.new_invoice is not None
    assert effect.new_invoice.next_attempt_at is None
    assert effect.credits == {"cr_1": 1_400}


@pytest.mark.parametrize(
    "found",
    [
        subscription(period_end=END + timedelta(seconds=1)),
        subscription(status=SubscriptionStatus.CANCELLED),
        subscription(cancel_at=END + timedelta(days=31), period_end=END + timedelta(days=31)),
        paused("2026-11-06"),
        paused("2026-11-06", resumes_at=END + timedelta(days=1)),
    ],
)
def test_what_is_not_due_is_left_alone(found: Subscription) -> None:
    assert plan_due(snapshot(now=END, subscription=found)) is None


def test_another_plan_that_was_to_come_takes_its_place() -> None:
    effect = due(subscription=subscription(next_plan=BASIC_YEARLY, quantity=2, anchor_day=1))
    assert effect.subscription == {
        "period_start": END,
        "period_end": at("2027-12-01"),
        "plan": "basic_yearly",
        "next_plan": None,
    }
    assert (effect.result["plan_id"], effect.result["invoiced_minor"]) == ("basic_yearly", 87_600)
    assert rows(effect)[0] == ("Plan", "Basic", "Basic yearly")


def test_a_plan_that_costs_nothing_is_renewed_without_an_invoice() -> None:
    effect = due(subscription=subscription(plan=FREE))
    assert (effect.new_invoice, effect.entries, effect.preview.money) == (None, (), None)
    assert effect.preview.effect == "Renew Free of Dana Ash until 2027-01-01 and bill nothing"
    assert (effect.result["invoice_id"], effect.result["invoiced_minor"]) == ("", 0)


def test_a_run_that_comes_late_bills_one_period_after_the_other() -> None:
    found, ends = subscription(anchor_day=31, period_end=at("2026-11-30")), []
    now = at("2027-03-01")
    while (effect := plan_due(snapshot(now=now, subscription=found))) is not None:
        found = subscription(anchor_day=31, **effect.subscription)
        ends.append(found.period_end)
    assert ends == [at("2026-12-31"), at("2027-01-31"), at("2027-02-28"), at("2027-03-31")]


def test_past_due_is_renewed_and_stays_past_due() -> None:
    effect = due(subscription=subscription(status=SubscriptionStatus.PAST_DUE))
    assert effect.result["status"] == "past_due"
    assert "status" not in effect.subscription


def test_what_was_cancelled_with_its_period_ends_then_however_late_the_run_is() -> None:
    ending = subscription(cancel_at=END, next_plan=TEAM)
    effect = due(END + timedelta(days=9), subscription=ending)
    assert effect.subscription == {
        "status": "cancelled",
        "cancelled_at": END,
        "cancel_at": None,
        "next_plan": None,
        "paused_at": None,
        "resumes_at": None,
    }
    assert effect.preview.effect == "Basic of Dana Ash ends with its period"
    assert (effect.new_invoice, effect.entries) == (None, ())


def test_a_subscription_of_a_deleted_customer_ends_with_its_period() -> None:
    effect = due(customer=DELETED)
    assert (effect.subscription["status"], effect.subscription["cancelled_at"]) == ("cancelled", END)
    assert effect.subscription["cancel_reason"] == "The customer is deleted."
    assert plan_due(snapshot(customer=DELETED, now=END - timedelta(seconds=1))) is None
    resting = paused("2026-11-06", resumes_at=at("2026-11-20"))
    assert due(customer=DELETED, subscription=resting).subscription["cancelled_at"] == at("2026-11-20")


def test_a_pause_ends_on_its_day_and_the_period_goes_on() -> None:
    effect = due(subscription=paused("2026-11-06T12:00", resumes_at=at("2026-11-20")))
    assert effect.subscription == {
        "status": "active",
        "paused_at": None,
        "resumes_at": None,
        "period_start": at("2026-11-15"),
        "period_end": at("2026-12-15"),
        "anchor_day": 15,
    }
    assert effect.entries == ()


def test_a_plan_in_another_currency_is_not_billed() -> None:
    found = subscription(plan=plan("us", currency="USD"))
    assert refusal(lambda: plan_due(snapshot(now=END, subscription=found))) == (
        "CONFLICT",
        "Us is sold in USD; Dana Ash is billed in EUR.",
        "subscription_id",
    )
    assert refusal(lambda: plan_due(snapshot(now=END, subscription=None)))[0] == "NOT_FOUND"


@settings(max_examples=80)
@given(
    price=st.integers(0, 10**9),
    units=st.integers(1, 50),
    rate=st.integers(0, 10_000),
    has=st.integers(0, 10**9),
    months=st.integers(0, 3),
)
def test_a_renewal_moves_the_period_on_and_its_entries_sum_to_zero(
    *, price: int, units: int, rate: int, has: int, months: int
) -> None:
    found = subscription(plan=plan("one", price), quantity=units)
    effect = due(
        END + timedelta(days=30 * months),
        customer=customer(tax_bp=rate),
        subscription=found,
        credits=(credit("cr_1", has),),
    )
    assert effect.subscription["period_start"] == found.period_end < effect.subscription["period_end"]
    receivable = sum(lines.get("receivable", 0) for _, lines in postings(effect))
    assert receivable == effect.result["left_minor"]
    assert effect.result["invoiced_minor"] - receivable == has - effect.credits.get("cr_1", has)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], SubscriptionStatus.ACTIVE),
        ([invoice(due_at=NOW + timedelta(days=1))], SubscriptionStatus.ACTIVE),
        ([invoice(due_at=NOW)], SubscriptionStatus.PAST_DUE),
        ([invoice(due_at=None, attempts=1)], SubscriptionStatus.PAST_DUE),
        ([invoice(due_at=NOW, subscription_ref="sub_2")], SubscriptionStatus.ACTIVE),
        ([invoice(due_at=NOW, status=InvoiceStatus.UNCOLLECTIBLE)], SubscriptionStatus.ACTIVE),
        ([invoice(attempts=1, status=InvoiceStatus.PAID, paid_minor=3_600)], SubscriptionStatus.ACTIVE),
    ],
)
def test_past_due_is_what_has_an_invoice_that_is_late_or_was_tried_in_vain(
    found: list[Invoice], expected: SubscriptionStatus
) -> None:
    for before in (SubscriptionStatus.ACTIVE, SubscriptionStatus.PAST_DUE):
        assert standing(subscription(status=before), found, NOW) is expected


@pytest.mark.parametrize("status", [SubscriptionStatus.PAUSED, SubscriptionStatus.CANCELLED])
def test_what_is_paused_or_cancelled_stays_so_whatever_is_owed(status: SubscriptionStatus) -> None:
    assert standing(subscription(status=status), [invoice(due_at=NOW)], NOW) is status


@pytest.mark.parametrize("attempts", range(MOST_ATTEMPTS))
def test_what_is_left_is_charged_again_with_the_default_method(attempts: int) -> None:
    found = invoice(attempts=attempts, next_attempt_at=NOW, paid_minor=1_000, credited_minor=600)
    spare = Method("pm_spare", "bank", "", "", None, "", is_default=False, version=1)
    assert due_retry(found, customer(methods=(spare, CARD)), NOW) == RetryCharge("in_1", "pm_card", Money(2_000, "EUR"))


@pytest.mark.parametrize(
    ("found", "payer"),
    [
        (invoice(next_attempt_at=None), DANA),
        (invoice(next_attempt_at=NOW + timedelta(seconds=1)), DANA),
        (invoice(next_attempt_at=NOW, attempts=4), DANA),
        (invoice(next_attempt_at=NOW, status=InvoiceStatus.PAID), DANA),
        (invoice(next_attempt_at=NOW, status=InvoiceStatus.UNCOLLECTIBLE), DANA),
        (invoice(next_attempt_at=NOW, paid_minor=3_600), DANA),
        (invoice(next_attempt_at=NOW), DELETED),
        (invoice(next_attempt_at=NOW), customer(methods=())),
        (
            invoice(next_attempt_at=NOW),
            customer(methods=(Method("pm", "card", "", "", None, "", is_default=False, version=1),)),
        ),
    ],
)
def test_what_is_not_due_or_is_for_people_is_not_charged(found: Invoice, payer: Any) -> None:
    assert due_retry(found, payer, NOW) is None


def test_nothing_is_renewed_twice() -> None:
    renewed = subscription(plan=BASIC, **due().subscription)
    assert plan_due(snapshot(now=END, subscription=renewed)) is None
