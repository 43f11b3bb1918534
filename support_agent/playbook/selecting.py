"""Which orders and which of their lines a wish is about (pure)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentops.registry.offline.looking import Unclear
from support_agent.playbook.catalogue import Mention, Variant, mentions, named_in, options_said
from support_agent.playbook.details import BOTH, EXCEPT, KEEPS_ALL, methods_named, names_unknown_method
from support_agent.playbook.facts import Desk, Line, Person, Purchase
from support_agent.playbook.wishes import Wish

_TURN = re.compile(r"\b(?:to|for|into|with|by)\b", re.IGNORECASE)
_THAT_ORDER = re.compile(
    r"\b(?:my|the|this|that|an|entire|whole) (?:\w+ ){0,2}?(?:order|purchase|package|parcel|delivery)\b", re.I
)


@dataclass(frozen=True)
class Picked:
    """A line of an order, with the words that were said about it."""

    order: Purchase
    line: Line
    words: str


def orders_of(wish: Wish, desk: Desk) -> tuple[Purchase, ...]:
    """Return the orders that ``wish`` names, otherwise all orders of the customer."""
    if wish.order_ids:
        return tuple(desk.order(written) for written in wish.order_ids)
    return desk.orders()


def one_order(wish: Wish, desk: Desk, fits: Callable[[Purchase], bool]) -> Purchase:
    """Return the order that is meant: the named one, the one that holds the named thing, or the only fitting one.

    Raises Unclear.
    """
    orders = orders_of(wish, desk)
    if wish.order_ids:
        if len(orders) > 1:
            raise Unclear("several orders are named for one wish")
        return orders[0]
    holding = [order for order in orders if fits(order) and _holds_named(wish.all_words, order)]
    candidates = holding or [order for order in orders if fits(order)]
    if len(candidates) != 1:
        raise Unclear(f"no order is named and {len(candidates)} could be meant")
    return candidates[0]


def _holds_named(text: str, order: Purchase) -> bool:
    return bool(mentions(text, [line.name for line in order.lines]))


def pick_lines(wish: Wish, orders: Sequence[Purchase]) -> tuple[Picked, ...]:
    """Return the lines that ``wish`` names, out of ``orders``. Raises Unclear when that is not certain."""
    if KEEPS_ALL.search(wish.words):
        return _all_lines(wish, orders)
    names = [line.name for order in orders for line in order.lines]
    text = wish.words
    found = _meant(text, names)
    if not found:
        text = wish.before
        found = _meant(text, names)
    if not found:
        return _only_line(wish, orders)
    if any(len(mention.names) > 1 for mention in found):
        raise Unclear("it cannot be told which of several products is meant")
    picked: list[Picked] = []
    for name in dict.fromkeys(mention.names[0] for mention in found):
        picked += _lines_named(name, _said_about(name, text, found), text, orders)
    if text is wish.before:
        picked = [Picked(one.order, one.line, wish.words) for one in picked]
    return tuple(picked)


_KEPT_AFTER = re.compile(
    r"\s+(?:itself )?(?:stays?|remains?|is (?:fine|ok(?:ay)?|good)|are (?:fine|ok(?:ay)?|good))\b", re.IGNORECASE
)
_KEPT_BEFORE = re.compile(
    r"\b(?:keep(?:ing)?|leave|not|nothing about)\s+(?:(?:the|my|that|this)\s+)?(?:\w+\s+)?\Z", re.IGNORECASE
)


def _meant(text: str, names: Sequence[str]) -> tuple[Mention, ...]:
    """Return the mentions of things, without those that are said to stay as they are."""
    return tuple(
        mention
        for mention in mentions(text, names)
        if not _KEPT_AFTER.match(text, mention.end) and not _KEPT_BEFORE.search(text[: mention.start])
    )


def _said_about(name: str, text: str, found: Sequence[Mention]) -> list[str]:
    """Return the pieces of text from each mention of ``name`` to the next mention of anything.

    The words right in front of a mention belong to it as well ("the blue cotton shirt").
    """
    pieces = []
    for index, mention in enumerate(found):
        if mention.names[0] != name:
            continue
        begin = found[index - 1].end if index else 0
        lead = re.split(r"[,;.]|\b(?:and|to|for|into)\b", text[begin : mention.start])[-1]
        until = found[index + 1].start if index + 1 < len(found) else len(text)
        pieces.append(f"{lead}{text[mention.start : until]}")
    return pieces


def _lines_named(name: str, pieces: Sequence[str], text: str, orders: Sequence[Purchase]) -> list[Picked]:
    said = " ".join(pieces)
    every = [Picked(order, line, said) for order in orders for line in order.lines if line.name == name]
    if len(every) == 1:
        return every
    each = [_fitting(every, piece) for piece in pieces]
    if (
        len(pieces) > 1
        and all(len(fitting) == 1 for fitting in each)
        and len({fitting[0].line.item_id for fitting in each}) == len(each)
    ):
        return [Picked(fitting[0].order, fitting[0].line, piece) for fitting, piece in zip(each, pieces, strict=True)]
    fitting = _fitting(every, said)
    if fitting and len({(one.order.id, one.line.item_id) for one in fitting}) == 1:
        return fitting[:1]
    if not fitting and BOTH.search(text) and len({one.order.id for one in every}) == 1:
        return every
    raise Unclear(f"there are {len(every)} of {name} and it is not said which")


def _fitting(every: Sequence[Picked], said: str) -> list[Picked]:
    """Return the lines whose options are those that are said of the old thing; none when nothing is said."""
    old = said.partition("}")[0] if "{" in said else _TURN.split(said, maxsplit=1)[0]
    named = options_said(old, [Variant(one.line.item_id, one.line.options, 0, available=True) for one in every])
    return [
        one
        for one in every
        if named and all(one.line.options.get(option) in values for option, values in named.items())
    ]


def _all_lines(wish: Wish, orders: Sequence[Purchase]) -> tuple[Picked, ...]:
    if len(orders) != 1:
        raise Unclear("everything is meant, but not which order")
    order = orders[0]
    kept_back: set[str] = set()
    exception = EXCEPT.search(wish.words)
    if exception:
        named, clear = named_in(wish.words[exception.end() :], [line.name for line in order.lines])
        kept_back = set(named)
        if not named or not clear or sum(line.name in kept_back for line in order.lines) != len(kept_back):
            raise Unclear("it is not clear what is to be kept")
    return tuple(Picked(order, line, wish.words) for line in order.lines if line.name not in kept_back)


def _only_line(wish: Wish, orders: Sequence[Purchase]) -> tuple[Picked, ...]:
    if len(orders) == 1 and len(orders[0].lines) == 1:
        return (Picked(orders[0], orders[0].lines[0], wish.words),)
    if len(orders) == 1 and wish.order_ids and _THAT_ORDER.search(wish.words):
        return tuple(Picked(orders[0], line, wish.words) for line in orders[0].lines)
    raise Unclear("it is not said which items are meant")


def method_for(words: str, order: Purchase, person: Person) -> str:
    """Return the payment method to use: the one that is named, otherwise the order's own. Raises Unclear."""
    named = methods_named(words, person.methods)
    if len(named) > 1:
        raise Unclear("several payment methods fit the words")
    if names_unknown_method(words, person.methods):
        raise Unclear("a payment method is named that is not on record")
    if named:
        return named[0].id
    if "original" in words.lower() or person.method(order.original_method_id) is not None:
        return order.original_method_id
    raise Unclear("the order's own payment method is not on record any more")
