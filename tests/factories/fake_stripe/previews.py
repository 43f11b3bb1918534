"""The invoice that would be made: https://docs.stripe.com/api/invoices/create_preview. Changes nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.factories.fake_stripe.balances import settle_currency
from tests.factories.fake_stripe.errors import invalid
from tests.factories.fake_stripe.invoice_items import SHAPE, draft_of, item, pending
from tests.factories.fake_stripe.invoice_shape import shaped, with_lines
from tests.factories.fake_stripe.lines import Draft
from tests.factories.fake_stripe.params import BOOL, INT, MOMENT, STR, read, require_one_of
from tests.factories.fake_stripe.periods import following
from tests.factories.fake_stripe.prorating import BEHAVIORS, ITEM, Planned, made_item, period_line, planned, unused
from tests.factories.fake_stripe.routing import Route
from tests.factories.fake_stripe.world import Obj, World

_DETAILS = {
    "billing_cycle_anchor": MOMENT,
    "cancel_at_period_end": BOOL,
    "cancel_now": BOOL,
    "default_tax_rates": [STR],
    "items": [ITEM],
    "proration_behavior": STR,
    "proration_date": INT,
}
_ITEM = {name: kind for name, kind in SHAPE.items() if name not in ("customer", "invoice", "subscription", "pricing")}
_SHAPE = {
    "currency": STR,
    "customer": STR,
    "invoice_items": [_ITEM | {"price": STR}],
    "preview_mode": STR,
    "subscription": STR,
    "subscription_details": _DETAILS,
}


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the next invoice, of a subscription as it would be after a change, or of items alone."""
    asked = read(form, _SHAPE)
    require_one_of(asked.get("preview_mode"), ("next", "recurring"), "preview_mode")
    details = asked.get("subscription_details") or {}
    require_one_of(details.get("proration_behavior"), BEHAVIORS, "subscription_details[proration_behavior]")
    series = world.series
    subscription = _asked_for(world, asked)
    customer = world.customer(asked.get("customer") or (subscription or {}).get("customer") or "")
    if subscription is not None and subscription["customer"] != customer["id"]:
        raise invalid("The subscription does not belong to the customer.", "subscription")
    drafts, reason = _drafts(world, customer, subscription, asked)
    if not drafts:
        raise invalid("No upcoming invoices for customer: " + customer["id"], None, "invoice_upcoming_none")
    settle_currency({**customer}, drafts[0].currency)
    given: dict[str, Any] = {"currency": drafts[0].currency, "billing_reason": reason}
    if subscription is not None:
        given |= {
            "subscription": subscription["id"],
            "collection_method": subscription["collection_method"],
            "days_until_due": subscription["days_until_due"],
            "default_tax_rates": details.get("default_tax_rates")
            or [rate["id"] for rate in subscription["default_tax_rates"]],
        }
    invoice = shaped(world, customer, given, ref=world.new_id("upcoming_in"))
    answer = with_lines(world, invoice, drafts, [world.new_id("il_tmp") for _ in drafts])
    answer["ending_balance"] = min(customer["balance"] + answer["total"], 0) if customer["balance"] <= 0 else 0
    # What a preview is made of uses no ids up: nothing has happened.
    world.series = series
    return answer


def _asked_for(world: World, asked: Mapping[str, Any]) -> Obj | None:
    """Return the subscription that is named, or the customer's that is billed next unless a new one is previewed."""
    if asked.get("subscription"):
        return world.find("subscription", asked["subscription"], "subscription")
    if (asked.get("subscription_details") or {}).get("items"):
        return None
    running = [
        each
        for each in world.all("subscription", customer=asked.get("customer"))
        if each["status"] not in ("canceled", "incomplete", "incomplete_expired")
    ]
    return min(running, default=None, key=lambda each: int(each["items"]["data"][0]["current_period_end"]))


def _drafts(world: World, customer: Obj, subscription: Obj | None, asked: Mapping[str, Any]) -> tuple[list[Draft], str]:
    details = asked.get("subscription_details") or {}
    extra = [_extra(world, customer, each) for each in asked.get("invoice_items") or ()]
    if subscription is None:
        code = (customer["currency"] or "usd") if not extra else extra[0].currency
        waiting = [draft_of(each) for each in pending(world, customer["id"], code)]
        return waiting + extra + _of_new(world, customer, details), "upcoming"
    if subscription["status"] in ("canceled", "incomplete_expired"):
        raise invalid("You cannot preview a canceled subscription.", "subscription")
    waiting = [draft_of(each) for each in pending(world, customer["id"], subscription["currency"], subscription["id"])]
    if details.get("cancel_now"):
        behavior = details.get("proration_behavior") or "create_prorations"
        at = details.get("proration_date") or world.now
        return [*waiting, *extra, *(unused(subscription, at) if behavior != "none" else ())], "upcoming"
    behavior = details.get("proration_behavior") or "create_prorations"
    plan = planned(
        world,
        subscription,
        details.get("items") or [],
        behavior=behavior,
        at=details.get("proration_date"),
        restarts=details.get("billing_cycle_anchor") == "now",
    )
    lines = [*waiting, *extra, *plan.prorations]
    if plan.restarts:
        return [*lines, *plan.billed(subscription)], "subscription_update"
    if behavior == "always_invoice" and plan.prorations:
        return lines, "subscription_update"
    return [*lines, *_next_period(subscription, plan)], "upcoming"


def _next_period(subscription: Obj, plan: Planned) -> Sequence[Draft]:
    if subscription["cancel_at_period_end"]:
        return ()
    anchor = subscription["billing_cycle_anchor"]
    later = []
    for each in plan.items:
        start = each["current_period_end"]
        end = following(start, each["price"]["recurring"], anchor)
        later.append(period_line(subscription, {**each, "current_period_start": start, "current_period_end": end}))
    return later


def _extra(world: World, customer: Obj, asked: Mapping[str, Any]) -> Draft:
    given = dict(asked)
    if given.get("price"):
        given["pricing"] = {"price": given.pop("price")}
    return draft_of(item(world, customer, given, world.new_id("ii")))


def _of_new(world: World, customer: Obj, details: Mapping[str, Any]) -> list[Draft]:
    start = world.now
    items = [made_item(world, "sub_preview", each, start, start) for each in details.get("items") or ()]
    rates = [world.find("tax_rate", rate, "default_tax_rates") for rate in details.get("default_tax_rates") or ()]
    shell = {"id": None, "default_tax_rates": rates}
    return [period_line(shell, each) for each in items]


ROUTES = [Route("POST", "/v1/invoices/create_preview", create, "invoice", "read")]
