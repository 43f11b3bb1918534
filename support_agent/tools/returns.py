"""Hard writes to delivered orders: returns and exchanges."""

from agentops.registry.declare import OUT_CURRENCY, OUT_REF, OUT_SIGNED, closed, integer, listed, text
from agentops.registry.tool import Arguments, DataClass
from support_agent.connectors.port import ExchangeItems, ReturnItems
from support_agent.tools import flows
from support_agent.tools.parts import (
    ITEM_IDS,
    MAX_ITEMS,
    METHOD_ID,
    NEW_ITEM_IDS,
    ORDER_AND_METHOD,
    ORDER_ID,
    order_write,
    previews,
    runs,
)

_OUT_ITEMS = listed(OUT_REF, MAX_ITEMS)


def _return(arguments: Arguments) -> ReturnItems:
    return ReturnItems(arguments["order_id"], tuple(arguments["item_ids"]), arguments["payment_method_id"])


def _exchange(arguments: Arguments) -> ExchangeItems:
    return ExchangeItems(
        arguments["order_id"],
        tuple(arguments["item_ids"]),
        tuple(arguments["new_item_ids"]),
        arguments["payment_method_id"],
    )


RETURN_DELIVERED_ITEMS = order_write(
    name="return_delivered_items",
    version=1,
    description=(
        "Accepts the return of items of a delivered order, once per order, so collect all items first. The refund goes"
        " to the method that paid for the order or to one of the customer's gift cards when the items arrive."
    ),
    input_schema=closed({"order_id": ORDER_ID, "item_ids": ITEM_IDS, "payment_method_id": METHOD_ID}),
    output_schema=closed(
        {
            "order_id": OUT_REF,
            "status": text(32),
            "item_ids": _OUT_ITEMS,
            "payment_method_id": OUT_REF,
            "refund_minor": integer("What the customer gets when the items arrive."),
            "currency": OUT_CURRENCY,
        }
    ),
    data_class=DataClass.FINANCIAL,
    flow=flows.RETURN_DELIVERED_ITEMS,
    run=runs(_return),
    examples=({"order_id": "#W1042", "item_ids": ["1008292230"], "payment_method_id": "credit_card_1234567"},),
    irreversible=True,
    preview=previews(_return),
    scoped=ORDER_AND_METHOD,
    tags=("orders", "money"),
    worst="promises a refund for goods that never come back",
    stopped_by="asks (cannot be undone); the refund follows when the items arrive; once an order",
)

EXCHANGE_DELIVERED_ITEMS = order_write(
    name="exchange_delivered_items",
    version=1,
    description=(
        "Accepts the exchange of items of a delivered order for other available variants of the same products, once"
        " per order, so collect all items first. The price difference is settled with payment_method_id when the"
        " items arrive; a gift card must already hold it. No new order is needed."
    ),
    input_schema=closed(
        {
            "order_id": ORDER_ID,
            "item_ids": ITEM_IDS,
            "new_item_ids": NEW_ITEM_IDS,
            "payment_method_id": METHOD_ID,
        }
    ),
    output_schema=closed(
        {
            "order_id": OUT_REF,
            "status": text(32),
            "item_ids": _OUT_ITEMS,
            "new_item_ids": _OUT_ITEMS,
            "payment_method_id": OUT_REF,
            "difference_minor": OUT_SIGNED,
            "currency": OUT_CURRENCY,
        }
    ),
    data_class=DataClass.FINANCIAL,
    flow=flows.EXCHANGE_DELIVERED_ITEMS,
    run=runs(_exchange),
    examples=(
        {
            "order_id": "#W1042",
            "item_ids": ["1008292230"],
            "new_item_ids": ["4107812777"],
            "payment_method_id": "paypal_1234567",
        },
    ),
    irreversible=True,
    preview=previews(_exchange),
    scoped=ORDER_AND_METHOD,
    tags=("orders", "money"),
    worst="promises other goods",
    stopped_by="asks (cannot be undone); same product; settled when the items arrive; once an order",
)

RETURNS = (RETURN_DELIVERED_ITEMS, EXCHANGE_DELIVERED_ITEMS)
