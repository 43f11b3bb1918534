from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount, Fields
from billing_agent.connectors.plan_change_rules import plan_change, plan_drop_change
from billing_agent.connectors.port import ChangePlan, DropPlanChange
from billing_agent.connectors.records import Subscription, SubscriptionStatus
from tests.billing_agent.subscribers import (
    BASIC,
    BASIC_YEARLY,
    DELETED,
    FREE,
    NOW,
    TEAM,
    at,
    credit,
    customer,
    paused,
    plan,
    postings,
    refusal,
    rows,
    snapshot,
    subscription,
    to,
    yearly,
)

DROP = DropPlanChange("sub_1")


def test_an_upgrade_bills_the_rest_of_the_period_less_the_unused_time() -> None:
    effect = plan_change(snapshot(plan=TEAM), to("team"))
    made = effect.new_invoice
    assert made is not None
    assert [(line.description, line.quantity, line.amount_minor, line.tax_minor) for line in made.lines] == [
        ("Unused time of Basic", 1, -1_500, -300),
        ("Rest of the period of Team", 1, 4_500, 900),
    ]
    assert all(line.proration for line in made.lines)
    assert {line.period for line in made.lines} == {(at("2026-11-16"), at("2026-12-01"))}
    assert (made.subscription_ref, made.memo, made.due_at) == ("sub_1", "Change to Team", NOW + timedelta(days=14))
    assert made.next_attempt_at is None
    assert effect.subscription == {"plan": "team", "quantity": 1, "next_plan": None}
    assert postings(effect) == [("invoice", {"receivable": 3_600, "revenue": -3_000, "tax": -600})]
    assert effect.new_credit is None
    assert effect.result == {
        "subscription_id": "sub_1",
        "status": "active",
        "former_status": "active",
        "plan_id": "team",
        "quantity": 1,
        "former_plan_id": "basic",
        "former_quantity": 1,
        "period_end": "2026-12-01T00:00:00.000000Z",
        "invoice_id": made.ref,
        "invoiced_minor": 3_600,
        "left_minor": 3_600,
        "credit_id": "",
        "credited_minor": 0,
        "currency": "EUR",
    }
    assert made.ref.startswith("in_")


def test_an_upgrade_shows_every_line_and_how_it_was_counted() -> None:
    preview = plan_change(snapshot(plan=TEAM, key=""), to("team")).preview
    assert preview.effect == "Change Basic of Dana Ash to Team now; invoice €36.00"
    assert preview.target == "customer:cu_dana"
    assert preview.money == Money(3_600, "EUR")
    assert preview.versions == {"customer:cu_dana": 4, "subscription:sub_1": 7, "plan:team": 1}
    assert [(row.label, row.before, row.after) for row in preview.changes] == [
        ("Plan", "Basic", "Team"),
        ("Price of a period", "€30.00", "€90.00"),
        ("Left to pay", "", "€36.00"),
        ("To be paid by", "", "2026-11-30"),
    ]
    assert preview.parts == (
        Fields(
            "How it is counted, from 2026-11-16 00:00 UTC on",
            (
                ("Price of a period", "€30.00", "€90.00"),
                ("Seconds of the period", "2,592,000", "2,592,000"),
                ("Seconds left", "1,296,000", "1,296,000"),
                ("Price of the time before", "€15.00", ""),
                ("Price of the time left", "€15.00", "€45.00"),
            ),
        ),
        Fields(
            "What it comes to",
            (
                ("Unused time of Basic", "", "-€15.00"),
                ("Tax: Unused time of Basic", "", "-€3.00"),
                ("Rest of the period of Team", "", "€45.00"),
                ("Tax: Rest of the period of Team", "", "€9.00"),
                ("Sum", "", "€36.00"),
            ),
        ),
        Amount("To be invoiced", 3_600, "EUR", (("Credit of the customer", 0, 0),)),
    )


