"""Hard writes that give credit and take it back."""

from agentops.registry.declare import AMOUNT, CURRENCY, OUT_CURRENCY, OUT_REF, closed, integer, money, ref
from agentops.registry.tool import Arguments, DataClass, Result, Tier, ToolSpec, UndoCall
from billing_agent.connectors.port import ApplyCredit, ReverseCredit
from billing_agent.tools import flows
from billing_agent.tools.parts import INVOICE, INVOICE_ID, OUT_STATUS, OWNER, REASON, previews, reconcile, runs


def _apply(arguments: Arguments) -> ApplyCredit:
    return ApplyCredit(money(arguments), arguments["reason"], arguments.get("invoice_id", ""))


def _reverse(arguments: Arguments) -> ReverseCredit:
    return ReverseCredit(arguments["credit_id"], arguments["reason"])


def _apply_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    """Credit that was used up at once has nothing left to take back."""
    if not result.get("credit_id") or not result.get("left_minor"):
        return None
    return "reverse_credit", {"credit_id": result["credit_id"], "reason": "The credit was given by mistake."}


def _reverse_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    if not result.get("amount_minor") or not result.get("currency"):
        return None
    return "apply_credit", {
        "amount_minor": result["amount_minor"],
        "currency": result["currency"],
        "reason": "The credit was taken back by mistake.",
    }


APPLY_CREDIT = ToolSpec(
    name="apply_credit",
    version=1,
    owner=OWNER,
    description=(
        "Gives this customer credit, in their own currency. It settles the open invoice that is named, when one is,"
        " and then whatever is billed next, the oldest credit first. Use it for goodwill and for mistakes on what is"
        " billed; money that was taken from a card goes back by refund_charge. What is not used can be taken back."
    ),
    input_schema=closed(
        {"amount_minor": AMOUNT, "currency": CURRENCY, "reason": REASON, "invoice_id": INVOICE_ID},
        optional=("invoice_id",),
    ),
    output_schema=closed(
        {
            "credit_id": OUT_REF,
            "amount_minor": integer(),
            "used_minor": integer("What settled the invoice at once."),
            "left_minor": integer("What is not used yet."),
            "currency": OUT_CURRENCY,
            "invoice_id": OUT_REF,
            "invoice_status": OUT_STATUS,
        },
        optional=("invoice_id", "invoice_status"),
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="billing:credits:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.APPLY_CREDIT,
    run=runs(_apply),
    examples=(
        {"amount_minor": 1500, "currency": "USD", "reason": "Two hours without service on 12 November."},
        {"amount_minor": 900, "currency": "USD", "reason": "Billed for a removed seat.", "invoice_id": "in_31d0c2"},
    ),
    undo="what is not used of it can be taken back",
    undo_call=_apply_undone,
    preview=previews(_apply),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped=INVOICE,
    identity=("amount_minor", "currency", "invoice_id"),
    money_family="given",
    queue="billing-money",
    tags=("money",),
    outcome="refunded",
    worst="gives a customer credit that they do not deserve",
    stopped_by=(
        "credits and refunds of more than $50 for one customer in one day ask, more than $100 at any dial, other"
        " currencies ask; the account must have been looked up; what is not used can be taken back"
    ),
)

REVERSE_CREDIT = ToolSpec(
    name="reverse_credit",
    version=1,
    owner=OWNER,
    description=(
        "Takes back what is left of a credit of this customer. What was used to settle an invoice stays used. Only"
        " for a credit that was given by mistake."
    ),
    input_schema=closed(
        {"credit_id": ref("The credit's id, as apply_credit or lookup_customer_360 gave it."), "reason": REASON}
    ),
    output_schema=closed(
        {
            "credit_id": OUT_REF,
            "amount_minor": integer("What was taken back."),
            "used_minor": integer("What stays used."),
            "currency": OUT_CURRENCY,
            "status": OUT_STATUS,
        }
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="billing:credits:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.REVERSE_CREDIT,
    run=runs(_reverse),
    examples=({"credit_id": "cr_8b21f0", "reason": "It was given to the wrong account."},),
    undo="the same amount can be given again",
    undo_call=_reverse_undone,
    preview=previews(_reverse),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped={"credit_id": "credit"},
    identity=("credit_id",),
    queue="billing-money",
    tags=("money",),
    worst="takes promised credit from a customer",
    stopped_by="asks; the customer's own credits only, and only what is left of one; it can be given again",
)

CREDITS = (APPLY_CREDIT, REVERSE_CREDIT)
