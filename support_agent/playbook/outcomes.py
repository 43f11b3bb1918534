"""Changes of orders that belong together, exclude each other, or have to come first (pure)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from agentops.registry.offline.outcomes import Change, Handed, Outcome, unique

_ORDER_OF_TOOLS = (
    "change_customer_address",
    "change_order_address",
    "change_order_payment",
    "cancel_pending_order",
    "change_order_items",
    "return_delivered_items",
    "exchange_delivered_items",
    "issue_refund",
    "issue_credit",
)
_ENDS_AN_ORDER = frozenset({"cancel_pending_order", "return_delivered_items", "exchange_delivered_items"})
_ONCE_AN_ORDER = frozenset({"change_order_items", "return_delivered_items", "exchange_delivered_items"})


def order_in(arguments: Mapping[str, Any]) -> str:
    """Return the order that a call touches, empty when it touches none."""
    return str(arguments.get("order_id", ""))


def settle(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """Join what has to be one call, hand over what contradicts itself, and put changes in a workable order.

    Items of one order are changed, returned or exchanged once only. After a cancellation, a return or an
    exchange nothing else can be done to that order. Address and payment come before items, because an order
    whose items were changed is settled.
    """
    every = unique(outcomes)
    joined = _joined([outcome for outcome in every if isinstance(outcome, Change)])
    clashing = {order_in(change.arguments) for change in joined if _clashes(change, joined)} - {""}
    kept = [change for change in joined if order_in(change.arguments) not in clashing]
    kept.sort(key=lambda change: _ORDER_OF_TOOLS.index(change.tool))
    handed = [
        Handed(change.about, "the wishes for this order exclude each other")
        for change in joined
        if order_in(change.arguments) in clashing
    ]
    return (*kept, *(outcome for outcome in every if not isinstance(outcome, Change)), *handed)


def _joined(changes: list[Change]) -> list[Change]:
    """Join the item lists of changes with one tool, order and payment method."""
    kept: list[Change] = []
    for change in changes:
        partner = next((known for known in kept if _belongs_with(known, change)), None)
        if partner is None:
            kept.append(change)
            continue
        lists = {
            name: [*value, *change.arguments[name]]
            for name, value in partner.arguments.items()
            if isinstance(value, list)
        }
        done = f"{partner.done} {change.done}"
        kept[kept.index(partner)] = replace(partner, arguments={**partner.arguments, **lists}, done=done)
    return kept


def _belongs_with(known: Change, change: Change) -> bool:
    keys = ("order_id", "payment_method_id")
    return (
        known.tool == change.tool
        and change.tool in _ONCE_AN_ORDER
        and all(known.arguments[key] == change.arguments[key] for key in keys)
    )


def _clashes(change: Change, changes: list[Change]) -> bool:
    order = order_in(change.arguments)
    others = [other for other in changes if other is not change and order_in(other.arguments) == order]
    if change.tool in _ENDS_AN_ORDER:
        return any(other.tool != "issue_refund" or change.tool == "cancel_pending_order" for other in others)
    return any(other.tool == change.tool and change.tool != "issue_refund" for other in others)
