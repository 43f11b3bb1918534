"""The processes of the support role as state charts: money back and the answer, changes of an order, returns (pure).

Steps are writes alone. Look-ups are free at any time, and what they told is what the guards ask for. A ticket may be
about several orders, so no step bars the next order; what bars a second step on the same order is a guard.

Taking something back is no step: it must be possible wherever a process stands, and after it.
"""

from collections.abc import Mapping
from typing import Any

from agentops.registry.process import Edge, Guard, ProcessFacts, ProcessSpec, outcomes_known

_SETTLES_ITEMS = frozenset(
    {"change_order_items", "cancel_pending_order", "return_delivered_items", "exchange_delivered_items"}
)


def _order_seen(facts: ProcessFacts) -> Mapping[str, Any] | None:
    """Return the order that the arguments name, as the session looked it up last."""
    order_id = facts.arguments["order_id"]
    return next((told for told in facts.told("lookup_order") if told["order_id"] == order_id), None)


def refundable(facts: ProcessFacts) -> str:
    """Require that the order was looked up and that so much of it can be given back."""
    order_id, order = facts.arguments["order_id"], _order_seen(facts)
    if order is None:
        return f"Order {order_id} was not looked up in this session; look it up before money goes back."
    if facts.arguments["currency"] != order["currency"]:
        return f"Order {order_id} was paid in {order['currency']}."
    if facts.arguments["amount_minor"] > order["refundable_minor"]:
        return f"The look-up of order {order_id} does not show so much that can still be refunded; look it up again."
    return ""


def own_gift_card(facts: ProcessFacts) -> str:
    """Require that the customer was looked up and has that gift card."""
    customer = next(facts.told("lookup_customer"), None)
    if customer is None:
        return "The customer was not looked up in this session; look the customer up before a credit."
    cards = {method["payment_method_id"] for method in customer["payment_methods"] if method["kind"] == "gift_card"}
    if facts.arguments["payment_method_id"] not in cards:
        return "The look-up of the customer does not show that gift card."
    return ""


def _requires(state: str, done: str) -> Guard:
    """Return the guard of a step that only an order in ``state`` can take, once an order.

    An order that was not looked up is left to the dry run, which reads the system of record.
    """

    def guard(facts: ProcessFacts) -> str:
        order_id, order = facts.arguments["order_id"], _order_seen(facts)
        for tool in _SETTLES_ITEMS:
            if any(told["order_id"] == order_id for told in facts.told(tool)):
                return f"Order {order_id} was settled by {tool} in this session; nothing more can be {done}."
        if order is not None and order["status"] != state:
            return f"Order {order_id} is {order['status']}; only a {state} order can be {done}."
        return ""

    return guard


_CHANGEABLE = _requires("pending", "changed")
_CANCELLABLE = _requires("pending", "cancelled")
_RETURNABLE = _requires("delivered", "returned or exchanged")
_REFUNDABLE_WORDS = "the order was looked up and shows that much"
_CARD_WORDS = "the customer was looked up and has the card"
_KNOWN = outcomes_known("escalate_ticket", "ticket")
_KNOWN_WORDS = "every outcome is known, or a person has the ticket"
_PENDING_WORDS = "as far as was seen the order is pending and not settled"
_DELIVERED_WORDS = "as far as was seen the order is delivered and not settled"

REFUND = ProcessSpec(
    name="refund",
    version=1,
    title="Money back and answer",
    initial="asked",
    final=frozenset({"told"}),
    edges=(
        Edge("refund", "asked", "refunded", "issue_refund", refundable, _REFUNDABLE_WORDS),
        Edge("credit", "asked", "refunded", "issue_credit", own_gift_card, _CARD_WORDS),
        Edge("refund again", "refunded", "refunded", "issue_refund", refundable, _REFUNDABLE_WORDS),
        Edge("credit as well", "refunded", "refunded", "issue_credit", own_gift_card, _CARD_WORDS),
        Edge("tell", "refunded", "told", "send_reply", _KNOWN, _KNOWN_WORDS),
        Edge("answer without money", "asked", "told", "send_reply", _KNOWN, _KNOWN_WORDS),
        Edge("tell more", "told", "told", "send_reply", _KNOWN, _KNOWN_WORDS),
        Edge("refund after the answer", "told", "refunded", "issue_refund", refundable, _REFUNDABLE_WORDS),
        Edge("credit after the answer", "told", "refunded", "issue_credit", own_gift_card, _CARD_WORDS),
    ),
)
"""A session that stops between the money and the answer has the money stopped: no customer was told of it."""

ORDER_CHANGE = ProcessSpec(
    name="order_change",
    version=1,
    title="Change of pending orders",
    initial="as placed",
    final=frozenset({"details changed", "settled"}),
    edges=(
        Edge("new address", "as placed", "details changed", "change_order_address", _CHANGEABLE, _PENDING_WORDS),
        Edge("other payment", "as placed", "details changed", "change_order_payment", _CHANGEABLE, _PENDING_WORDS),
        Edge("address too", "details changed", "details changed", "change_order_address", _CHANGEABLE, _PENDING_WORDS),
        Edge("payment too", "details changed", "details changed", "change_order_payment", _CHANGEABLE, _PENDING_WORDS),
        Edge("other items", "as placed", "settled", "change_order_items", _CHANGEABLE, _PENDING_WORDS),
        Edge("cancel", "as placed", "settled", "cancel_pending_order", _CANCELLABLE, _PENDING_WORDS),
        Edge("items last", "details changed", "settled", "change_order_items", _CHANGEABLE, _PENDING_WORDS),
        Edge("cancel another", "details changed", "settled", "cancel_pending_order", _CANCELLABLE, _PENDING_WORDS),
        Edge("items of another", "settled", "settled", "change_order_items", _CHANGEABLE, _PENDING_WORDS),
        Edge("cancel one more", "settled", "settled", "cancel_pending_order", _CANCELLABLE, _PENDING_WORDS),
        Edge("address of another", "settled", "details changed", "change_order_address", _CHANGEABLE, _PENDING_WORDS),
        Edge("payment of another", "settled", "details changed", "change_order_payment", _CHANGEABLE, _PENDING_WORDS),
    ),
    # Each wish stands by itself: that one was not carried out is no reason to take back another.
    compensates=False,
)

RETURN = ProcessSpec(
    name="return",
    version=1,
    title="Return or exchange",
    initial="asked",
    final=frozenset({"accepted"}),
    edges=(
        Edge("return", "asked", "accepted", "return_delivered_items", _RETURNABLE, _DELIVERED_WORDS),
        Edge("exchange", "asked", "accepted", "exchange_delivered_items", _RETURNABLE, _DELIVERED_WORDS),
        Edge("return of another", "accepted", "accepted", "return_delivered_items", _RETURNABLE, _DELIVERED_WORDS),
        Edge("exchange of another", "accepted", "accepted", "exchange_delivered_items", _RETURNABLE, _DELIVERED_WORDS),
    ),
    compensates=False,
)

PROCESSES = (REFUND, ORDER_CHANGE, RETURN)
