from datetime import date, datetime, timedelta
from typing import Any

import pytest

from billing_agent.connectors.port import (
    CancelSubscription,
    KeepSubscription,
    PauseSubscription,
    ResumeSubscription,
)
from billing_agent.connectors.records import Subscription, SubscriptionStatus
from billing_agent.connectors.renewing_rules import plan_due
from billing_agent.connectors.subscription_rules import plan_cancel, plan_keep, plan_pause, plan_resume
from tests.billing_agent.subscribers import DELETED, NOW, TEAM, at, paused, refusal, rows, snapshot, subscription

PAUSE = PauseSubscription("sub_1", date(2026, 12, 24))
RESUME = ResumeSubscription("sub_1")
AT_END = CancelSubscription("sub_1", now=False, reason="Too expensive")
NOW_FOR_GOOD = CancelSubscription("sub_1", now=True, reason="Too expensive")
KEEP = KeepSubscription("sub_1")
ENDING = subscription(cancel_at=at("2026-12-01"))
CANCELLED = subscription(status=SubscriptionStatus.CANCELLED)
OVER = subscription(period_start=at("2026-10-01"), period_end=at("2026-11-01"))
PAST_DUE = subscription(status=SubscriptionStatus.PAST_DUE)


def test_a_pause_until_a_day_moves_the_period_by_its_days() -> None:
    effect = plan_pause(snapshot(), PAUSE)
    assert effect.subscription == {"status": "paused", "paused_at": NOW, "resumes_at": at("2026-12-24")}
    assert effect.preview.effect == "Pause Basic of Dana Ash until 2026-12-24; nothing is billed meanwhile"
    assert effect.preview.target == "customer:cu_dana"
    assert effect.preview.versions == {"customer:cu_dana": 4, "subscription:sub_1": 7}
    assert effect.preview.money is None
    assert rows(effect) == [
        ("Status", "active", "paused"),
        ("Goes on", "", "2026-12-24 00:00 UTC"),
        ("Period ends", "2026-12-01 00:00 UTC", "2027-01-08 00:00 UTC"),
    ]
    assert effect.result == {
        "subscription_id": "sub_1",
        "status": "paused",
        "former_status": "active",
        "resumes_at": "2026-12-24T00:00:00.000000Z",
    }
    assert effect.entries == ()


def test_a_pause_without_a_day_waits_for_somebody() -> None:
    effect = plan_pause(snapshot(), PauseSubscription("sub_1", None))
    assert effect.subscription["resumes_at"] is None
    assert effect.result["resumes_at"] == ""
    assert rows(effect)[1:] == [
        ("Goes on", "", "when somebody resumes it"),
        ("Period ends", "2026-12-01 00:00 UTC", "later, by the days of the pause"),
    ]


@pytest.mark.parametrize("until", [date(2026, 11, 16), date(2020, 1, 1)])
def test_a_pause_ends_after_today(until: date) -> None:
    assert refusal(lambda: plan_pause(snapshot(), PauseSubscription("sub_1", until))) == (
        "VALIDATION",
        "The day on which it goes on lies after today.",
        "until",
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (CANCELLED, "Subscription sub_1 is cancelled; only an active one is paused."),
        (PAST_DUE, "Subscription sub_1 is past due; only an active one is paused."),
        (paused("2026-11-02"), "Subscription sub_1 is paused; only an active one is paused."),
        (OVER, "The period of Basic is over; the next one is billed first."),
        (ENDING, "Subscription sub_1 ends on 2026-12-01; take that back first."),
    ],
)
def test_only_what_runs_and_goes_on_is_paused(found: Subscription, words: str) -> None:
    assert refusal(lambda: plan_pause(snapshot(subscription=found), PAUSE)) == ("CONFLICT", words, "subscription_id")


def test_a_pause_within_the_period_moves_it_when_it_is_resumed() -> None:
    effect = plan_resume(snapshot(subscription=paused("2026-11-06T18:00")), RESUME)
    assert effect.subscription == {
        "status": "active",
        "paused_at": None,
        "resumes_at": None,
        "period_start": at("2026-11-11"),
        "period_end": at("2026-12-11"),
        "anchor_day": 11,
    }
    assert effect.preview.effect == "Resume Basic of Dana Ash; it is billed again from 2026-12-11 on"
    assert rows(effect) == [
        ("Status", "paused", "active"),
        ("Period ends", "2026-12-01 00:00 UTC", "2026-12-11 00:00 UTC"),
    ]
    assert effect.result["period_end"] == "2026-12-11T00:00:00.000000Z"