def test_an_upgrade_uses_the_credit_that_is_left() -> None:
    effect = plan_change(snapshot(plan=TEAM, credits=(credit("cr_1", 1_000), credit("cr_2", 5_000))), to("team"))
    assert effect.credits == {"cr_1": 0, "cr_2": 2_400}
    assert effect.result["left_minor"] == 0
    assert postings(effect) == [
        ("invoice", {"receivable": 3_600, "revenue": -3_000, "tax": -600}),
        ("credit_used", {"customer_credit": 1_000, "receivable": -1_000}),
        ("credit_used", {"customer_credit": 2_600, "receivable": -2_600}),
    ]
    assert effect.preview.parts[-1] == Amount(
        "To be invoiced", 3_600, "EUR", (("Credit of the customer", 6_000, 2_400),)
    )


def test_a_downgrade_gives_credit_for_the_unused_time() -> None:
    effect = plan_change(snapshot(plan=BASIC, subscription=subscription(plan=TEAM)), to("basic"))
    made = effect.new_credit
    assert made is not None
    assert (made.amount_minor, made.left_minor, made.currency, made.reason) == (
        3_600,
        3_600,
        "EUR",
        "Unused time of Team",
    )
    assert postings(effect) == [("credit", {"revenue": 3_000, "tax": 600, "customer_credit": -3_600})]
    assert effect.entries[0].record_ref == made.ref
    assert effect.new_invoice is None
    assert effect.preview.effect == ("Change Team of Dana Ash to Basic now; give €36.00 of credit for unused time")
    assert effect.preview.money == Money(3_600, "EUR")
    assert effect.preview.parts[-1] == Amount("Given as credit", 3_600, "EUR", (("Credit of the customer", 0, 3_600),))
    assert (effect.result["credit_id"], effect.result["credited_minor"]) == (made.ref, 3_600)


def test_a_yearly_plan_that_becomes_monthly_begins_a_period_now_and_the_rest_becomes_credit() -> None:
    effect = plan_change(snapshot(plan=BASIC, subscription=yearly()), to("basic"))
    assert effect.subscription == {
        "plan": "basic",
        "quantity": 1,
        "next_plan": None,
        "period_start": at("2026-11-16"),
        "period_end": at("2026-12-16"),
        "anchor_day": 16,
    }
    # 46 of 365 days are left of 365.00; the first month costs 30.00; 20 % of tax on both.
    assert postings(effect) == [("credit", {"revenue": 1_600, "tax": 320, "customer_credit": -1_920})]
    assert rows(effect)[:5] == [
        ("Plan", "Basic yearly", "Basic"),
        ("Price of a period", "€365.00", "€30.00"),
        ("Billed every", "year", "month"),
        ("Period begins", "2026-01-01 00:00 UTC", "2026-11-16 00:00 UTC"),
        ("Period ends", "2027-01-01 00:00 UTC", "2026-12-16 00:00 UTC"),
    ]


def test_a_monthly_plan_that_becomes_yearly_is_billed_for_a_year_from_now_on() -> None:
    effect = plan_change(snapshot(plan=BASIC_YEARLY), to("basic_yearly", 2))
    assert effect.new_invoice is not None
    given_back, sold = effect.new_invoice.lines
    assert (given_back.amount_minor, given_back.period) == (-1_500, (at("2026-11-16"), at("2026-12-01")))
    assert (sold.description, sold.quantity, sold.unit_minor, sold.proration) == ("Basic yearly", 2, 36_500, False)
    assert sold.period == (at("2026-11-16"), at("2027-11-16"))
    assert effect.result["invoiced_minor"] == (73_000 - 1_500) * 6 // 5


def test_a_change_on_a_leap_day_begins_periods_on_the_29th() -> None:
    leap = yearly(period_start=at("2028-01-01"), period_end=at("2029-01-01"))
    effect = plan_change(snapshot(now=at("2028-02-29T12:00"), plan=BASIC, subscription=leap), to("basic"))
    assert (effect.subscription["period_end"], effect.subscription["anchor_day"]) == (at("2028-03-29"), 29)


def test_a_change_on_the_31st_begins_periods_on_the_last_days() -> None:
    effect = plan_change(snapshot(now=at("2026-08-31T12:00"), plan=BASIC, subscription=yearly()), to("basic"))
    assert (effect.subscription["period_end"], effect.subscription["anchor_day"]) == (at("2026-09-30"), 31)


