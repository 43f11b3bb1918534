"""Stripe's prices and subscriptions as plans and subscriptions. Pure."""

from billing_agent.connectors.periods import MONTH, YEAR
from billing_agent.connectors.records import Plan, Subscription, SubscriptionStatus
from billing_agent.connectors.stripe.amounts import from_stripe
from billing_agent.connectors.stripe.objects import KEY, Obj, known_moment, metadata_of, moment, ref_of, versioned

PAUSED_AT = "agentops_paused_at"
ENDED = frozenset({"canceled", "incomplete_expired"})
_STATUS = {
    "active": SubscriptionStatus.ACTIVE,
    "trialing": SubscriptionStatus.ACTIVE,
    "incomplete": SubscriptionStatus.PAST_DUE,
    "past_due": SubscriptionStatus.PAST_DUE,
    "unpaid": SubscriptionStatus.PAST_DUE,
    "paused": SubscriptionStatus.PAUSED,
    "canceled": SubscriptionStatus.CANCELLED,
    "incomplete_expired": SubscriptionStatus.CANCELLED,
}


def is_plan(price: Obj) -> bool:
    """Return whether a price is one of ours to sell: an amount for each unit of one calendar month or year."""
    recurring = price.get("recurring") or {}
    return (
        recurring.get("interval") in (MONTH, YEAR)
        and recurring.get("interval_count", 1) == 1
        and recurring.get("usage_type", "licensed") == "licensed"
        and price.get("billing_scheme", "per_unit") == "per_unit"
        and price.get("unit_amount") is not None
    )


def plan_of(price: Obj, product: Obj | None) -> Plan:
    """Return a price as a plan, called by its nickname or as its ``product`` is."""
    recurring = price.get("recurring") or {}
    count, interval = recurring.get("interval_count", 1), recurring.get("interval", "")
    name = price.get("nickname") or (product or {}).get("name") or price["id"]
    sold = bool(price.get("active", True)) and (product is None or bool(product.get("active", True)))
    return versioned(
        Plan(
            ref=price["id"],
            name=name[:200],
            interval=interval if count == 1 else f"{count} {interval}s",
            price=from_stripe(price.get("unit_amount") or 0, price["currency"]),
            active=sold and is_plan(price),
            version=0,
        )
    )


def items_of(obj: Obj) -> list[Obj]:
    """Return the items of a subscription."""
    return list(obj["items"]["data"])


def next_price(obj: Obj) -> str:
    """Return the id of the price that an expanded schedule brings after the current phase, empty when none comes."""
    schedule = obj.get("schedule")
    if not isinstance(schedule, dict) or schedule.get("status") not in ("active", "not_started"):
        return ""
    now = (schedule.get("current_phase") or {}).get("end_date")
    for phase in schedule.get("phases") or ():
        if now is not None and phase["start_date"] >= now and phase["items"]:
            coming = ref_of(phase["items"][0]["price"])
            return "" if coming == ref_of(items_of(obj)[0]["price"]) else coming
    return ""


def subscription_of(obj: Obj, plan: Plan, next_plan: Plan | None) -> Subscription:
    """Return a subscription; of several items the first one counts."""
    item = items_of(obj)[0]
    end = known_moment(item["current_period_end"])
    status = _STATUS[obj["status"]]
    pause = obj.get("pause_collection")
    if pause and status in (SubscriptionStatus.ACTIVE, SubscriptionStatus.PAST_DUE):
        status = SubscriptionStatus.PAUSED
    is_paused = status is SubscriptionStatus.PAUSED
    paused_at = metadata_of(obj).get(PAUSED_AT, "")
    ended = status is SubscriptionStatus.CANCELLED
    cancel_at = None if ended else moment(obj.get("cancel_at"))
    if cancel_at is None and obj.get("cancel_at_period_end") and not ended:
        cancel_at = end
    record = Subscription(
        ref=obj["id"],
        customer_ref=ref_of(obj["customer"]),
        plan=plan,
        next_plan=next_plan,
        quantity=item.get("quantity") or 1,
        status=status,
        anchor_day=known_moment(obj["billing_cycle_anchor"]).day,
        period_start=known_moment(item["current_period_start"]),
        period_end=end,
        cancel_at=cancel_at,
        paused_at=known_moment(int(paused_at)) if is_paused and paused_at.isdigit() else None,
        resumes_at=moment(pause.get("resumes_at")) if is_paused and pause else None,
        version=0,
    )
    return versioned(record, metadata_of(obj).get(KEY, ""))