def test_a_pause_across_the_end_of_the_period_leaves_the_days_that_were_paid() -> None:
    effect = plan_resume(snapshot(now=at("2027-02-10T08:00"), subscription=paused("2026-11-21")), RESUME)
    # Ten days were left on the 21st of November, and are left on the 10th of February.
    assert effect.subscription["period_end"] == at("2027-02-20")
    assert effect.subscription["period_start"] == at("2027-01-21")
    assert effect.subscription["anchor_day"] == 20


def test_a_pause_within_a_day_moves_nothing_and_keeps_the_anchor() -> None:
    short = paused("2026-11-16T08:00", anchor_day=31, period_start=at("2026-10-31"), period_end=at("2026-11-30"))
    effect = plan_resume(snapshot(subscription=short), RESUME)
    assert effect.subscription["period_end"] == at("2026-11-30")
    assert effect.subscription["anchor_day"] == 31


def test_resuming_late_counts_to_the_day_that_was_agreed() -> None:
    due = paused("2026-11-06", resumes_at=at("2026-11-10"))
    assert plan_resume(snapshot(subscription=due), RESUME).subscription["period_end"] == at("2026-12-05")


def test_resuming_early_counts_to_today() -> None:
    early = paused("2026-11-06", resumes_at=at("2027-01-01"))
    assert plan_resume(snapshot(subscription=early), RESUME).subscription["period_end"] == at("2026-12-11")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"subscription": subscription()}, "Subscription sub_1 is active, not paused."),
        ({"subscription": CANCELLED}, "Subscription sub_1 is cancelled, not paused."),
    ],
)
def test_only_what_is_paused_is_resumed(fields: dict[str, Any], words: str) -> None:
    assert refusal(lambda: plan_resume(snapshot(**fields), RESUME)) == ("CONFLICT", words, "subscription_id")


def test_cancelled_with_its_period_it_ends_then_and_can_be_kept_until_then() -> None:
    effect = plan_cancel(snapshot(), AT_END)
    assert effect.subscription == {"cancel_at": at("2026-12-01"), "cancel_reason": "Too expensive"}
    assert effect.preview.effect == "Cancel Basic of Dana Ash when its period ends, on 2026-12-01"
    assert rows(effect) == [("Ends", "", "2026-12-01 00:00 UTC"), ("Reason", "", "Too expensive")]
    assert effect.result == {
        "subscription_id": "sub_1",
        "status": "active",
        "former_status": "active",
        "cancel_at": "2026-12-01T00:00:00.000000Z",
    }
    kept = plan_keep(snapshot(subscription=ENDING), KEEP)
    assert kept.subscription == {"cancel_at": None, "cancel_reason": ""}
    assert kept.preview.effect == "Keep Basic of Dana Ash; it does not end on 2026-12-01"
    assert rows(kept) == [("Ends", "2026-12-01 00:00 UTC", "")]
    assert kept.result == {"subscription_id": "sub_1", "status": "active", "former_status": "active"}


def test_cancelled_now_it_is_over_for_good_and_nothing_is_given_back() -> None:
    effect = plan_cancel(snapshot(subscription=subscription(next_plan=TEAM, cancel_at=at("2026-12-01"))), NOW_FOR_GOOD)
    assert effect.subscription == {
        "status": "cancelled",
        "cancelled_at": NOW,
        "cancel_at": None,
        "next_plan": None,
        "paused_at": None,
        "resumes_at": None,
        "cancel_reason": "Too expensive",
    }
    assert effect.preview.effect == "Cancel Basic of Dana Ash now, for good; nothing is given back"
    assert rows(effect) == [
        ("Status", "active", "cancelled"),
        ("Plan after this period", "Team", ""),
        ("Ends", "2026-12-01 00:00 UTC", ""),
        ("Reason", "", "Too expensive"),
    ]
    assert effect.result == {"subscription_id": "sub_1", "status": "cancelled", "former_status": "active"}
    assert (effect.entries, effect.new_credit, effect.preview.money) == ((), None, None)


@pytest.mark.parametrize("found", [PAST_DUE, paused("2026-11-02"), OVER])
def test_whatever_runs_or_rests_can_be_cancelled_now(found: Subscription) -> None:
    assert plan_cancel(snapshot(subscription=found), NOW_FOR_GOOD).result["status"] == "cancelled"


