"""Pausing, resuming, cancelling and keeping a subscription. Pure.

The fields of ``Effect.subscription`` have the names of the table; a plan is given by its id.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from agentops.kernel.clock import isoformat
from agentops.registry.tool import Change, Preview, Result
from billing_agent.connectors.checks import known_customer, present_customer, target_of
from billing_agent.connectors.effect import Effect, Snapshot, conflict, invalid, missing
from billing_agent.connectors.periods import Period, day_of
from billing_agent.connectors.port import (
    CancelSubscription,
    KeepSubscription,
    PauseSubscription,
    ResumeSubscription,
)
from billing_agent.connectors.records import Customer, Subscription, SubscriptionStatus

LONGEST_REASON = 300
FIELD = "subscription_id"


def plan_pause(snapshot: Snapshot, write: PauseSubscription) -> Effect:
    """Plan a pause of an active subscription, from now until a day or until somebody resumes it."""
    customer, subscription = known_customer(snapshot), known_subscription(snapshot)
    if subscription.status is not SubscriptionStatus.ACTIVE:
        raise conflict(f"{_named(subscription)} is {_status(subscription)}; only an active one is paused.", FIELD)
    require_running(snapshot, subscription)
    require_staying(subscription)
    if write.until is not None and write.until <= snapshot.now.astimezone(UTC).date():
        raise invalid("The day on which it goes on lies after today.", "until")
    resumes_at = None if write.until is None else datetime.combine(write.until, time(), UTC)
    if resumes_at is None:
        until, end = "until somebody resumes it", "later, by the days of the pause"
    else:
        until = f"until {resumes_at.date()}"
        end = shown(_moved(subscription, snapshot.now, resumes_at).end)
    return Effect(
        preview=_preview(
            snapshot,
            customer,
            f"Pause {subscription.words} of {customer.name} {until}; nothing is billed meanwhile",
            _status_change(subscription, SubscriptionStatus.PAUSED),
            Change("Goes on", "", "when somebody resumes it" if resumes_at is None else shown(resumes_at)),
            Change("Period ends", shown(subscription.period_end), end),
        ),
        result=result_of(subscription, SubscriptionStatus.PAUSED)
        | {"resumes_at": "" if resumes_at is None else isoformat(resumes_at)},
        subscription={
            "status": SubscriptionStatus.PAUSED.value,
            "paused_at": snapshot.now,
            "resumes_at": resumes_at,
        },
    )


def plan_resume(snapshot: Snapshot, write: ResumeSubscription) -> Effect:
    """Plan the end of a pause. The period goes on: it is moved by the days that the pause took."""
    present_customer(snapshot)
    subscription = known_subscription(snapshot)
    if subscription.status is not SubscriptionStatus.PAUSED:
        raise conflict(f"{_named(subscription)} is {_status(subscription)}, not paused.", FIELD)
    due = subscription.resumes_at
    return resumed(snapshot, snapshot.now if due is None else min(due, snapshot.now))


def resumed(snapshot: Snapshot, at: datetime) -> Effect:
    """Return the effect of a paused subscription that goes on at ``at``. Raises ToolFailure NOT_FOUND."""
    customer, subscription = known_customer(snapshot), known_subscription(snapshot)
    period = _moved(subscription, subscription.paused_at or at, at)
    moved = period.end != subscription.period_end
    return Effect(
        preview=_preview(
            snapshot,
            customer,
            f"Resume {subscription.words} of {customer.name}; it is billed again from {period.end.date()} on",
            _status_change(subscription, SubscriptionStatus.ACTIVE),
            Change("Period ends", shown(subscription.period_end), shown(period.end)),
        ),
        result=result_of(subscription, SubscriptionStatus.ACTIVE) | {"period_end": isoformat(period.end)},
        subscription={
            "status": SubscriptionStatus.ACTIVE.value,
            "paused_at": None,
            "resumes_at": None,
            "period_start": period.start,
            "period_end": period.end,
            "anchor_day": period.end.day if moved else subscription.anchor_day,
        },
    )


def plan_cancel(snapshot: Snapshot, write: CancelSubscription) -> Effect:
    """Plan the end of a subscription: now, for good, or with its period, which can be taken back until then."""
    customer, subscription = known_customer(snapshot), known_subscription(snapshot)
    reason = _reason(write.reason)
    if subscription.status is SubscriptionStatus.CANCELLED:
        raise conflict(f"{_named(subscription)} is cancelled already.", FIELD)
    if write.now:
        return ended(
            snapshot,
            snapshot.now,
            reason,
            f"Cancel {subscription.words} of {customer.name} now, for good; nothing is given back",
        )
    if subscription.status is SubscriptionStatus.PAUSED:
        raise conflict(f"{_named(subscription)} is paused; cancel it now, or resume it first.", FIELD)
    require_running(snapshot, subscription)
    require_staying(subscription)
    end = subscription.period_end
    return Effect(
        preview=_preview(
            snapshot,
            customer,
            f"Cancel {subscription.words} of {customer.name} when its period ends, on {end.date()}",
            Change("Ends", "", shown(end)),
            Change("Reason", "", reason),
        ),
        result=result_of(subscription, subscription.status) | {"cancel_at": isoformat(end)},
        subscription={"cancel_at": end, "cancel_reason": reason},
    )


def ended(snapshot: Snapshot, at: datetime, reason: str | None, effect: str) -> Effect:
    """Return the effect of a subscription that ends at ``at``, said in the sentence ``effect``.

    ``reason`` None keeps the one on record. What was still to come is dropped. Raises ToolFailure NOT_FOUND.
    """
    customer, subscription = known_customer(snapshot), known_subscription(snapshot)
    upcoming = subscription.next_plan
    fields: Mapping[str, Any] = {
        "status": SubscriptionStatus.CANCELLED.value,
        "cancelled_at": at,
        "cancel_at": None,
        "next_plan": None,
        "paused_at": None,
        "resumes_at": None,
    }
    return Effect(
        preview=_preview(
            snapshot,
            customer,
            effect,
            _status_change(subscription, SubscriptionStatus.CANCELLED),
            *(() if upcoming is None else (Change("Plan after this period", upcoming.name, ""),)),
            *(() if subscription.cancel_at is None else (Change("Ends", shown(subscription.cancel_at), ""),)),
            *(() if reason is None else (Change("Reason", "", reason),)),
        ),
        result=result_of(subscription, SubscriptionStatus.CANCELLED),
        subscription=fields if reason is None else {**fields, "cancel_reason": reason},
    )


def plan_keep(snapshot: Snapshot, write: KeepSubscription) -> Effect:
    """Plan that a subscription goes on which was to end with its period."""
    customer, subscription = present_customer(snapshot), known_subscription(snapshot)
    if subscription.status is SubscriptionStatus.CANCELLED:
        raise conflict(f"{_named(subscription)} is cancelled; that cannot be taken back.", FIELD)
    if subscription.cancel_at is None:
        raise conflict(f"{_named(subscription)} is not about to end.", FIELD)
    if subscription.cancel_at <= snapshot.now:
        raise conflict(f"{_named(subscription)} has ended on {subscription.cancel_at.date()}.", FIELD)
    return Effect(
        preview=_preview(
            snapshot,
            customer,
            f"Keep {subscription.words} of {customer.name}; it does not end on {subscription.cancel_at.date()}",
            Change("Ends", shown(subscription.cancel_at), ""),
        ),
        result=result_of(subscription, subscription.status),
        subscription={"cancel_at": None, "cancel_reason": ""},
    )


def known_subscription(snapshot: Snapshot) -> Subscription:
    """Return the subscription in question. Raises ToolFailure NOT_FOUND."""
    if snapshot.subscription is None:
        raise missing("subscription", FIELD)
    return snapshot.subscription


def require_running(snapshot: Snapshot, subscription: Subscription) -> None:
    """Raise ToolFailure CONFLICT when the period is over, and the next one is yet to be billed."""
    if subscription.period_end <= snapshot.now:
        raise conflict(f"The period of {subscription.words} is over; the next one is billed first.", FIELD)


def require_staying(subscription: Subscription) -> None:
    """Raise ToolFailure CONFLICT for a subscription that ends with its period."""
    if subscription.cancel_at is not None:
        words = f"{_named(subscription)} ends on {subscription.cancel_at.date()}; take that back first."
        raise conflict(words, FIELD)


def result_of(subscription: Subscription, status: SubscriptionStatus) -> Result:
    """Return what every result says of the subscription."""
    return {"subscription_id": subscription.ref, "status": status.value, "former_status": subscription.status.value}


def shown(moment: datetime) -> str:
    """Return a moment as a person reads it, to the minute."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _moved(subscription: Subscription, paused_at: datetime, at: datetime) -> Period:
    """Return the period, later by the UTC days from ``paused_at`` to ``at``."""
    days = max(day_of(at) - day_of(paused_at), timedelta())
    return Period(subscription.period_start + days, subscription.period_end + days)


def _reason(text: str) -> str:
    reason = text.strip()
    if not reason:
        raise invalid("A cancellation has a reason.", "reason")
    if len(reason) > LONGEST_REASON:
        raise invalid(f"A reason has at most {LONGEST_REASON} characters.", "reason")
    return reason


def _preview(snapshot: Snapshot, customer: Customer, effect: str, *changes: Change) -> Preview:
    return Preview(effect=effect, target=target_of(customer), changes=changes, versions=snapshot.versions())


def _status_change(subscription: Subscription, status: SubscriptionStatus) -> Change:
    return Change("Status", _status(subscription), status.value.replace("_", " "))


def _status(subscription: Subscription) -> str:
    return subscription.status.value.replace("_", " ")


def _named(subscription: Subscription) -> str:
    return f"Subscription {subscription.ref}"
