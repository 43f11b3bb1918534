"""What a subscription becomes later, phase by phase: https://docs.stripe.com/api/subscription_schedules."""

from collections.abc import Mapping
from typing import Any

from tests.factories.fake_stripe import subscription_ends
from tests.factories.fake_stripe.errors import invalid, refused
from tests.factories.fake_stripe.lists import listed
from tests.factories.fake_stripe.params import INT, META, MOMENT, RANGE, STR, merged, read, require_one_of
from tests.factories.fake_stripe.periods import following
from tests.factories.fake_stripe.prorating import BEHAVIORS, planned
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.subscriptions import item_list
from tests.factories.fake_stripe.world import Obj, World, changed_fields

_ITEM = {"price": STR, "quantity": INT, "tax_rates": [STR], "metadata": META}
_PHASE = {
    "items": [_ITEM],
    "start_date": MOMENT,
    "end_date": MOMENT,
    "duration": {"interval": STR, "interval_count": INT},
    "proration_behavior": STR,
    "collection_method": STR,
    "default_payment_method": STR,
    "default_tax_rates": [STR],
    "description": STR,
    "metadata": META,
}


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Make the schedule of a subscription that exists; its one phase is the current period."""
    asked = read(form, {"from_subscription": STR, "metadata": META}, needs=("from_subscription",))
    subscription = world.find("subscription", asked["from_subscription"], "from_subscription")
    if subscription["schedule"]:
        raise refused(
            f"You cannot migrate a subscription that is already attached to a schedule: `{subscription['schedule']}`.",
        )
    if subscription["status"] in ("canceled", "incomplete_expired", "incomplete"):
        raise refused(f"You cannot migrate a subscription that is {subscription['status']}.")
    rows = subscription["items"]["data"]
    start, end = rows[0]["current_period_start"], rows[0]["current_period_end"]
    items = [{"price": each["price"]["id"], "quantity": each["quantity"]} for each in rows]
    rates = [rate["id"] for rate in subscription["default_tax_rates"]]
    schedule = world.add(
        {
            "id": world.new_id("sub_sched"),
            "object": "subscription_schedule",
            "application": None,
            "billing_mode": subscription["billing_mode"],
            "canceled_at": None,
            "completed_at": None,
            "created": world.now,
            "current_phase": {"start_date": start, "end_date": end},
            "customer": subscription["customer"],
            "default_settings": _settings(subscription),
            "end_behavior": "release",
            "livemode": world.live,
            "metadata": merged({}, asked.get("metadata")),
            "pause_schedules": [],
            "phases": [_phase(world, {"items": items, "default_tax_rates": rates}, start, end)],
            "released_at": None,
            "released_subscription": None,
            "status": "active",
            "subscription": subscription["id"],
            "test_clock": None,
        }
    )
    subscription["schedule"] = schedule["id"]
    world.effect("subscription_schedule.created", schedule)
    world.effect("customer.subscription.updated", subscription, {"schedule": None})
    return schedule


def _settings(subscription: Obj) -> Obj:
    return {
        "application_fee_percent": None,
        "automatic_tax": {"disabled_reason": None, "enabled": False, "liability": None},
        "billing_cycle_anchor": "automatic",
        "billing_thresholds": None,
        "collection_method": subscription["collection_method"],
        "default_payment_method": subscription["default_payment_method"],
        "description": None,
        "invoice_settings": {"account_tax_ids": None, "days_until_due": None, "issuer": {"type": "self"}},
        "on_behalf_of": None,
        "transfer_data": None,
    }


def _phase(world: World, asked: Mapping[str, Any], start: int, end: int) -> Obj:
    items = []
    for each in asked["items"]:
        price = world.find("price", each.get("price") or "", "phases[items][price]")
        if not price["active"] or price["recurring"] is None:
            raise invalid("The price specified is inactive. This field only accepts active prices.", "phases")
        items.append(
            {
                "billing_thresholds": None,
                "discounts": [],
                "metadata": merged({}, each.get("metadata")),
                "price": price["id"],
                "quantity": 1 if each.get("quantity") is None else each["quantity"],
                "tax_rates": [world.find("tax_rate", rate) for rate in each.get("tax_rates") or ()],
            }
        )
    return {
        "add_invoice_items": [],
        "application_fee_percent": None,
        "billing_cycle_anchor": None,
        "billing_thresholds": None,
        "collection_method": asked.get("collection_method"),
        "currency": world.find("price", items[0]["price"])["currency"],
        "default_payment_method": asked.get("default_payment_method"),
        "default_tax_rates": [world.find("tax_rate", rate) for rate in asked.get("default_tax_rates") or ()],
        "description": asked.get("description"),
        "discounts": [],
        "end_date": end,
        "invoice_settings": None,
        "items": items,
        "metadata": merged({}, asked.get("metadata")),
        "on_behalf_of": None,
        "proration_behavior": asked.get("proration_behavior") or "create_prorations",
        "start_date": start,
        "transfer_data": None,
        "trial_end": None,
    }


def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change what is to come: phases follow each other, the first one is the current one."""
    shape = {"end_behavior": STR, "metadata": META, "phases": [_PHASE], "proration_behavior": STR}
    asked = read(form, shape)
    schedule = world.find("subscription_schedule", ref)
    _require_active(schedule)
    require_one_of(asked.get("end_behavior"), ("release", "cancel"), "end_behavior")
    require_one_of(asked.get("proration_behavior"), BEHAVIORS, "proration_behavior")
    before = dict(schedule)
    if asked.get("phases"):
        schedule["phases"] = _phases(world, schedule, asked["phases"])
        schedule["current_phase"] = {name: schedule["phases"][0][name] for name in ("start_date", "end_date")}
    schedule["metadata"] = merged(schedule["metadata"], asked.get("metadata"))
    schedule["end_behavior"] = asked.get("end_behavior") or schedule["end_behavior"]
    world.effect("subscription_schedule.updated", schedule, changed_fields(before, schedule))
    return schedule