def test_more_of_the_same_plan_is_billed_for_the_rest() -> None:
    effect = plan_change(snapshot(plan=BASIC), to("basic", 3))
    assert effect.result["invoiced_minor"] == 3_600
    assert rows(effect)[:2] == [("Quantity", "1", "3"), ("Price of a period", "€30.00", "€90.00")]
    assert effect.preview.effect == "Change Basic of Dana Ash to 3 × Basic now; invoice €36.00"


def test_to_a_plan_that_costs_nothing_the_unused_time_is_given_back() -> None:
    effect = plan_change(snapshot(plan=FREE), to("free"))
    assert postings(effect) == [("credit", {"revenue": 1_500, "tax": 300, "customer_credit": -1_800})]


def test_without_tax_no_line_of_tax_is_booked_or_shown() -> None:
    effect = plan_change(snapshot(customer=customer(tax_exempt=True), plan=TEAM), to("team"))
    assert postings(effect) == [("invoice", {"receivable": 3_000, "revenue": -3_000})]
    assert len(effect.preview.parts[1].as_json()["lines"]) == 3


def test_a_change_at_the_end_of_the_period_moves_no_money_now() -> None:
    effect = plan_change(snapshot(plan=BASIC_YEARLY), to("basic_yearly", now=False))
    assert effect.subscription == {"next_plan": "basic_yearly"}
    assert (effect.entries, effect.new_invoice, effect.new_credit, effect.preview.money) == ((), None, None, None)
    assert effect.preview.effect == (
        "Change Basic of Dana Ash to Basic yearly when the period ends, on 2026-12-01; no money moves now"
    )
    assert rows(effect) == [
        ("Plan after this period", "", "Basic yearly"),
        ("Price of a period", "€30.00", "€365.00"),
        ("Billed every", "month", "year"),
    ]
    assert effect.result == {
        "subscription_id": "sub_1",
        "status": "active",
        "former_status": "active",
        "plan_id": "basic",
        "next_plan_id": "basic_yearly",
        "changes_at": "2026-12-01T00:00:00.000000Z",
    }


def test_what_stays_the_same_is_not_shown_as_a_change() -> None:
    assert rows(plan_change(snapshot(plan=TEAM), to("team", now=False))) == [
        ("Plan after this period", "", "Team"),
        ("Price of a period", "€30.00", "€90.00"),
    ]


def test_a_change_that_was_to_come_is_dropped() -> None:
    effect = plan_drop_change(snapshot(subscription=subscription(next_plan=TEAM)), DROP)
    assert effect.subscription == {"next_plan": None}
    assert effect.preview.effect == "Keep Basic of Dana Ash; Team does not come with the next period"
    assert rows(effect) == [("Plan after this period", "Team", "")]
    assert effect.result == {
        "subscription_id": "sub_1",
        "status": "active",
        "former_status": "active",
        "plan_id": "basic",
        "quantity": 1,
        "former_next_plan_id": "team",
    }


@pytest.mark.parametrize("found", [subscription(), subscription(next_plan=TEAM, status=SubscriptionStatus.CANCELLED)])
def test_without_a_change_to_come_nothing_is_dropped(found: Subscription) -> None:
    assert refusal(lambda: plan_drop_change(snapshot(subscription=found), DROP)) == (
        "CONFLICT",
        "No other plan comes with the next period of subscription sub_1.",
        "subscription_id",
    )


