"""Wishes that change an order (pure): cancel, return, exchange, other items, address, payment."""

import re

from agentops.registry.offline.looking import Unclear
from agentops.registry.offline.outcomes import Change, Declined, Outcome
from support_agent.playbook.catalogue import mentions, target_of
from support_agent.playbook.details import Address, addresses_in, cancel_reason_in, methods_named
from support_agent.playbook.facts import Desk, Purchase
from support_agent.playbook.selecting import Picked, method_for, one_order, orders_of, pick_lines
from support_agent.playbook.wishes import Wish, order_ids_in

_EVERY_PENDING = re.compile(
    r"\b(?:all|both|every|each)\b(?: of)?(?: my| the| those)?(?: pending| open)?\s+orders?\b", re.IGNORECASE
)
_WHOLE = re.compile(r"\border(?!ed)s?\b|\b(?:everything|it all|the lot|whole thing)\b", re.IGNORECASE)


def cancel(wish: Wish, desk: Desk) -> list[Outcome]:
    """Cancel whole pending orders. One item out of several cannot be cancelled."""
    orders = _orders_to_cancel(wish, desk)
    return [_cancellation(order, wish) for order in orders]


def _orders_to_cancel(wish: Wish, desk: Desk) -> tuple[Purchase, ...]:
    if not wish.order_ids and _EVERY_PENDING.search(wish.words):
        pending = tuple(order for order in desk.orders() if order.is_pending)
        if not pending:
            raise Unclear("all pending orders are to be cancelled and there is none")
        return pending
    orders = orders_of(wish, desk) if wish.order_ids else (one_order(wish, desk, lambda order: order.is_pending),)
    if len(orders) == 1 and _only_a_part(wish, orders[0]):
        raise Unclear("a part of an order is to be cancelled; only whole orders can be")
    return orders


def _only_a_part(wish: Wish, order: Purchase) -> bool:
    named = {name for mention in mentions(wish.words, [line.name for line in order.lines]) for name in mention.names}
    whole = {line.name for line in order.lines}
    return bool(named) and named != whole and not re.search(r"\b(?:whole|entire|complete|full)\b", wish.words, re.I)


def _cancellation(order: Purchase, wish: Wish) -> Outcome:
    if not order.is_pending:
        return Declined(
            f"Order {order.id} cannot be cancelled, because it is {_state(order)}.",
            f"the cancellation of order {order.id}",
        )
    reason = cancel_reason_in(f"{_sentence_end(wish)} {wish.words}")
    return Change(
        "cancel_pending_order",
        {"order_id": order.id, "reason": reason},
        f"the cancellation of order {order.id}",
        f"Order {order.id} is cancelled. What you paid goes back the way you paid; a gift card has it at once, "
        "other ways take 5 to 7 business days.",
    )


def _sentence_end(wish: Wish) -> str:
    return re.split(r"[.!?]", wish.before)[-1]


def _state(order: Purchase) -> str:
    return {
        "processed": "already being shipped",
        "pending (item modified)": "already changed once",
        "return requested": "already being returned",
        "exchange requested": "already being exchanged",
        "cancelled": "already cancelled",
        "delivered": "already delivered",
    }.get(order.status, order.status)


_GETS_ANOTHER = re.compile(
    r"\b(?:get|send me|want|need)\b.{0,30}\b(?:same|another|new|replacement|instead)\b", re.IGNORECASE
)


def return_items(wish: Wish, desk: Desk) -> list[Outcome]:
    """Take back items of delivered orders."""
    if _GETS_ANOTHER.search(wish.words):
        raise Unclear("a return and a new item are asked for together")
    orders = orders_of(wish, desk)
    if not wish.order_ids:
        orders = tuple(order for order in orders if order.status == "delivered")
    if len(orders) == 1 and orders[0].status != "delivered":
        return [
            Declined(
                f"Items of order {orders[0].id} cannot be returned now, because it is {_not_delivered(orders[0])}.",
                f"the return of items of order {orders[0].id}",
            )
        ]
    picked = pick_lines(wish, orders)
    person = desk.person()
    found: list[Outcome] = []
    for order in _orders_in(picked):
        lines = [one.line for one in picked if one.order is order]
        names = _listed([line.name for line in lines])
        arguments = {
            "order_id": order.id,
            "item_ids": [line.item_id for line in lines],
            "payment_method_id": method_for(wish.words, order, person),
        }
        done = f"The return of {names} from order {order.id} is registered; an e-mail tells you how to send it back."
        found.append(Change("return_delivered_items", arguments, f"the return of {names} from order {order.id}", done))
    return found


def _not_delivered(order: Purchase) -> str:
    return "not delivered yet" if order.status.startswith("pending") or order.status == "processed" else _state(order)


def _orders_in(picked: tuple[Picked, ...]) -> list[Purchase]:
    return [
        order
        for index, order in enumerate(one.order for one in picked)
        if order not in [one.order for one in picked[:index]]
    ]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def swap_items(wish: Wish, desk: Desk) -> list[Outcome]:
    """Exchange items of delivered orders, change items of pending ones, each to the variant that is asked for."""
    orders = orders_of(wish, desk)
    if not wish.order_ids:
        orders = tuple(order for order in orders if order.status in ("pending", "delivered"))
    picked = pick_lines(wish, orders)
    closed = [order for order in _orders_in(picked) if order.status not in ("pending", "delivered")]
    if closed:
        return [
            Declined(
                f"The items of order {order.id} cannot be changed now, because it is {_state(order)}.",
                f"the change of items of order {order.id}",
            )
            for order in closed
        ]
    person = desk.person()
    return [_swap(one, method_for(wish.words, one.order, person), desk) for one in picked]