def _phases(world: World, schedule: Obj, asked: list[Mapping[str, Any]]) -> list[Obj]:
    made: list[Obj] = []
    for number, each in enumerate(asked):
        if not each.get("items"):
            raise invalid(
                f"Missing required param: phases[{number}][items].", f"phases[{number}][items]", "parameter_missing"
            )
        start = (
            made[-1]["end_date"]
            if made
            else _moment(world, each.get("start_date")) or schedule["phases"][0]["start_date"]
        )
        if made and each.get("start_date") not in (None, start):
            raise invalid(
                "The start date of a phase must be the end date of the previous phase.", f"phases[{number}][start_date]"
            )
        if not made and start != schedule["phases"][0]["start_date"]:
            raise invalid("You can not modify the start date of the current phase.", "phases[0][start_date]")
        end = _moment(world, each.get("end_date")) or _lasting(world, each, start)
        if end <= start or (not made and end < world.now):
            raise invalid(
                "The end date of a phase must be after its start date and not in the past.",
                f"phases[{number}][end_date]",
            )
        made.append(_phase(world, each, start, end))
    return made


def _moment(world: World, value: int | str | None) -> int | None:
    return world.now if value == "now" else value if isinstance(value, int) else None


def _lasting(world: World, asked: Mapping[str, Any], start: int) -> int:
    duration = asked.get("duration") or {}
    price = world.find("price", asked["items"][0].get("price") or "", "phases[items][price]")
    lasts = duration if duration.get("interval") else price["recurring"]
    return following(start, {"interval": lasts["interval"], "interval_count": lasts.get("interval_count") or 1}, start)


def _require_active(schedule: Obj) -> None:
    if schedule["status"] not in ("active", "not_started"):
        raise refused(f"You cannot update a subscription schedule that is in the `{schedule['status']}` status.")


def let_go(world: World, schedule: Obj) -> None:
    """Leave the subscription as it is and end the schedule."""
    subscription = world.find("subscription", schedule["subscription"])
    schedule |= {
        "status": "released",
        "released_at": world.now,
        "released_subscription": subscription["id"],
        "subscription": None,
        "current_phase": None,
    }
    subscription["schedule"] = None
    world.effect("subscription_schedule.released", schedule)
    world.effect("customer.subscription.updated", subscription, {"schedule": schedule["id"]})


def release(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Leave the subscription as it is."""
    read(form, {"preserve_cancel_date": STR})
    schedule = world.find("subscription_schedule", ref)
    _require_active(schedule)
    let_go(world, schedule)
    return schedule


def cancel(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """End the schedule and its subscription."""
    read(form, {"invoice_now": STR, "prorate": STR})
    schedule = world.find("subscription_schedule", ref)
    _require_active(schedule)
    subscription_ends.end_now(world, world.find("subscription", schedule["subscription"]))
    world.effect("subscription_schedule.canceled", schedule)
    return schedule


def go_on(world: World, schedule: Obj) -> None:
    """Do what is due when the current phase is over."""
    over, *later = schedule["phases"]
    subscription = world.find("subscription", schedule["subscription"])
    if not later:
        if schedule["end_behavior"] == "cancel":
            subscription_ends.end_now(world, subscription)
        else:
            let_go(world, schedule)
        return
    phase = later[0]
    schedule |= {"phases": later, "current_phase": {name: phase[name] for name in ("start_date", "end_date")}}
    old = subscription["items"]["data"]
    changes: list[Mapping[str, Any]] = [
        {"id": old[0]["id"], "price": phase["items"][0]["price"], "quantity": phase["items"][0]["quantity"]}
    ]
    # At the end of a period nothing is left to prorate.
    plan = planned(world, subscription, changes, behavior="none", at=over["end_date"])
    if plan.restarts:
        subscription["billing_cycle_anchor"] = over["end_date"]
    for item in plan.items:
        # The renewal that is due at the same moment begins the new period.
        item |= {"current_period_start": old[0]["current_period_start"], "current_period_end": over["end_date"]}
    subscription["items"] = item_list(subscription["id"], plan.items)
    world.effect("subscription_schedule.updated", schedule, {})
    world.effect("customer.subscription.updated", subscription, {})


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return schedules."""
    return listed(
        world, "subscription_schedule", form, "/v1/subscription_schedules", {"customer": STR, "created": RANGE}
    )


ROUTES = [
    Route("POST", "/v1/subscription_schedules", create, "subscription"),
    Route("GET", "/v1/subscription_schedules", list_all, "subscription"),
    Route("GET", "/v1/subscription_schedules/{}", retrieving("subscription_schedule"), "subscription"),
    Route("POST", "/v1/subscription_schedules/{}", update, "subscription"),
    Route("POST", "/v1/subscription_schedules/{}/release", release, "subscription"),
    Route("POST", "/v1/subscription_schedules/{}/cancel", cancel, "subscription"),
]
