"""Subscriptions: https://docs.stripe.com/api/subscriptions."""

import copy
from collections.abc import Mapping
from typing import Any

from tests.factories.fake_stripe import billing, subscription_ends
from tests.factories.fake_stripe.balances import settle_currency
from tests.factories.fake_stripe.errors import invalid, refused
from tests.factories.fake_stripe.invoice_shape import AUTOMATIC, SENT
from tests.factories.fake_stripe.lists import page, searched, within
from tests.factories.fake_stripe.params import (
    BOOL,
    INT,
    LIST,
    META,
    MOMENT,
    RANGE,
    STR,
    merged,
    read,
    require_one_of,
)
from tests.factories.fake_stripe.prorating import BEHAVIORS, ITEM, made_item, period_line, planned
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World, changed_fields

PAYMENT_BEHAVIORS = ("allow_incomplete", "default_incomplete", "error_if_incomplete", "pending_if_incomplete")
_DETAILS = {"comment": STR, "feedback": STR}
_FIELDS = {
    "cancel_at_period_end": BOOL,
    "collection_method": STR,
    "days_until_due": INT,
    "default_payment_method": STR,
    "default_tax_rates": [STR],
    "description": STR,
    "items": [ITEM],
    "metadata": META,
    "off_session": BOOL,
    "payment_behavior": STR,
    "proration_behavior": STR,
}

_BLANK: Obj = {
    "object": "subscription",
    "application": None,
    "application_fee_percent": None,
    "automatic_tax": {"disabled_reason": None, "enabled": False, "liability": None},
    "billing_cycle_anchor_config": None,
    "billing_mode": {"flexible": None, "type": "classic"},
    "billing_schedules": [],
    "billing_thresholds": None,
    "cancel_at": None,
    "canceled_at": None,
    "cancellation_details": {"comment": None, "feedback": None, "reason": None},
    "default_source": None,
    "discounts": [],
    "ended_at": None,
    "invoice_settings": {"account_tax_ids": None, "issuer": {"type": "self"}},
    "latest_invoice": None,
    "next_pending_invoice_item_invoice": None,
    "on_behalf_of": None,
    "pause_collection": None,
    "payment_settings": {"payment_method_options": None, "payment_method_types": None},
    "pending_invoice_item_interval": None,
    "pending_setup_intent": None,
    "pending_update": None,
    "schedule": None,
    "status": "active",
    "test_clock": None,
    "transfer_data": None,
    "trial_end": None,
    "trial_settings": {"end_behavior": {"missing_payment_method": "create_invoice"}},
    "trial_start": None,
}
"""What a subscription says before anything is known of it."""


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Make a subscription, with its first invoice."""
    own = {"customer": STR, "currency": STR, "backdate_start_date": INT, "billing_cycle_anchor": INT}
    asked = read(form, _FIELDS | own, needs=("customer", "items"))
    _checked(asked)
    customer = world.customer(asked["customer"])
    start = asked.get("backdate_start_date") or world.now
    anchor = asked.get("billing_cycle_anchor") or start
    ref = world.new_id("sub")
    items = [made_item(world, ref, each, start, anchor) for each in asked["items"]]
    settle_currency(customer, items[0]["price"]["currency"])
    if asked.get("default_payment_method"):
        world.find("payment_method", asked["default_payment_method"], "default_payment_method")
    subscription = world.add(_shaped(world, ref, customer, items, asked, start, anchor))
    world.effect("customer.subscription.created", subscription)
    return _first_paid(world, subscription, asked.get("payment_behavior") or "allow_incomplete")


def _first_paid(world: World, subscription: Obj, behavior: str) -> Obj:
    lines = [period_line(subscription, each) for each in subscription["items"]["data"]]
    later = behavior == "default_incomplete"
    subscription["status"] = "incomplete" if subscription["collection_method"] == AUTOMATIC else "active"
    refusal = billing.bill(world, subscription, "subscription_create", lines, collect=not later)
    if refusal is not None and behavior == "error_if_incomplete":
        for kind, each in (("subscription", subscription["id"]), ("invoice", subscription["latest_invoice"])):
            del world.records[kind][each]
        raise refusal
    return subscription


def _checked(asked: Mapping[str, Any]) -> None:
    require_one_of(asked.get("proration_behavior"), BEHAVIORS, "proration_behavior")
    require_one_of(asked.get("payment_behavior"), PAYMENT_BEHAVIORS, "payment_behavior")
    require_one_of(asked.get("collection_method"), (AUTOMATIC, SENT), "collection_method")


def _shaped(
    world: World, ref: str, customer: Obj, items: list[Obj], asked: Mapping[str, Any], start: int, anchor: int
) -> Obj:
    return {
        **copy.deepcopy(_BLANK),
        "id": ref,
        "billing_cycle_anchor": anchor,
        "cancel_at_period_end": asked.get("cancel_at_period_end", False),
        "collection_method": asked.get("collection_method") or AUTOMATIC,
        "created": world.now,
        "currency": items[0]["price"]["currency"],
        "customer": customer["id"],
        "days_until_due": asked.get("days_until_due"),
        "default_payment_method": asked.get("default_payment_method"),
        "default_tax_rates": [
            world.find("tax_rate", rate, "default_tax_rates") for rate in asked.get("default_tax_rates") or ()
        ],
        "description": asked.get("description"),
        "items": item_list(ref, items),
        "livemode": world.live,
        "metadata": merged({}, asked.get("metadata")),
        "start_date": start,
    }


def item_list(ref: str, items: list[Obj]) -> Obj:
    """Return the list of a subscription's items."""
    url = f"/v1/subscription_items?subscription={ref}"
    return {"object": "list", "data": items, "has_more": False, "total_count": len(items), "url": url}


