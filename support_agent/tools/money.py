"""Hard writes that give money: refunds of an order and goodwill credits."""

from agentops.registry.declare import (
    AMOUNT,
    CURRENCY,
    OUT_CURRENCY,
    OUT_REF,
    closed,
    integer,
    money,
    ref,
    text,
    undone_by,
)
from agentops.registry.tool import Arguments, DataClass, Tier, ToolSpec
from support_agent.connectors.money_rules import STOP_WINDOW
from support_agent.connectors.port import CreditCustomer, RefundOrder
from support_agent.tools import flows
from support_agent.tools.parts import METHOD_ID, ORDER_AND_METHOD, ORDER_ID, OWNER, previews, reconcile, runs

_REASON = text(500, "Why the customer gets it, for the person who reads the books.")
_UNDO = "can be stopped for 24 hours, before it is paid out"
_UNDO_CALL = undone_by("stop_payout", {"payout_id": "payout_id"})


def _refund(arguments: Arguments) -> RefundOrder:
    return RefundOrder(arguments["order_id"], money(arguments), arguments["payment_method_id"], arguments["reason"])


def _credit(arguments: Arguments) -> CreditCustomer:
    return CreditCustomer(money(arguments), arguments["payment_method_id"], arguments["reason"])


ISSUE_REFUND = ToolSpec(
    name="issue_refund",
    version=2,
    owner=OWNER,
    description=(
        "Gives back part or all of what was paid for an order, to the payment method that paid for it or to one of the"
        " customer's gift cards. It is paid out after 24 hours, unless it is stopped; on a gift card the money"
        " is there at once. Never more than refundable_minor of lookup_order, and only in the order's"
        " currency. Does not cancel the order and does not take items back: use cancel_pending_order or"
        " return_delivered_items for that. The same refund is made once per ticket, however often it is proposed."
    ),
    input_schema=closed(
        {
            "order_id": ORDER_ID,
            "amount_minor": AMOUNT,
            "currency": CURRENCY,
            "payment_method_id": METHOD_ID,
            "reason": _REASON,
        }
    ),
    output_schema=closed(
        {
            "order_id": OUT_REF,
            "payment_method_id": OUT_REF,
            "amount_minor": integer(),
            "currency": OUT_CURRENCY,
            "refunded_minor": integer("All refunds of the order so far."),
            "refundable_minor": integer("What can still be refunded."),
            "payout_id": OUT_REF,
        }
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="desk:refunds:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.ISSUE_REFUND,
    run=runs(_refund),
    examples=(
        {
            "order_id": "#W1042",
            "amount_minor": 1200,
            "currency": "USD",
            "payment_method_id": "credit_card_1234567",
            "reason": "The mug arrived chipped.",
        },
    ),
    undo=_UNDO,
    undo_call=_UNDO_CALL,
    undo_within=STOP_WINDOW,
    preview=previews(_refund),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped=ORDER_AND_METHOD,
    identity=("order_id", "amount_minor", "currency", "payment_method_id"),
    money_family="refund",
    queue="refunds",
    tags=("money",),
    outcome="refunded",
    worst="pays out up to the order's total, undeserved",
    stopped_by=(
        "never more than was paid, only to the method that paid or the customer's gift card; more than $25 for one"
        " customer in one day asks, other currencies ask; the order must have been looked up; can be stopped for"
        " 24 hours"
    ),
)

ISSUE_CREDIT = ToolSpec(
    name="issue_credit",
    version=2,
    owner=OWNER,
    description=(
        "Puts goodwill money on one of the customer's gift cards, at once, in the card's currency. For apologies that"
        " belong to no order; money that was paid for an order goes back by issue_refund."
    ),
    input_schema=closed(
        {
            "amount_minor": AMOUNT,
            "currency": CURRENCY,
            "payment_method_id": ref("The id of one of the customer's gift cards."),
            "reason": _REASON,
        }
    ),
    output_schema=closed(
        {
            "payment_method_id": OUT_REF,
            "amount_minor": integer(),
            "currency": OUT_CURRENCY,
            "balance_minor": integer("The card's balance afterwards."),
            "payout_id": OUT_REF,
        }
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="desk:refunds:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.ISSUE_CREDIT,
    run=runs(_credit),
    examples=(
        {
            "amount_minor": 500,
            "currency": "USD",
            "payment_method_id": "gift_card_7654321",
            "reason": "Two late parcels in a row.",
        },
    ),
    undo=_UNDO,
    undo_call=_UNDO_CALL,
    undo_within=STOP_WINDOW,
    preview=previews(_credit),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped={"payment_method_id": "payment_method"},
    identity=("amount_minor", "currency", "payment_method_id"),
    money_family="refund",
    queue="refunds",
    tags=("money",),
    outcome="refunded",
    worst="puts money on the customer's gift card, undeserved",
    stopped_by=(
        "counts into the same daily sum as refunds; other currencies ask; can be stopped for 24 hours while it is"
        " not spent"
    ),
)

MONEY = (ISSUE_REFUND, ISSUE_CREDIT)
