"""Hard writes to pending orders and to the customer's own address."""

from agentops.registry.declare import OUT_CURRENCY, OUT_REF, OUT_SIGNED, choice, closed, integer, listed, text
from agentops.registry.tool import Arguments, DataClass, Result, Tier, ToolSpec, UndoCall
from support_agent.connectors.order_rules import CANCEL_REASONS
from support_agent.connectors.port import (
    CancelOrder,
    ChangeCustomerAddress,
    ChangeItems,
    ChangeOrderAddress,
    ChangePayment,
)
from support_agent.tools import flows
from support_agent.tools.parts import (
    ADDRESS,
    ITEM_IDS,
    METHOD_ID,
    NEW_ITEM_IDS,
    ORDER,
    ORDER_AND_METHOD,
    ORDER_ID,
    OUT_ADDRESS,
    OWNER,
    address,
    former_address,
    order_write,
    previews,
    reconcile,
    runs,
)

_ADDRESS_EXAMPLE = {
    "address1": "12 Harbour Road",
    "address2": "",
    "city": "Portland",
    "state": "OR",
    "country": "USA",
    "zip": "97201",
}


def _cancel(arguments: Arguments) -> CancelOrder:
    return CancelOrder(arguments["order_id"], arguments["reason"])


def _items(arguments: Arguments) -> ChangeItems:
    return ChangeItems(
        arguments["order_id"],
        tuple(arguments["item_ids"]),
        tuple(arguments["new_item_ids"]),
        arguments["payment_method_id"],
    )


def _order_address(arguments: Arguments) -> ChangeOrderAddress:
    return ChangeOrderAddress(arguments["order_id"], address(arguments))


def _payment(arguments: Arguments) -> ChangePayment:
    return ChangePayment(arguments["order_id"], arguments["payment_method_id"])


def _order_address_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    former = former_address(result)
    return None if former is None else ("change_order_address", {"order_id": result["order_id"], **former})


def _customer_address(arguments: Arguments) -> ChangeCustomerAddress:
    return ChangeCustomerAddress(address(arguments))


def _customer_address_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    former = former_address(result)
    return None if former is None else ("change_customer_address", {**former})


CANCEL_PENDING_ORDER = order_write(
    name="cancel_pending_order",
    version=1,
    description=(
        "Cancels a whole order whose status is exactly 'pending' and gives back everything paid for it to the methods"
        " that paid; gift cards have it at once. Single items cannot be cancelled. An order whose items were"
        " changed can no longer be cancelled."
    ),
    input_schema=closed(
        {
            "order_id": ORDER_ID,
            "reason": choice(*CANCEL_REASONS, words="Which of the two the customer says."),
        }
    ),
    output_schema=closed(
        {
            "order_id": OUT_REF,
            "status": text(32),
            "currency": OUT_CURRENCY,
            "refunds": listed(closed({"payment_method_id": OUT_REF, "amount_minor": integer()}), 100),
        }
    ),
    data_class=DataClass.FINANCIAL,
    flow=flows.CANCEL_PENDING_ORDER,
    run=runs(_cancel),
    examples=({"order_id": "#W1042", "reason": "no longer needed"},),
    destructive=True,
    irreversible=True,
    preview=previews(_cancel),
    scoped=ORDER,
    tags=("orders", "money"),
    worst="cancels an order that is wanted",
    stopped_by="asks (cannot be undone, destroys); pending orders only",
)

CHANGE_ORDER_ITEMS = order_write(
    name="change_order_items",
    version=1,
    description=(
        "Replaces items of an order whose status is exactly 'pending' by other available variants of the same"
        " products. Possible once per order, so collect all items first; afterwards the order can neither be changed"
        " nor cancelled. The price difference is taken from, or refunded to, payment_method_id at once; a gift"
        " card must hold enough. Change address and payment before the items."
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
            "payment_method_id": OUT_REF,
            "difference_minor": OUT_SIGNED,
            "currency": OUT_CURRENCY,
        }
    ),
    data_class=DataClass.FINANCIAL,
    flow=flows.CHANGE_ORDER_ITEMS,
    run=runs(_items),
    examples=(
        {
            "order_id": "#W1042",
            "item_ids": ["1008292230"],
            "new_item_ids": ["4107812777"],
            "payment_method_id": "credit_card_1234567",
        },
    ),
    irreversible=True,
    preview=previews(_items),
    scoped=ORDER_AND_METHOD,
    tags=("orders", "money"),
    worst="ships other goods and charges the difference",
    stopped_by="asks (cannot be undone); same product, pending orders, once; a gift card must hold the difference",
)

