"""Wishes for money (pure): a refund for something that went wrong, a goodwill credit.

What is asked for is checked against the order; whether it may be given is for policy and people to decide.
"""

import re

from agentops.kernel.money import Money
from agentops.registry.offline.amounts import one_amount
from agentops.registry.offline.looking import Unclear
from agentops.registry.offline.outcomes import Change, Outcome
from support_agent.playbook.catalogue import mentions
from support_agent.playbook.details import KEEPS_ALL, methods_named, problem_in
from support_agent.playbook.facts import Desk, Line, Purchase
from support_agent.playbook.selecting import method_for, one_order
from support_agent.playbook.wishes import Wish

_NEEDS_DELIVERY = frozenset({"arrived damaged", "is faulty", "is not as described"})
_ARRIVED = frozenset({"delivered", "return requested", "exchange requested"})


def refund(wish: Wish, desk: Desk) -> list[Outcome]:
    """Give back an amount that is named, the price of the item that is named, or a payment made twice."""
    text = wish.all_words
    problem = problem_in(text)
    if not problem:
        raise Unclear("it is not said what went wrong")
    order = one_order(wish, desk, lambda order: order.status != "cancelled" and _holds(text, order))
    if order.status == "cancelled":
        raise Unclear("the order was cancelled, which gives the money back by itself")
    if problem in _NEEDS_DELIVERY and order.status not in _ARRIVED:
        raise Unclear(f"the customer writes that it {problem}, but the order is {order.status}")
    item = _item_named(wish.words, order) or _item_named(text, order)
    amount = _amount(wish, order, item, problem)
    if amount.minor > order.kept_minor:
        raise Unclear(
            f"{amount} is asked for, more than the {order.money(max(order.kept_minor, 0))} that is paid for the order"
        )
    if item is not None and problem != "charged twice" and amount.minor > item.price_minor:
        raise Unclear(f"{amount} is asked for, more than the {order.money(item.price_minor)} that the item cost")
    method = method_for(wish.words, order, desk.person())
    named = f"{item.name} {problem}" if item is not None else f"order {problem}"
    arguments = {
        "order_id": order.id,
        "amount_minor": amount.minor,
        "currency": amount.currency,
        "payment_method_id": method,
        "reason": f"{named}, as the customer writes",
    }
    paid_to = desk.person().method(method)
    return [
        Change(
            "issue_refund",
            arguments,
            f"the refund for order {order.id}",
            f"{{amount}} for order {order.id} goes back to {paid_to or 'the way you paid'}.",
        )
    ]


def _holds(text: str, order: Purchase) -> bool:
    names = [line.name for line in order.lines]
    return bool(mentions(text, names)) or not re.search(r"\bmy (?!money|order|refund|card|account|payment)\w+", text)


def _item_named(text: str, order: Purchase) -> Line | None:
    named = {name for mention in mentions(text, [line.name for line in order.lines]) for name in mention.names}
    lines = [line for line in order.lines if line.name in named]
    return lines[0] if len(lines) == 1 else None


def _amount(wish: Wish, order: Purchase, item: Line | None, problem: str) -> Money:
    if problem == "charged twice":
        return _paid_twice(order)
    named = one_amount(wish.words, wish.before)
    if named is not None:
        if named.currency != order.currency:
            raise Unclear(f"{named} is asked for, but the order is in {order.currency}")
        if named.minor < 1:
            raise Unclear("no amount above zero is asked for")
        return named
    if item is not None and problem != "arrived late":
        return order.money(item.price_minor)
    if KEEPS_ALL.search(wish.all_words) and problem in ("is missing", "arrived damaged"):
        return order.money(order.kept_minor)
    raise Unclear("it is not said how much is asked for")


def _paid_twice(order: Purchase) -> Money:
    """Return the payment that stands twice in the order's history and was not given back."""
    paid = [entry for entry in order.entries if entry.kind == "payment"]
    back = [entry for entry in order.entries if entry.kind == "refund"]
    for index, entry in enumerate(paid):
        if entry in paid[:index]:
            if any(gone.amount_minor == entry.amount_minor for gone in back):
                raise Unclear("the second payment was given back already")
            return order.money(entry.amount_minor)
    raise Unclear("the customer writes of two charges; the order's history shows one")


def credit(wish: Wish, desk: Desk) -> list[Outcome]:
    """Put a goodwill amount that is named on the customer's gift card."""
    named = one_amount(wish.words, wish.before)
    if named is None or named.minor < 1:
        raise Unclear("a credit is asked for without an amount")
    cards = [method for method in desk.person().methods if method.kind == "gift_card"]
    spoken = [method for method in methods_named(wish.words, cards) if method in cards]
    chosen = spoken if len(spoken) == 1 else cards
    if len(chosen) != 1:
        raise Unclear(f"the customer has {len(cards)} gift cards to put a credit on")
    if named.currency != chosen[0].currency:
        raise Unclear(f"{named} is asked for, but the gift card is in {chosen[0].currency}")
    for written in wish.order_ids[:1]:
        desk.order(written)
    arguments = {
        "amount_minor": named.minor,
        "currency": named.currency,
        "payment_method_id": chosen[0].id,
        "reason": f"goodwill: {problem_in(wish.all_words) or 'asked for by the customer'}",
    }
    return [Change("issue_credit", arguments, "the goodwill credit", f"{{amount}} has been added to {chosen[0]}.")]