def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change a subscription. Another price or quantity is prorated; another interval begins a new period now."""
    own = {
        "billing_cycle_anchor": MOMENT,
        "cancellation_details": _DETAILS,
        "pause_collection": {"behavior": STR, "resumes_at": INT},
        "proration_date": INT,
    }
    asked = read(form, _FIELDS | own)
    subscription = world.find("subscription", ref)
    _checked(asked)
    _require_changeable(world, subscription, asked)
    before = copy.deepcopy(subscription)
    behavior = asked.pop("proration_behavior", None) or "create_prorations"
    payment = asked.pop("payment_behavior", None) or "allow_incomplete"
    at, anchor = asked.pop("proration_date", None), asked.pop("billing_cycle_anchor", None)
    plan = None
    if asked.get("items") or anchor == "now":
        changes = asked.pop("items", None) or []
        plan = planned(world, subscription, changes, behavior=behavior, at=at, restarts=anchor == "now")
        subscription["items"] = item_list(ref, plan.items)
        if plan.restarts:
            subscription["billing_cycle_anchor"] = plan.at
    _set(world, subscription, asked)
    world.effect("customer.subscription.updated", subscription, changed_fields(before, subscription))
    if plan is not None:
        billing.wait(world, subscription, plan.prorations)
        if plan.restarts or (behavior == "always_invoice" and plan.prorations):
            refusal = billing.bill(world, subscription, "subscription_update", plan.billed(subscription))
            if refusal is not None and payment == "error_if_incomplete":
                raise refusal
    return subscription


def _require_changeable(world: World, subscription: Obj, asked: Mapping[str, Any]) -> None:
    if subscription["status"] in ("canceled", "incomplete_expired"):
        raise refused("A canceled subscription can only update its cancellation_details and metadata.")
    if subscription["schedule"] and "cancel_at_period_end" in asked:
        raise refused(
            f"The subscription is managed by the subscription schedule `{subscription['schedule']}`, and updating any"
            " cancelation behavior directly is not allowed. Please update the schedule instead."
        )
    pause = asked.get("pause_collection")
    if pause:
        require_one_of(pause.get("behavior"), ("keep_as_draft", "mark_uncollectible", "void"), "pause_collection")
        if pause.get("behavior") is None:
            raise invalid("Missing required param: pause_collection[behavior].", "pause_collection[behavior]")
    if asked.get("default_payment_method"):
        method = world.find("payment_method", asked["default_payment_method"], "default_payment_method")
        if method["customer"] != subscription["customer"]:
            raise invalid("The payment method must be attached to the customer.", "default_payment_method")


def _set(world: World, subscription: Obj, asked: dict[str, Any]) -> None:
    subscription["metadata"] = merged(subscription["metadata"], asked.pop("metadata", None))
    if "pause_collection" in asked:
        pause = asked.pop("pause_collection")
        subscription["pause_collection"] = pause and {
            "behavior": pause["behavior"],
            "resumes_at": pause.get("resumes_at"),
        }
    if "cancel_at_period_end" in asked:
        ends = asked["cancel_at_period_end"]
        end = subscription["items"]["data"][0]["current_period_end"]
        reason = "cancellation_requested" if ends else None
        subscription |= {"cancel_at": end if ends else None, "canceled_at": world.now if ends else None}
        subscription["cancellation_details"] = {**subscription["cancellation_details"], "reason": reason}
    if "cancellation_details" in asked:
        details = asked.pop("cancellation_details") or {}
        subscription["cancellation_details"] = {**subscription["cancellation_details"], **details}
    if "default_tax_rates" in asked:
        rates = [world.find("tax_rate", rate, "default_tax_rates") for rate in asked.pop("default_tax_rates")]
        subscription["default_tax_rates"] = rates
    asked.pop("off_session", None)
    asked.pop("items", None)
    subscription |= {name: None if value == "" else value for name, value in asked.items()}


def cancel(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """End a subscription now, for good."""
    asked = read(form, {"cancellation_details": _DETAILS, "invoice_now": BOOL, "prorate": BOOL})
    subscription = world.find("subscription", ref)
    if subscription["status"] in ("canceled", "incomplete_expired"):
        raise invalid(f"No such subscription: '{ref}'", "id", "resource_missing")
    subscription_ends.end_now(
        world,
        subscription,
        prorate=asked.get("prorate", False),
        invoice_now=asked.get("invoice_now", False),
        details={"reason": "cancellation_requested", **(asked.get("cancellation_details") or {})},
    )
    return subscription


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return subscriptions; those that have ended only when they are asked for."""
    shape = LIST | {"customer": STR, "status": STR, "price": STR, "collection_method": STR, "created": RANGE}
    asked = read(form, shape)
    states = ("active", "past_due", "unpaid", "canceled", "incomplete", "incomplete_expired", "trialing", "paused")
    require_one_of(asked.get("status"), (*states, "all", "ended"), "status")
    equal = {name: asked[name] for name in ("customer", "collection_method") if asked.get(name)}
    status = asked.get("status")

    def fits(each: Obj) -> bool:
        ended = each["status"] in ("canceled", "incomplete_expired")
        wanted = {None: not ended, "all": True, "ended": ended}.get(status, each["status"] == status)
        prices = [item["price"]["id"] for item in each["items"]["data"]]
        return wanted and within(each, asked) and (not asked.get("price") or asked["price"] in prices)

    return page(filter(fits, world.all("subscription", **equal)), asked, "/v1/subscriptions")


def search(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the subscriptions that a query finds."""
    return searched(world, "subscription", form, "/v1/subscriptions/search")


def list_items(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the items of a subscription."""
    asked = read(form, LIST | {"subscription": STR}, needs=("subscription",))
    subscription = world.find("subscription", asked["subscription"], "subscription")
    return page(subscription["items"]["data"], asked, "/v1/subscription_items")


ROUTES = [
    Route("GET", "/v1/subscriptions/search", search, "subscription"),
    Route("POST", "/v1/subscriptions", create, "subscription"),
    Route("GET", "/v1/subscriptions", list_all, "subscription"),
    Route("GET", "/v1/subscriptions/{}", retrieving("subscription"), "subscription"),
    Route("POST", "/v1/subscriptions/{}", update, "subscription"),
    Route("DELETE", "/v1/subscriptions/{}", cancel, "subscription"),
    Route("GET", "/v1/subscription_items", list_items, "subscription"),
]
