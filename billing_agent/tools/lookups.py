"""Reads: the session's customer with all that is open, invoices and what became of them, plans, and mail templates."""

from agentops.registry.declare import closed, integer, listed, ref
from agentops.registry.tool import Arguments, CallContext, DataClass, LatencyClass, Result, Tier, ToolSpec
from billing_agent.connectors import billing
from billing_agent.tools import flows
from billing_agent.tools.parts import INVOICE, OWNER
from billing_agent.tools.shapes import (
    ACCOUNT,
    EXPLAINED,
    MOST_INVOICES,
    MOST_PLANS,
    MOST_TEMPLATES,
    PLAN,
    TEMPLATE,
    account_json,
    explained_json,
    invoice_json,
    plan_json,
    template_json,
)
from billing_agent.tools.shapes import INVOICE as INVOICE_SHAPE

USUAL_INVOICES = 12


def _lookup_customer_360(context: CallContext, arguments: Arguments) -> Result:
    return account_json(billing().account(context))


def _list_invoices(context: CallContext, arguments: Arguments) -> Result:
    found = billing().invoices(context, limit=arguments.get("limit", USUAL_INVOICES))
    return {"invoices": [invoice_json(invoice) for invoice in found]}


def _explain_invoice(context: CallContext, arguments: Arguments) -> Result:
    invoice, charges = billing().invoice(context, arguments["invoice_id"])
    return explained_json(invoice, charges)


def _list_plans(context: CallContext, arguments: Arguments) -> Result:
    found = billing().plans(context)
    return {"plans": [plan_json(plan) for plan in found[:MOST_PLANS]], "more": len(found) > MOST_PLANS}


def _list_mail_templates(context: CallContext, arguments: Arguments) -> Result:
    found = billing().templates(context)
    shown = [template_json(template) for template in found[:MOST_TEMPLATES]]
    return {"templates": shown, "more": len(found) > MOST_TEMPLATES}


LOOKUP_CUSTOMER_360 = ToolSpec(
    name="lookup_customer_360",
    version=2,
    owner=OWNER,
    description=(
        "Returns the customer of this case with all that a billing desk asks first: currency and tax, payment methods,"
        " subscriptions with plan and period, open invoices with what is left of them, disputes, credits that are left,"
        " and what they owe, have as credit and have paid altogether. Amounts are whole minor units (cents). Call it"
        " first; it takes no arguments. When nobody is found, hand the case to a person."
    ),
    input_schema=closed({}),
    output_schema=ACCOUNT,
    tier=Tier.READ,
    auth_scope="billing:customers:read",
    data_class=DataClass.FINANCIAL,
    flow=flows.LOOKUP_CUSTOMER_360,
    run=_lookup_customer_360,
    latency=LatencyClass.FAST,
    slo_ms=500,
    examples=({},),
    worst="reads the account of the case's customer for a forger of the From address",
    stopped_by="only the session's own customer, never another; mail goes to the customer's address alone",
)

LIST_INVOICES = ToolSpec(
    name="list_invoices",
    version=1,
    owner=OWNER,
    description=(
        "Returns this customer's latest invoices, the newest first: id, number, status, total and what is still owed."
        " limit is how many, 12 when it is left out. Use it to find the invoice that is meant; explain_invoice then"
        " says what stands in it."
    ),
    input_schema=closed(
        {"limit": integer("How many invoices at most.", least=1, most=MOST_INVOICES)}, optional=("limit",)
    ),
    output_schema=closed({"invoices": listed(INVOICE_SHAPE, MOST_INVOICES)}),
    tier=Tier.READ,
    auth_scope="billing:invoices:read",
    data_class=DataClass.FINANCIAL,
    flow=flows.LIST_INVOICES,
    run=_list_invoices,
    latency=LatencyClass.INSTANT,
    slo_ms=300,
    examples=({}, {"limit": 3}),
    worst="reads what a customer was billed for a forger of the From address",
    stopped_by="only the session's own customer; at most fifty invoices",
)

EXPLAIN_INVOICE = ToolSpec(
    name="explain_invoice",
    version=1,
    owner=OWNER,
    description=(
        "Returns one invoice of this customer line by line, with the time that each line pays for, tax, what payments"
        " and credits settled, and every attempt to charge it with the bank's reason when it declined."
        " refundable_minor of a charge is the most that can still go back. Takes the invoice's id or its number. Look"
        " an invoice up before money moves for it."
    ),
    input_schema=closed({"invoice_id": ref("The invoice's id, or its number such as INV-000042.")}),
    output_schema=EXPLAINED,
    tier=Tier.READ,
    auth_scope="billing:invoices:read",
    data_class=DataClass.FINANCIAL,
    flow=flows.EXPLAIN_INVOICE,
    run=_explain_invoice,
    latency=LatencyClass.INSTANT,
    slo_ms=300,
    examples=({"invoice_id": "in_31d0c2"}, {"invoice_id": "INV-000042"}),
    scoped=INVOICE,
    worst="reads an invoice of somebody else",
    stopped_by="the invoice must belong to the session's customer; otherwise not found",
)

LIST_PLANS = ToolSpec(
    name="list_plans",
    version=1,
    owner=OWNER,
    description=(
        "Returns the plans that are sold in this customer's currency, the cheapest first: id, name, interval and price"
        " for one period and one unit, before tax. Call it before change_plan; only a plan from this list can be sold."
    ),
    input_schema=closed({}),
    output_schema=closed({"plans": listed(PLAN, MOST_PLANS), "more": {"type": "boolean"}}),
    tier=Tier.READ,
    auth_scope="billing:plans:read",
    data_class=DataClass.PUBLIC,
    flow=flows.LIST_PLANS,
    run=_list_plans,
    latency=LatencyClass.INSTANT,
    slo_ms=300,
    examples=({},),
    worst="nothing: the data is public",
    stopped_by="at most 100 plans",
)

LIST_MAIL_TEMPLATES = ToolSpec(
    name="list_mail_templates",
    version=1,
    owner=OWNER,
    description=(
        "Returns the mail templates that somebody has reviewed, by name, each with its subject and body; the gaps are"
        " written {name}. draft_email and send_email take the id and one line of text for each gap."
    ),
    input_schema=closed({}),
    output_schema=closed({"templates": listed(TEMPLATE, MOST_TEMPLATES), "more": {"type": "boolean"}}),
    tier=Tier.READ,
    auth_scope="billing:mails:read",
    data_class=DataClass.INTERNAL,
    flow=flows.LIST_MAIL_TEMPLATES,
    run=_list_mail_templates,
    latency=LatencyClass.INSTANT,
    slo_ms=300,
    examples=({},),
    worst="shows a reviewed template to the planner",
    stopped_by="only templates that somebody reviewed, written to be sent to customers",
)

LOOKUPS = (LOOKUP_CUSTOMER_360, LIST_INVOICES, EXPLAIN_INVOICE, LIST_PLANS, LIST_MAIL_TEMPLATES)
