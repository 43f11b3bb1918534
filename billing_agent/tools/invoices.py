"""Hard writes that bill a customer for something beside subscriptions, take an invoice back, and give one up."""

from agentops.registry.declare import (
    CURRENCY,
    MAX_AMOUNT_MINOR,
    OUT_CURRENCY,
    OUT_REF,
    closed,
    integer,
    listed,
    text,
    undone_by,
)
from agentops.registry.tool import Arguments, DataClass, Tier, ToolSpec
from billing_agent.connectors.checks import MOST_QUANTITY
from billing_agent.connectors.port import GenerateInvoice, Item, VoidInvoice, WriteOffInvoice
from billing_agent.tools import flows
from billing_agent.tools.parts import INVOICE, INVOICE_ID, OUT_STATUS, OWNER, REASON, previews, reconcile, runs

MOST_ITEMS = 50
MOST_DUE_DAYS = 365

_ITEM = closed(
    {
        "description": text(300, "What is billed, in words that the customer understands."),
        "quantity": integer("How many.", least=1, most=MOST_QUANTITY),
        "unit_minor": integer("The price of one in whole minor units, before tax.", least=1, most=MAX_AMOUNT_MINOR),
    }
)


def _generate(arguments: Arguments) -> GenerateInvoice:
    items = tuple(Item(each["description"], each["quantity"], each["unit_minor"]) for each in arguments["items"])
    return GenerateInvoice(items, arguments["currency"], arguments["memo"], arguments["due_days"])


def _void(arguments: Arguments) -> VoidInvoice:
    return VoidInvoice(arguments["invoice_id"], arguments["reason"])


def _write_off(arguments: Arguments) -> WriteOffInvoice:
    return WriteOffInvoice(arguments["invoice_id"], arguments["reason"])


GENERATE_INVOICE = ToolSpec(
    name="generate_invoice",
    version=1,
    owner=OWNER,
    description=(
        "Bills this customer for something beside their subscriptions, in their own currency. Tax is added by the"
        " customer's rate, credit that is left is used at once, and the invoice gets its number. Subscriptions are"
        " billed by themselves: use change_plan for another plan or quantity. An invoice on which nothing was paid"
        " can be voided."
    ),
    input_schema=closed(
        {
            "items": listed(_ITEM, MOST_ITEMS, "What is billed.", least=1),
            "currency": CURRENCY,
            "memo": text(300, "A line for the customer above the items; may be empty.", least=0),
            "due_days": integer("After how many days it is due; 0 is today.", most=MOST_DUE_DAYS),
        }
    ),
    output_schema=closed(
        {
            "invoice_id": OUT_REF,
            "status": OUT_STATUS,
            "subtotal_minor": integer(),
            "tax_minor": integer(),
            "total_minor": integer(),
            "credited_minor": integer("What credit settled of it at once."),
            "left_minor": integer("What is owed of it."),
            "currency": OUT_CURRENCY,
            "due_at": text(40),
        }
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="billing:invoices:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.GENERATE_INVOICE,
    run=runs(_generate),
    examples=(
        {
            "items": [{"description": "Onboarding workshop, 2 hours", "quantity": 2, "unit_minor": 12000}],
            "currency": "USD",
            "memo": "As agreed on 12 November.",
            "due_days": 14,
        },
    ),
    undo="can be voided while nothing is paid and its books are open",
    undo_call=undone_by("void_invoice", {"invoice_id": "invoice_id"}, reason="The invoice was made by mistake."),
    preview=previews(_generate),
    reconcile=reconcile,
    reconcile_is_final=True,
    identity=("items", "currency"),
    money_family="billed",
    queue="billing-money",
    tags=("money", "outbound"),
    outcome="changed",
    worst="bills a customer for what they did not order",
    stopped_by=(
        "more than $50 for one customer in one day asks, other currencies ask; the account must have been looked up;"
        " nothing is charged by it; it can be voided while nothing is paid"
    ),
)

VOID_INVOICE = ToolSpec(
    name="void_invoice",
    version=1,
    owner=OWNER,
    description=(
        "Takes an open invoice of this customer back for good; credit that was used on it is the customer's again. Only"
        " while nothing was paid on it, and not when it was issued in closed books: then use apply_credit. It cannot be"
        " taken back, so a person decides each time."
    ),
    input_schema=closed({"invoice_id": INVOICE_ID, "reason": REASON}),
    output_schema=closed(
        {
            "invoice_id": OUT_REF,
            "status": OUT_STATUS,
            "total_minor": integer(),
            "credit_id": text(64, "The credit that is the customer's again, empty when none was used.", least=0),
            "credited_minor": integer("What that credit is."),
            "currency": OUT_CURRENCY,
        }
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="billing:invoices:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.VOID_INVOICE,
    run=runs(_void),
    examples=({"invoice_id": "in_31d0c2", "reason": "It bills the same workshop a second time."},),
    destructive=True,
    irreversible=True,
    preview=previews(_void),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped=INVOICE,
    identity=("invoice_id",),
    queue="billing-money",
    tags=("money",),
    outcome="changed",
    worst="gives up money that a customer owes",
    stopped_by="asks (cannot be undone, destroys); open invoices on which nothing was paid, in open books only",
)

WRITE_OFF_INVOICE = ToolSpec(
    name="write_off_invoice",
    version=1,
    owner=OWNER,
    description=(
        "Gives up what is left of an open invoice of this customer that nobody will pay. Only after its due date; what"
        " was paid of it stays paid, and it is not charged again. It cannot be taken back, so a person decides each"
        " time. Not for what was billed by mistake: use void_invoice or apply_credit."
    ),
    input_schema=closed({"invoice_id": INVOICE_ID, "reason": REASON}),
    output_schema=closed(
        {
            "invoice_id": OUT_REF,
            "status": OUT_STATUS,
            "written_off_minor": integer("What was left of it."),
            "currency": OUT_CURRENCY,
        }
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="billing:invoices:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.WRITE_OFF_INVOICE,
    run=runs(_write_off),
    examples=({"invoice_id": "in_31d0c2", "reason": "The company was dissolved in October."},),
    destructive=True,
    irreversible=True,
    preview=previews(_write_off),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped=INVOICE,
    identity=("invoice_id",),
    money_family="given",
    queue="billing-money",
    tags=("money",),
    outcome="changed",
    worst="gives up money that a customer would have paid",
    stopped_by="asks two people (cannot be undone, destroys); open invoices past their due date only",
)

INVOICES = (GENERATE_INVOICE, VOID_INVOICE, WRITE_OFF_INVOICE)
