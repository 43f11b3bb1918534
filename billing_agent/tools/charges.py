"""Hard writes that move money over a payment method: another attempt to charge an invoice, and refunds."""

from agentops.registry.declare import AMOUNT, CURRENCY, OUT_CURRENCY, OUT_REF, choice, closed, integer, money, text
from agentops.registry.tool import Arguments, DataClass, LatencyClass, Result, Tier, ToolSpec, UndoCall
from billing_agent.connectors.port import RefundCharge, RetryCharge
from billing_agent.connectors.records import ChargeStatus
from billing_agent.tools import flows
from billing_agent.tools.parts import (
    CHARGE,
    CHARGE_ID,
    INVOICE,
    INVOICE_ID,
    METHOD_ID,
    OUT_STATUS,
    OWNER,
    REASON,
    previews,
    reconcile,
    runs,
)


def _retry(arguments: Arguments) -> RetryCharge:
    return RetryCharge(arguments["invoice_id"], arguments["payment_method_id"], money(arguments))


def _refund(arguments: Arguments) -> RefundCharge:
    return RefundCharge(arguments["charge_id"], money(arguments), arguments["reason"])


def _retry_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    """A declined attempt took nothing, so there is nothing to give back."""
    if result.get("status") != ChargeStatus.SUCCEEDED or not result.get("charge_id"):
        return None
    return "refund_charge", {
        "charge_id": result["charge_id"],
        "amount_minor": arguments["amount_minor"],
        "currency": arguments["currency"],
        "reason": "The charge was made by mistake.",
    }


RETRY_CHARGE = ToolSpec(
    name="retry_charge",
    version=1,
    owner=OWNER,
    description=(
        "Tries once more to take what is left of an open invoice from one of this customer's payment methods."
        " amount_minor is exactly left_minor of the invoice; another amount is refused. When the bank declines, that is"
        " an answer: status is failed, decline_code says why, and the next attempt is due by itself after some days."
        " A card that is expired, lost or stolen is not tried again; ask the customer for another one."
    ),
    input_schema=closed(
        {"invoice_id": INVOICE_ID, "payment_method_id": METHOD_ID, "amount_minor": AMOUNT, "currency": CURRENCY}
    ),
    output_schema=closed(
        {
            "charge_id": OUT_REF,
            "invoice_id": OUT_REF,
            "payment_method_id": OUT_REF,
            "amount_minor": integer(),
            "currency": OUT_CURRENCY,
            "status": choice(*(status.value for status in ChargeStatus)),
            "decline_code": text(40, "The bank's reason, empty when it paid.", least=0),
            "invoice_status": OUT_STATUS,
            "attempts": integer("How often it was tried, this time included."),
            "next_attempt_at": text(40, "When it is tried again, empty when it is not.", least=0),
        }
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="billing:charges:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.RETRY_CHARGE,
    run=runs(_retry),
    latency=LatencyClass.SLOW,
    slo_ms=10_000,
    examples=({"invoice_id": "in_31d0c2", "payment_method_id": "pm_4242", "amount_minor": 4900, "currency": "USD"},),
    undo="can be refunded",
    undo_call=_retry_undone,
    preview=previews(_retry),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped={**INVOICE, "payment_method_id": "method"},
    versioned=True,
    money_family="charged",
    queue="billing-money",
    tags=("money",),
    outcome="changed",
    worst="takes what an invoice says from a customer who disputes it",
    stopped_by=(
        "exactly what is left of an open invoice, from the customer's own methods; the invoice must have been looked"
        " up; more than $50 for one customer in one day asks, other currencies ask; it can be refunded"
    ),
)

REFUND_CHARGE = ToolSpec(
    name="refund_charge",
    version=1,
    owner=OWNER,
    description=(
        "Gives back part or all of a charge that succeeded, to the payment method that paid it. Never more than"
        " refundable_minor of that charge in explain_invoice, only in its currency, and nothing while a dispute about"
        " it is open. The invoice stays as it is. It cannot be taken back, so a person decides each time. For money"
        " that is not taken from a card, use apply_credit."
    ),
    input_schema=closed({"charge_id": CHARGE_ID, "amount_minor": AMOUNT, "currency": CURRENCY, "reason": REASON}),
    output_schema=closed(
        {
            "refund_id": OUT_REF,
            "charge_id": OUT_REF,
            "payment_method_id": OUT_REF,
            "amount_minor": integer(),
            "tax_minor": integer("The tax in it."),
            "currency": OUT_CURRENCY,
            "refunded_minor": integer("All refunds of the charge so far."),
            "refundable_minor": integer("What can still go back."),
        }
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="billing:refunds:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.REFUND_CHARGE,
    run=runs(_refund),
    latency=LatencyClass.SLOW,
    slo_ms=10_000,
    examples=(
        {
            "charge_id": "ch_77a410",
            "amount_minor": 2900,
            "currency": "USD",
            "reason": "The month was charged twice.",
        },
    ),
    irreversible=True,
    preview=previews(_refund),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped=CHARGE,
    identity=("charge_id", "amount_minor", "currency"),
    money_family="given",
    queue="billing-money",
    tags=("money",),
    outcome="refunded",
    worst="pays back up to the whole charge, undeserved",
    stopped_by=(
        "asks (cannot be undone); never more than the charge took less what went back, only to the method that paid,"
        " nothing while a dispute is open; the charge must have been looked up"
    ),
)

CHARGES = (RETRY_CHARGE, REFUND_CHARGE)
