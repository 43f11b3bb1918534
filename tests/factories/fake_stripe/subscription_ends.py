"""How a subscription ends and goes on: https://docs.stripe.com/billing/subscriptions/cancel."""

from collections.abc import Mapping
from typing import Any

from tests.factories.fake_stripe import billing
from tests.factories.fake_stripe.periods import following
from tests.factories.fake_stripe.prorating import period_line, unused
from tests.factories.fake_stripe.world import Obj, World, changed_fields


def end_now(
    world: World,
    subscription: Obj,
    *,
    prorate: bool = False,
    invoice_now: bool = False,
    details: Mapping[str, Any] | None = None,
) -> None:
    """End a subscription for good."""
    if prorate:
        billing.wait(world, subscription, unused(subscription, world.now))
    subscription |= {
        "status": "canceled",
        "canceled_at": subscription["canceled_at"] or world.now,
        "ended_at": world.now,
        "cancellation_details": {**subscription["cancellation_details"], **(details or {})},
    }
    if subscription["schedule"]:
        schedule = world.find("subscription_schedule", subscription["schedule"])
        schedule |= {"status": "canceled", "canceled_at": world.now}
        subscription["schedule"] = None
    world.effect("customer.subscription.deleted", subscription)
    if invoice_now:
        billing.bill(world, subscription, "manual", ())


def renew(world: World, subscription: Obj) -> None:
    """Do what is due when the period of a subscription is over."""
    items = subscription["items"]["data"]
    end = items[0]["current_period_end"]
    if subscription["cancel_at_period_end"]:
        end_now(world, subscription)
        return
    before = dict(subscription)
    for each in items:
        each["current_period_start"] = end
        each["current_period_end"] = following(end, each["price"]["recurring"], subscription["billing_cycle_anchor"])
    world.effect("customer.subscription.updated", subscription, changed_fields(before, subscription))
    lines = [period_line(subscription, each) for each in items]
    if subscription["pause_collection"]:
        billing.paused(world, subscription, lines)
        return
    billing.bill(world, subscription, "subscription_cycle", lines)
