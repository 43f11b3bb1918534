"""From a reading and what was looked up to outcomes (pure)."""

from collections.abc import Callable, Mapping, Sequence

from agentops.registry.offline.alarms import STOPS_EVERYTHING, Alarm
from agentops.registry.offline.looking import CannotKnow, Unclear
from agentops.registry.offline.outcomes import Change, Handed, Outcome
from support_agent.playbook.facts import Desk, NoSuchOrder
from support_agent.playbook.money_wishes import credit, refund
from support_agent.playbook.order_wishes import cancel, change_address, change_payment, return_items, swap_items
from support_agent.playbook.outcomes import settle
from support_agent.playbook.questions import knowledge, order_status, product_question
from support_agent.playbook.wishes import CHANGES, Wish, WishKind

_RESOLVERS: Mapping[WishKind, Callable[[Wish, Desk], list[Outcome]]] = {
    WishKind.CANCEL: cancel,
    WishKind.RETURN: return_items,
    WishKind.SWAP: swap_items,
    WishKind.ADDRESS: change_address,
    WishKind.PAYMENT: change_payment,
    WishKind.REFUND: refund,
    WishKind.CREDIT: credit,
    WishKind.STATUS: order_status,
    WishKind.PRODUCT: product_question,
    WishKind.KNOWLEDGE: knowledge,
}
_ABOUT: Mapping[WishKind, str] = {
    WishKind.CANCEL: "your cancellation",
    WishKind.RETURN: "your return",
    WishKind.SWAP: "the exchange or change of items",
    WishKind.ADDRESS: "the change of address",
    WishKind.PAYMENT: "the change of payment",
    WishKind.REFUND: "your refund",
    WishKind.CREDIT: "the credit you ask for",
    WishKind.STATUS: "where your order is",
    WishKind.PRODUCT: "your question about a product",
    WishKind.KNOWLEDGE: "your question",
}


def outcomes_of(wishes: Sequence[Wish], alarms: Sequence[Alarm], desk: Desk) -> tuple[Outcome, ...]:
    """Return what becomes of every wish. Raises NotYetKnown while something has to be looked up.

    An alarm takes changes out of the playbook's hands; questions are still answered, unless the alarm
    stops everything.
    """
    why = " ".join(alarm.words for alarm in alarms)
    if not wishes or any(alarm.kind in STOPS_EVERYTHING for alarm in alarms):
        return (Handed("your message", why or "The text does not say what is wanted."),)
    found: list[tuple[Wish, list[Outcome]]] = [
        (wish, [Handed(_ABOUT[wish.kind], why)] if alarms and wish.kind in CHANGES else _resolved(wish, desk))
        for wish in wishes
    ]
    outcomes = [outcome for wish, own in found for outcome in _with_the_rest(wish, own, found)]
    if alarms and not any(isinstance(outcome, Handed) for outcome in outcomes):
        outcomes.append(Handed("your message", why))
    return settle(outcomes)


_ITEMS = frozenset({WishKind.RETURN, WishKind.SWAP})


def _with_the_rest(wish: Wish, own: list[Outcome], every: Sequence[tuple[Wish, list[Outcome]]]) -> list[Outcome]:
    """Hand over a change of items when another wish about items of that order goes to a person.

    An order's items can be changed, returned or exchanged once: doing half of it would bar the other half.
    """
    if wish.kind not in _ITEMS:
        return own
    left = [
        other
        for other, outcomes in every
        if other is not wish and other.kind in _ITEMS and any(isinstance(outcome, Handed) for outcome in outcomes)
    ]
    if any(not other.order_ids or not wish.order_ids or set(other.order_ids) & set(wish.order_ids) for other in left):
        why = "Another wish about items of this order needs a person, and items can be changed only once."
        return [Handed(_ABOUT[wish.kind], why) if isinstance(outcome, Change) else outcome for outcome in own]
    return own


def _resolved(wish: Wish, desk: Desk) -> list[Outcome]:
    try:
        return _RESOLVERS[wish.kind](wish, desk)
    except (Unclear, CannotKnow) as problem:
        why = f"{str(problem)[:1].upper()}{str(problem)[1:]}."
        return [Handed(_ABOUT[wish.kind], why, problem.words if isinstance(problem, NoSuchOrder) else "")]