@pytest.mark.parametrize(
    ("fields", "write", "expected"),
    [
        (
            {"plan": None},
            to("gone"),
            ("NOT_FOUND", "There is no such plan of this customer.", "plan_id"),
        ),
        (
            {"plan": plan("old", active=False)},
            to("old"),
            ("CONFLICT", "Old is not sold any more.", "plan_id"),
        ),
        (
            {"plan": plan("us", currency="USD")},
            to("us"),
            ("VALIDATION", "Us is sold in USD; Basic is billed in EUR.", "plan_id"),
        ),
        (
            {"plan": TEAM, "subscription": subscription(plan=plan("us", currency="USD"))},
            to("team"),
            ("VALIDATION", "Team is sold in EUR; Us is billed in USD.", "plan_id"),
        ),
        (
            {"plan": TEAM, "customer": customer(currency="CHF")},
            to("team"),
            ("VALIDATION", "Team is sold in EUR; Dana Ash is billed in CHF.", "plan_id"),
        ),
        (
            {"plan": BASIC},
            to("basic"),
            ("CONFLICT", "It is Basic already; there is nothing to change.", "plan_id"),
        ),
        (
            {"plan": TEAM},
            to("team", 0),
            ("VALIDATION", "The quantity is at least 1 and at most 100000.", "quantity"),
        ),
        (
            {"plan": TEAM},
            to("team", 100_001),
            ("VALIDATION", "The quantity is at least 1 and at most 100000.", "quantity"),
        ),
        (
            {"plan": plan("gold", 10**12)},
            to("gold", 100_000),
            ("VALIDATION", "That comes to more than any amount that is booked here.", "quantity"),
        ),
        (
            {"plan": TEAM},
            to("team", 2, now=False),
            ("VALIDATION", "Another quantity is possible now, not when the period ends.", "quantity"),
        ),
        (
            {"plan": TEAM, "subscription": subscription(status=SubscriptionStatus.CANCELLED)},
            to("team"),
            ("CONFLICT", "Subscription sub_1 is cancelled.", "subscription_id"),
        ),
        (
            {"plan": TEAM, "subscription": paused("2026-11-02")},
            to("team"),
            ("CONFLICT", "Subscription sub_1 is paused.", "subscription_id"),
        ),
        (
            {"plan": TEAM, "subscription": subscription(cancel_at=at("2026-12-01"))},
            to("team"),
            ("CONFLICT", "Subscription sub_1 ends on 2026-12-01; take that back first.", "subscription_id"),
        ),
        (
            {"plan": TEAM, "now": at("2026-12-01")},
            to("team"),
            ("CONFLICT", "The period of Basic is over; the next one is billed first.", "subscription_id"),
        ),
        (
            {"plan": BASIC, "subscription": subscription(plan=TEAM, status=SubscriptionStatus.PAST_DUE)},
            to("basic"),
            ("CONFLICT", "Team is not paid, so no unused time of it is given back now.", "subscription_id"),
        ),
        (
            {"plan": TEAM, "customer": DELETED},
            to("team"),
            ("CONFLICT", "Dana Ash is deleted; nothing new is begun for them.", "customer_id"),
        ),
        (
            {"plan": TEAM, "subscription": None},
            to("team"),
            ("NOT_FOUND", "There is no such subscription of this customer.", "subscription_id"),
        ),
    ],
)
def test_a_change_is_refused(fields: dict[str, Any], write: ChangePlan, expected: tuple[str, str, str | None]) -> None:
    assert refusal(lambda: plan_change(snapshot(**fields), write)) == expected


@pytest.mark.parametrize("now", [True, False])
def test_a_second_change_waits_until_the_first_is_taken_back(*, now: bool) -> None:
    coming = subscription(next_plan=BASIC_YEARLY)
    assert refusal(lambda: plan_change(snapshot(plan=TEAM, subscription=coming), to("team", now=now))) == (
        "CONFLICT",
        "Basic yearly comes with the next period already; take that back first.",
        "subscription_id",
    )


def test_past_due_can_be_changed_upwards_and_with_the_next_period() -> None:
    late = subscription(status=SubscriptionStatus.PAST_DUE)
    assert plan_change(snapshot(plan=TEAM, subscription=late), to("team")).result["status"] == "past_due"
    later = plan_change(snapshot(plan=FREE, subscription=late), to("free", now=False))
    assert later.subscription == {"next_plan": "free"}


def test_there_and_back_on_one_day_gives_back_what_was_billed() -> None:
    billed = plan_change(snapshot(plan=TEAM), to("team"))
    evening = NOW + timedelta(hours=12)
    back = plan_change(snapshot(now=evening, plan=BASIC, subscription=subscription(plan=TEAM)), to("basic"))
    assert back.result["credited_minor"] == billed.result["invoiced_minor"]


def test_the_preview_is_the_same_for_the_rest_of_the_day_and_for_the_write_itself() -> None:
    evening = NOW + timedelta(hours=14)
    for found, sold in ((subscription(), TEAM), (subscription(plan=TEAM), BASIC), (yearly(), BASIC)):
        given = snapshot(plan=sold, subscription=found, key="")
        carried_out = replace(given, now=evening, key="operation-2")
        write = to(sold.ref)
        assert plan_change(given, write).preview == plan_change(carried_out, write).preview
