"""What another price or quantity comes to in the middle of a period, by the second. Changes nothing.

https://docs.stripe.com/billing/subscriptions/prorations
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.factories.fake_stripe.errors import invalid, no_such, refused
from tests.factories.fake_stripe.lines import Draft, priced
from tests.factories.fake_stripe.params import BOOL, INT, META, STR, merged
from tests.factories.fake_stripe.periods import day_words, following, part
from tests.factories.fake_stripe.world import Obj, World

ITEM = {"id": STR, "price": STR, "quantity": INT, "deleted": BOOL, "tax_rates": [STR], "metadata": META}
BEHAVIORS = ("create_prorations", "always_invoice", "none")
MOST_ITEMS = 20


@dataclass(frozen=True)
class Planned:
    """A subscription after a change: its ``items``, the prorations, and whether a new period begins at ``at``."""

    items: list[Obj]
    prorations: tuple[Draft, ...]
    at: int
    restarts: bool

    def billed(self, subscription: Obj) -> tuple[Draft, ...]:
        """Return the lines of the period that begins with the change."""
        return tuple(period_line(subscription, each) for each in self.items) if self.restarts else ()


def made_item(world: World, subscription: str, asked: Mapping[str, Any], start: int, anchor: int) -> Obj:
    """Return an item of a subscription for the period that begins at ``start``. Raises ApiError."""
    price = world.find("price", asked.get("price") or "", "items[0][price]")
    if price["recurring"] is None:
        raise invalid(
            "The price specified is set to `type=one_time` but this field only accepts recurring prices.", "items"
        )
    if not price["active"]:
        raise invalid("The price specified is inactive. This field only accepts active prices.", "items[0][price]")
    quantity = 1 if asked.get("quantity") is None else asked["quantity"]
    if quantity < 0:
        raise invalid("Invalid non-negative integer", "items[0][quantity]", "parameter_invalid_integer")
    return {
        "id": world.new_id("si"),
        "object": "subscription_item",
        "billed_until": None,
        "billing_thresholds": None,
        "created": world.now,
        "current_period_end": following(start, price["recurring"], anchor),
        "current_period_start": start,
        "discounts": [],
        "metadata": merged({}, asked.get("metadata")),
        "price": copy.deepcopy(price),
        "quantity": quantity,
        "subscription": subscription,
        "tax_rates": [world.find("tax_rate", rate, "tax_rates") for rate in asked.get("tax_rates") or ()],
    }


def planned(
    world: World,
    subscription: Obj,
    changes: Sequence[Mapping[str, Any]],
    *,
    behavior: str = "create_prorations",
    at: int | None = None,
    restarts: bool = False,
) -> Planned:
    """Return what changes of items come to at a moment, now unless it is given. Raises ApiError."""
    rows = subscription["items"]["data"]
    start, end = rows[0]["current_period_start"], rows[0]["current_period_end"]
    at = world.now if at is None else at
    if not start <= at <= end:
        raise invalid("`proration_date` must be within the current billing period.", "proration_date")
    after = _changed(world, subscription, changes, at)
    if not after:
        raise refused("A subscription must have at least one active item.")
    if len({(each["price"]["recurring"]["interval"], each["price"]["currency"]) for each in after}) > 1:
        raise invalid("All items of a subscription have the same interval and currency.", "items")
    if after[0]["price"]["currency"] != subscription["currency"]:
        raise invalid(
            f"The price specified only supports `{after[0]['price']['currency']}`. This doesn't match the expected"
            f" currency: `{subscription['currency']}`.",
            "items",
        )
    restarts = restarts or after[0]["price"]["recurring"] != rows[0]["price"]["recurring"]
    for each in after:
        each["current_period_start"], each["current_period_end"] = start, end
        if restarts:
            each |= {"current_period_start": at, "current_period_end": following(at, each["price"]["recurring"], at)}
    prorations = () if behavior == "none" else _prorations(subscription, rows, after, at, restarts=restarts)
    return Planned(after, prorations, at, restarts)


def _changed(world: World, subscription: Obj, changes: Sequence[Mapping[str, Any]], at: int) -> list[Obj]:
    after = {each["id"]: copy.deepcopy(each) for each in subscription["items"]["data"]}
    for change in changes:
        ref = change.get("id")
        if ref is None:
            made = made_item(world, subscription["id"], change, at, subscription["billing_cycle_anchor"])
            after[made["id"]] = made
            continue
        if ref not in after:
            raise no_such("subscription item", ref, "items[0][id]")
        if change.get("deleted"):
            del after[ref]
            continue
        if change.get("price"):
            fresh = made_item(world, subscription["id"], change, at, subscription["billing_cycle_anchor"])
            after[ref]["price"] = fresh["price"]
        if change.get("quantity") is not None:
            after[ref]["quantity"] = change["quantity"]
        if "tax_rates" in change:
            after[ref]["tax_rates"] = [world.find("tax_rate", rate, "tax_rates") for rate in change["tax_rates"]]
    if len(after) > MOST_ITEMS:
        raise invalid(f"A subscription has at most {MOST_ITEMS} items.", "items")
    return list(after.values())


def _prorations(
    subscription: Obj, before: Sequence[Obj], after: Sequence[Obj], at: int, *, restarts: bool
) -> tuple[Draft, ...]:
    now = {each["id"]: each for each in after}
    then = {each["id"]: each for each in before}
    lines = []
    for ref in [*then, *(new for new in now if new not in then)]:
        old, new = then.get(ref), now.get(ref)
        if old is not None and new is not None and not restarts and _same(old, new):
            continue
        if old is not None:
            lines.append(_part(subscription, old, at, "Unused", -1))
        if new is not None and not restarts:
            lines.append(_part(subscription, new, at, "Remaining", 1))
    return tuple(line for line in lines if line.amount)


def _same(old: Obj, new: Obj) -> bool:
    return bool(old["price"]["id"] == new["price"]["id"] and old["quantity"] == new["quantity"])


def _part(subscription: Obj, each: Obj, at: int, word: str, sign: int) -> Draft:
    start, end = each["current_period_start"], each["current_period_end"]
    amount = sign * part(each["price"], each["quantity"], at, start, end)
    words = f"{word} time on {_words(each)} after {day_words(at)}"
    return _draft(subscription, each, amount, words, at, end, proration=True)


def _words(each: Obj) -> str:
    name = each["price"]["nickname"] or each["price"]["product"]
    return f"{each['quantity']} × {name}" if each["quantity"] != 1 else str(name)


def unused(subscription: Obj, at: int) -> tuple[Draft, ...]:
    """Return what is given back when a subscription ends at a moment."""
    return tuple(_part(subscription, each, at, "Unused", -1) for each in subscription["items"]["data"])


def period_line(subscription: Obj, each: Obj) -> Draft:
    """Return the line that pays for the current period of an item."""
    price = each["price"]
    words = f"{_words(each)} (per {price['recurring']['interval']})"
    start, end = each["current_period_start"], each["current_period_end"]
    return _draft(subscription, each, priced(price, each["quantity"]), words, start, end)


def _draft(
    subscription: Obj, each: Obj, amount: int, words: str, start: int, end: int, *, proration: bool = False
) -> Draft:
    rates = tuple(rate["id"] for rate in each["tax_rates"] or subscription["default_tax_rates"])
    return Draft(
        amount,
        each["price"]["currency"],
        words,
        start,
        end,
        each["quantity"],
        each["price"],
        subscription["id"],
        each["id"],
        None,
        proration,
        rates,
    )