def _swap(one: Picked, method_id: str, desk: Desk) -> Change:
    _, _, variants = desk.variants(one.line.product_id)
    target = target_of(one.words, one.line.options, variants, one.line.item_id)
    wanted = f"{one.line.name} ({', '.join(target.options.values())})"
    arguments = {
        "order_id": one.order.id,
        "item_ids": [one.line.item_id],
        "new_item_ids": [target.item_id],
        "payment_method_id": method_id,
    }
    difference = target.price_minor - one.line.price_minor
    money = _difference(difference, one.order)
    if one.order.status == "delivered":
        done = (
            f"The exchange for {wanted} in order {one.order.id} is registered{money}; "
            "an e-mail tells you how to send the old one back."
        )
        return Change("exchange_delivered_items", arguments, f"the exchange in order {one.order.id}", done)
    done = f"Order {one.order.id} now holds {wanted}{money}."
    return Change("change_order_items", arguments, f"the change of items in order {one.order.id}", done)


def _difference(minor: int, order: Purchase) -> str:
    if minor == 0:
        return ", at the same price"
    return f", {order.money(abs(minor))} {'more' if minor > 0 else 'less'} than before"


_PROFILE = re.compile(
    r"\b(?:default|profile|account|user|home|billing)\b(?:\W+\w+){0,2}?\W+address\b|\baddress (?:on file"
    r"|in my (?:account|profile))\b",
    re.I,
)
_ORDER = re.compile(r"\b(?:orders?|package|parcel|delivery|shipment|shipping|it|them)\b", re.IGNORECASE)
_EVERY_ORDER = re.compile(r"\b(?:all|both|every|each)\b(?:\W+\w+){0,3}?\W+orders?\b", re.IGNORECASE)
_PLACES = {"nyc": "New York", "big apple": "New York", "la": "Los Angeles", "dc": "Washington", "sf": "San Francisco"}
_PLACE_OF = re.compile(
    r"\b(?:my|the)\s+(?:\w+\s+)?([A-Z][A-Za-z]+(?:\s[A-Z][A-Za-z]+)?)\s+(?:address|place|home|house)\b"
)


def change_address(wish: Wish, desk: Desk) -> list[Outcome]:
    """Send pending orders elsewhere, or change the customer's default address, or both."""
    new = _new_address(wish, desk)
    found: list[Outcome] = []
    profile = _PROFILE.search(wish.all_words) is not None
    if profile or not (wish.order_ids or _ORDER.search(wish.words)):
        found.append(
            Change(
                "change_customer_address",
                new.as_arguments(),
                "the change of your address",
                f"Your address is now {new}.",
            )
        )
    if wish.order_ids or _EVERY_ORDER.search(wish.words) or (not profile and _ORDER.search(wish.words)):
        found += [_redirected(order, new) for order in _orders_to_redirect(wish, desk)]
    return found


def _orders_to_redirect(wish: Wish, desk: Desk) -> tuple[Purchase, ...]:
    if wish.order_ids:
        return orders_of(wish, desk)
    if _EVERY_ORDER.search(wish.words):
        return tuple(order for order in desk.orders() if order.is_pending)
    return (one_order(wish, desk, lambda order: order.is_pending),)


def _redirected(order: Purchase, new: Address) -> Outcome:
    about = f"the new address of order {order.id}"
    if not order.is_pending:
        return Declined(
            f"Order {order.id} cannot go to another address any more, because it is {_state(order)}.", about
        )
    arguments = {"order_id": order.id, **new.as_arguments()}
    return Change("change_order_address", arguments, about, f"Order {order.id} will go to {new}.")


def _new_address(wish: Wish, desk: Desk) -> Address:
    """Return the address that is written out, that of another order, or the known one in a named place."""
    written = addresses_in(wish.words) or addresses_in(wish.before)
    if len(written) == 1:
        return written[0]
    if len(written) > 1:
        raise Unclear("several addresses are written and it is not clear which is the new one")
    same_as = re.search(r"\bsame as (?:(?:in|on|for|my|the|order)\s+)*(#?\s?[\w-]+)", wish.words, re.IGNORECASE)
    if same_as and (referred := order_ids_in(f"order {same_as.group(1)}")):
        return desk.order(referred[0]).address
    place = _PLACE_OF.search(wish.words)
    if place is None:
        raise Unclear("the new address is not written in full")
    city = _PLACES.get(place.group(1).lower(), place.group(1))
    known = {desk.person().address, *(order.address for order in desk.orders())}
    there = sorted((address for address in known if address.city.lower() == city.lower()), key=str)
    if len(there) != 1:
        raise Unclear(f"{len(there)} addresses on record are in the place that is named")
    return there[0]


def change_payment(wish: Wish, desk: Desk) -> list[Outcome]:
    """Pay a pending order with another method."""
    order = one_order(wish, desk, lambda order: order.is_pending)
    about = f"the payment of order {order.id}"
    if not order.is_pending:
        return [
            Declined(
                f"The payment of order {order.id} cannot be changed any more, because it is {_state(order)}.", about
            )
        ]
    named = [
        method for method in methods_named(wish.words, desk.person().methods) if method.id != order.original_method_id
    ]
    if len(named) != 1:
        raise Unclear(f"{len(named)} payment methods on record fit the words")
    arguments = {"order_id": order.id, "payment_method_id": named[0].id}
    return [Change("change_order_payment", arguments, about, f"Order {order.id} is now paid with {named[0]}.")]
