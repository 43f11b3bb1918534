"""Reads: the session's customer and orders, products, and the knowledge base."""

from agentops.kernel.errors import FailureKind
from agentops.registry.declare import OUT_REF, closed, listed, ref, text
from agentops.registry.tool import Arguments, CallContext, DataClass, LatencyClass, Result, Tier, ToolFailure, ToolSpec
from support_agent.connectors import desk
from support_agent.connectors.plan import missing
from support_agent.connectors.records import Customer
from support_agent.tools import flows
from support_agent.tools.parts import ORDER, ORDER_ID, OWNER
from support_agent.tools.shapes import (
    CUSTOMER,
    ORDER_SHAPE,
    PASSAGE,
    PRODUCT,
    customer_json,
    order_json,
    passage_json,
    product_json,
)

MOST_PRODUCTS = 100
_WAYS: tuple[frozenset[str], ...] = (frozenset(), frozenset({"email"}), frozenset({"first_name", "last_name", "zip"}))


def _lookup_customer(context: CallContext, arguments: Arguments) -> Result:
    if frozenset(arguments) not in _WAYS:
        raise ToolFailure(
            FailureKind.VALIDATION, "Give nothing, or email, or first_name with last_name and zip.", field="email"
        )
    customer = desk().customer(context)
    if not all(_same(arguments[name], _own(customer, name)) for name in arguments):
        raise missing()
    return customer_json(customer)


def _same(told: str, known: str) -> bool:
    return told.strip().casefold() == known.strip().casefold()


def _own(customer: Customer, name: str) -> str:
    own = {
        "email": customer.email,
        "first_name": customer.first_name,
        "last_name": customer.last_name,
        "zip": customer.address.zip,
    }
    return own[name]


def _lookup_order(context: CallContext, arguments: Arguments) -> Result:
    return order_json(desk().order(context, arguments["order_id"]))


def _lookup_product(context: CallContext, arguments: Arguments) -> Result:
    return product_json(desk().product(context, arguments["product_id"]))


def _list_products(context: CallContext, arguments: Arguments) -> Result:
    found = desk().products(context, arguments.get("query", ""))
    return {
        "products": [{"product_id": product.ref, "name": product.name} for product in found[:MOST_PRODUCTS]],
        "more": len(found) > MOST_PRODUCTS,
    }


def _search_knowledge_base(context: CallContext, arguments: Arguments) -> Result:
    return {"results": [passage_json(passage) for passage in desk().passages(context, arguments["query"])]}


LOOKUP_CUSTOMER = ToolSpec(
    name="lookup_customer",
    version=1,
    owner=OWNER,
    description=(
        "Returns the customer who wrote this ticket: id, name, e-mail, default address, payment methods with gift"
        " card balances, and order ids, oldest first. Call it without arguments. With an e-mail, or with first name,"
        " last name and zip, it checks that they are this customer's; anybody else is not found."
    ),
    input_schema=closed(
        {
            "email": text(254, "E-mail address to check."),
            "first_name": text(100, "First name to check."),
            "last_name": text(100, "Last name to check."),
            "zip": text(20, "Postal code to check."),
        },
        optional=("email", "first_name", "last_name", "zip"),
    ),
    output_schema=CUSTOMER,
    tier=Tier.READ,
    auth_scope="desk:customers:read",
    data_class=DataClass.PERSONAL,
    flow=flows.LOOKUP_CUSTOMER,
    run=_lookup_customer,
    latency=LatencyClass.INSTANT,
    slo_ms=300,
    examples=({}, {"email": "dana.ruiz@example.com"}, {"first_name": "Dana", "last_name": "Ruiz", "zip": "80279"}),
    worst="reads the profile of the ticket's customer for a forger of the From address",
    stopped_by="only the session's own customer, never another; the reply goes to the customer's address",
)

LOOKUP_ORDER = ToolSpec(
    name="lookup_order",
    version=1,
    owner=OWNER,
    description=(
        "Returns one order of this customer: status, items with the prices paid, delivery address, parcels with"
        " tracking ids, payment history, and refundable_minor, the most that can still be refunded. Amounts are"
        " whole minor units (cents). Look an order up before you propose anything about it."
    ),
    input_schema=closed({"order_id": ORDER_ID}),
    output_schema=ORDER_SHAPE,
    tier=Tier.READ,
    auth_scope="desk:orders:read",
    data_class=DataClass.PERSONAL,
    flow=flows.LOOKUP_ORDER,
    run=_lookup_order,
    latency=LatencyClass.INSTANT,
    slo_ms=300,
    examples=({"order_id": "#W1042"},),
    scoped=ORDER,
    worst="reads an order of somebody else",
    stopped_by="order must belong to the session's customer; otherwise not found",
)

LOOKUP_PRODUCT = ToolSpec(
    name="lookup_product",
    version=1,
    owner=OWNER,
    description=(
        "Returns one product with all its variants: item id, options, today's price in minor units, and whether it"
        " is available. Takes a product id, not an item id; list_products gives product ids."
    ),
    input_schema=closed({"product_id": ref("A product id, as list_products or an order's items give it.")}),
    output_schema=PRODUCT,
    tier=Tier.READ,
    auth_scope="desk:products:read",
    data_class=DataClass.PUBLIC,
    flow=flows.LOOKUP_PRODUCT,
    run=_lookup_product,
    latency=LatencyClass.INSTANT,
    slo_ms=300,
    examples=({"product_id": "9523456873"},),
    worst="nothing: the data is public",
)

LIST_PRODUCTS = ToolSpec(
    name="list_products",
    version=1,
    owner=OWNER,
    description=(
        "Returns names and product ids of what is on sale, by name, at most 100; more says whether some were left"
        " out. query narrows the list to names that hold it."
    ),
    input_schema=closed({"query": text(100, "Part of a product's name.")}, optional=("query",)),
    output_schema=closed(
        {
            "products": listed(closed({"product_id": OUT_REF, "name": text(200)}), MOST_PRODUCTS),
            "more": {"type": "boolean"},
        }
    ),
    tier=Tier.READ,
    auth_scope="desk:products:read",
    data_class=DataClass.PUBLIC,
    flow=flows.LIST_PRODUCTS,
    run=_list_products,
    latency=LatencyClass.INSTANT,
    slo_ms=300,
    examples=({}, {"query": "keyboard"}),
    worst="nothing: the data is public",
    stopped_by="at most 100 names",
)

SEARCH_KNOWLEDGE_BASE = ToolSpec(
    name="search_knowledge_base",
    version=1,
    owner=OWNER,
    description=(
        "Searches the shop's own articles on policies and procedures. Returns at most five passages, best first, with"
        " a score from 0 to 100: the share of the question that the article covers, rare words counting more."
        " An empty list means that nothing fits; then do not answer from memory, escalate."
        " Ask with the few words that matter, such as 'return window opened items'."
    ),
    input_schema=closed({"query": text(300, "The words that matter of one question.")}),
    output_schema=closed({"results": listed(PASSAGE, 5)}),
    tier=Tier.READ,
    auth_scope="desk:articles:read",
    data_class=DataClass.INTERNAL,
    flow=flows.SEARCH_KNOWLEDGE_BASE,
    run=_search_knowledge_base,
    latency=LatencyClass.FAST,
    slo_ms=500,
    examples=({"query": "return window opened items"},),
    worst="shows an internal article to the planner, which quotes it",
    stopped_by="at most five passages; write articles so that they may be quoted",
)

LOOKUPS = (LOOKUP_CUSTOMER, LOOKUP_ORDER, LOOKUP_PRODUCT, LIST_PRODUCTS, SEARCH_KNOWLEDGE_BASE)