CHANGE_ORDER_ADDRESS = order_write(
    name="change_order_address",
    version=2,
    description=(
        "Sends an order whose status is exactly 'pending' to another address. Give the whole address. The customer's"
        " default address stays as it is."
    ),
    input_schema=closed({"order_id": ORDER_ID, **ADDRESS}),
    output_schema=closed({"order_id": OUT_REF, "address": OUT_ADDRESS, "former_address": OUT_ADDRESS}),
    data_class=DataClass.PERSONAL,
    flow=flows.CHANGE_ORDER_ADDRESS,
    run=runs(_order_address),
    examples=({"order_id": "#W1042", **_ADDRESS_EXAMPLE},),
    undo="the same tool sets the former address again while the order is pending",
    undo_call=_order_address_undone,
    preview=previews(_order_address),
    scoped=ORDER,
    versioned=True,
    tags=("orders", "addresses"),
    worst="sends goods to a thief",
    stopped_by="asks; pending orders only; the former address can be set again",
)

CHANGE_ORDER_PAYMENT = order_write(
    name="change_order_payment",
    version=1,
    description=(
        "Pays an order whose status is exactly 'pending' with another of the customer's payment methods, once per"
        " order: the whole amount is taken from the new method and given back to the first. A gift card must hold"
        " the whole amount."
    ),
    input_schema=closed({"order_id": ORDER_ID, "payment_method_id": METHOD_ID}),
    output_schema=closed(
        {"order_id": OUT_REF, "payment_method_id": OUT_REF, "amount_minor": integer(), "currency": OUT_CURRENCY}
    ),
    data_class=DataClass.FINANCIAL,
    flow=flows.CHANGE_ORDER_PAYMENT,
    run=runs(_payment),
    examples=({"order_id": "#W1042", "payment_method_id": "paypal_1234567"},),
    irreversible=True,
    preview=previews(_payment),
    scoped=ORDER_AND_METHOD,
    tags=("money", "orders"),
    worst="charges another method of the customer",
    stopped_by="asks (cannot be undone); the customer's own methods only, pending orders, once",
)

CHANGE_CUSTOMER_ADDRESS = ToolSpec(
    name="change_customer_address",
    version=2,
    owner=OWNER,
    description=(
        "Changes the default address of the customer who wrote this ticket. Give the whole address. Orders that were"
        " placed already keep theirs; change_order_address changes those."
    ),
    input_schema=closed(ADDRESS),
    output_schema=closed({"customer_id": OUT_REF, "address": OUT_ADDRESS, "former_address": OUT_ADDRESS}),
    tier=Tier.WRITE_HARD,
    auth_scope="desk:customers:write",
    data_class=DataClass.PERSONAL,
    flow=flows.CHANGE_CUSTOMER_ADDRESS,
    run=runs(_customer_address),
    examples=(_ADDRESS_EXAMPLE,),
    undo="the same tool sets the former address again",
    undo_call=_customer_address_undone,
    preview=previews(_customer_address),
    reconcile=reconcile,
    reconcile_is_final=True,
    versioned=True,
    queue="orders",
    tags=("addresses",),
    outcome="changed",
    worst="later orders go to a thief",
    stopped_by="asks; orders already placed keep theirs; the former address can be set again",
)

ORDERS = (
    CANCEL_PENDING_ORDER,
    CHANGE_ORDER_ITEMS,
    CHANGE_ORDER_ADDRESS,
    CHANGE_ORDER_PAYMENT,
    CHANGE_CUSTOMER_ADDRESS,
)
