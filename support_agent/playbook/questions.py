"""Questions (pure): where an order is, what is on sale, what the knowledge base says."""

import re

from agentops.kernel.money import Money
from agentops.registry.offline.looking import CannotKnow, Unclear
from agentops.registry.offline.outcomes import Outcome, Said
from support_agent.playbook.catalogue import Variant, named_in, options_said
from support_agent.playbook.facts import Desk, Purchase
from support_agent.playbook.selecting import orders_of
from support_agent.playbook.wishes import Wish

MOST_LISTED = 12
MOST_ORDERS_TOLD = 4
_CLOSED = frozenset({"delivered", "cancelled"})
_STATE_WORDS = {
    "pending": "has been received and is not shipped yet",
    "pending (item modified)": "has been received with your changes and is not shipped yet",
    "processed": "is on its way",
    "delivered": "was delivered",
    "cancelled": "was cancelled",
    "return requested": "is being returned",
    "exchange requested": "is being exchanged",
}
_NOT_HERE = re.compile(r"\b(?:never|not|n't|still waiting|missing|no sign)\b", re.IGNORECASE)


def order_status(wish: Wish, desk: Desk) -> list[Outcome]:
    """Tell state and tracking numbers of the orders that are named, or of those that are not finished."""
    orders = orders_of(wish, desk)
    if not wish.order_ids:
        named = tuple(order for order in orders if named_in(wish.all_words, [line.name for line in order.lines])[0])
        orders = named or tuple(order for order in orders if order.status not in _CLOSED)
    if not orders:
        raise Unclear("none of the orders is under way")
    if any(order.status == "delivered" for order in orders) and _NOT_HERE.search(wish.all_words):
        raise Unclear("the order shows as delivered, but the customer writes that it is not there")
    return [Said(_told(order), f"order {order.id}") for order in orders[:MOST_ORDERS_TOLD]]


def _told(order: Purchase) -> str:
    words = f"Order {order.id} {_STATE_WORDS.get(order.status, f'is {order.status}')}."
    if not order.tracking_ids:
        return f"{words} There is no tracking number yet." if order.status.startswith("pending") else words
    plural = "s" if len(order.tracking_ids) > 1 else ""
    return f"{words} Tracking number{plural}: {', '.join(order.tracking_ids)}."


_SOMETHING_FOR = re.compile(
    r"do you (?:have|sell|carry|stock)\b[^.?!]{0,80}?\w\s+for (?:the|my|a|an|your)\b", re.IGNORECASE
)
_COUNT = re.compile(r"\bhow many\b", re.IGNORECASE)


def product_question(wish: Wish, desk: Desk) -> list[Outcome]:
    """Tell which variants of a product are available, and at what price."""
    catalogue = desk.product_names()
    named, clear = named_in(wish.words, catalogue.values())
    if not named:
        named, clear = named_in(wish.before, catalogue.values())
    if not named or not clear or len(named) > 3:
        raise Unclear("it is not clear which product is asked about")
    if _SOMETHING_FOR.match(wish.words):
        raise Unclear("something that goes with a product is asked about, not the product")
    return [_range_of(name, wish.words, catalogue, desk) for name in named]


def _range_of(name: str, words: str, catalogue: dict[str, str], desk: Desk) -> Outcome:
    product_id = next(product_id for product_id, known in catalogue.items() if known == name)
    _, currency, variants = desk.variants(product_id)
    said = options_said(words, variants)
    fitting = [
        variant for variant in variants if all(variant.options[option] in values for option, values in said.items())
    ]
    available = [variant for variant in fitting if variant.available]
    wanted = f"{name} ({', '.join(value for values in said.values() for value in values)})" if said else name
    source = f"product {product_id}"
    if not available:
        return Said(f"{wanted} is not available at the moment.", source)
    if _COUNT.search(words):
        return Said(f"{len(available)} variants of {wanted} are available at the moment.", source)
    rows = "; ".join(_row(variant, currency) for variant in available[:MOST_LISTED])
    more = f" (and {len(available) - MOST_LISTED} more)" if len(available) > MOST_LISTED else ""
    return Said(f"{wanted} is available: {rows}{more}.", source)


def _row(variant: Variant, currency: str) -> str:
    return f"{', '.join(variant.options.values()) or 'one version'} at {Money(variant.price_minor, currency)}"


_FILLERS = """
a about able after all also am an and any are as ask asking at available be been before but by can company
could do does doing for from get give go going got had has have hello hey hi how i if in into is it its just
kind know let like long look looking make many may me more much must my need no not of offer on one or order
orders other our out own please policy question questions quick really shop should so some someone something
store sure take takes tell than thank thanks that the their them then there these they thing things this to
understand up us use using usually want wanted was we were what when where which while who whole why will with
wonder wondering work works would you your yours day days time still
"""
_EMPTY_WORDS = frozenset(_FILLERS.split())
MOST_QUERY_WORDS = 8
FEWEST_POINTS = 60
"""A passage answers a question when it covers so much of it; below that it only shares words with it."""
_BALANCE = re.compile(r"\bbalance\b|\bhow much\b.{0,40}\bleft on\b", re.IGNORECASE)


def keywords(text: str) -> tuple[str, ...]:
    """Return the words of a question that carry its meaning, lower case, each once."""
    words = re.findall(r"[a-z][a-z'-]{2,}", text.lower())
    bare = (re.sub(r"(?:'s|n't|'\w+)\Z", "", word) for word in words)
    return tuple(dict.fromkeys(word for word in bare if len(word) > 2 and word not in _EMPTY_WORDS))


def knowledge(wish: Wish, desk: Desk) -> list[Outcome]:
    """Answer from the knowledge base, or from the customer's own gift card. Raises Unclear when it says nothing."""
    if _BALANCE.search(wish.words) and re.search(r"\bgift ?card|\bGC\b", wish.words, re.IGNORECASE):
        return _balances(desk)
    wanted = keywords(wish.words)[:MOST_QUERY_WORDS]
    if not wanted:
        raise Unclear("the question has no words to look for")
    best = next(iter(desk.passages(" ".join(wanted))), None)
    if best is None or best.score < FEWEST_POINTS:
        raise Unclear("the knowledge base does not cover the question")
    return [Said(f"{best.title}: {' '.join(best.passage.split())}", f"knowledge base, {best.title}")]


def _balances(desk: Desk) -> list[Outcome]:
    cards = [method for method in desk.person().methods if method.balance_minor is not None]
    if not cards:
        raise CannotKnow("the customer has no gift card on record")
    return [
        Said(f"Your gift card {card.id} holds {Money(card.balance_minor or 0, card.currency)}.", "customer record")
        for card in cards
    ]