def test_past_due_can_be_cancelled_with_its_period() -> None:
    assert plan_cancel(snapshot(subscription=PAST_DUE), AT_END).result["status"] == "past_due"


@pytest.mark.parametrize(
    ("found", "write", "words"),
    [
        (CANCELLED, AT_END, "Subscription sub_1 is cancelled already."),
        (CANCELLED, NOW_FOR_GOOD, "Subscription sub_1 is cancelled already."),
        (ENDING, AT_END, "Subscription sub_1 ends on 2026-12-01; take that back first."),
        (paused("2026-11-02"), AT_END, "Subscription sub_1 is paused; cancel it now, or resume it first."),
        (OVER, AT_END, "The period of Basic is over; the next one is billed first."),
    ],
)
def test_it_is_cancelled_once_and_while_its_period_runs(
    found: Subscription, write: CancelSubscription, words: str
) -> None:
    assert refusal(lambda: plan_cancel(snapshot(subscription=found), write)) == ("CONFLICT", words, "subscription_id")


@pytest.mark.parametrize(
    ("reason", "words"), [("  ", "A cancellation has a reason."), ("x" * 301, "A reason has at most 300 characters.")]
)
def test_a_cancellation_says_why(reason: str, words: str) -> None:
    write = CancelSubscription("sub_1", now=True, reason=reason)
    assert refusal(lambda: plan_cancel(snapshot(), write)) == ("VALIDATION", words, "reason")


@pytest.mark.parametrize(
    ("found", "now", "words"),
    [
        (subscription(), NOW, "Subscription sub_1 is not about to end."),
        (CANCELLED, NOW, "Subscription sub_1 is cancelled; that cannot be taken back."),
        (ENDING, at("2026-12-01"), "Subscription sub_1 has ended on 2026-12-01."),
    ],
)
def test_only_what_is_about_to_end_is_kept(found: Subscription, now: datetime, words: str) -> None:
    assert refusal(lambda: plan_keep(snapshot(subscription=found, now=now), KEEP)) == (
        "CONFLICT",
        words,
        "subscription_id",
    )


def test_nothing_is_begun_for_a_deleted_customer_but_what_runs_can_be_ended() -> None:
    words = ("CONFLICT", "Dana Ash is deleted; nothing new is begun for them.", "customer_id")
    resting = paused("2026-11-02")
    assert refusal(lambda: plan_resume(snapshot(customer=DELETED, subscription=resting), RESUME)) == words
    assert refusal(lambda: plan_keep(snapshot(customer=DELETED, subscription=ENDING), KEEP)) == words
    assert plan_pause(snapshot(customer=DELETED), PAUSE).result["status"] == "paused"
    assert plan_cancel(snapshot(customer=DELETED), NOW_FOR_GOOD).result["status"] == "cancelled"


@pytest.mark.parametrize(
    ("rule", "write"), [(plan_pause, PAUSE), (plan_resume, RESUME), (plan_cancel, AT_END), (plan_keep, KEEP)]
)
def test_what_is_not_there_is_not_found(rule: Any, write: Any) -> None:
    assert refusal(lambda: rule(snapshot(subscription=None), write)) == (
        "NOT_FOUND",
        "There is no such subscription of this customer.",
        "subscription_id",
    )
    assert refusal(lambda: rule(snapshot(customer=None), write))[0] == "NOT_FOUND"


def test_the_preview_is_the_same_for_the_rest_of_the_day() -> None:
    later = NOW + timedelta(hours=14)
    for rule, write, found in (
        (plan_pause, PAUSE, subscription()),
        (plan_resume, RESUME, paused("2026-11-06T18:00")),
        (plan_cancel, AT_END, subscription()),
        (plan_cancel, NOW_FOR_GOOD, subscription()),
        (plan_keep, KEEP, ENDING),
    ):
        shown, again = (rule(snapshot(subscription=found, now=now), write).preview for now in (NOW, later))
        assert shown == again


def test_a_pause_that_ends_by_itself_comes_to_what_was_shown() -> None:
    shown = rows(plan_pause(snapshot(), PAUSE))[2][2]
    due = plan_due(snapshot(now=at("2026-12-27"), subscription=paused("2026-11-16T09:30", resumes_at=at("2026-12-24"))))
    assert due is not None
    assert rows(due)[1] == ("Period ends", "2026-12-01 00:00 UTC", shown)
