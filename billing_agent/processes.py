"""The processes of the billing role as state charts: money back and the mail, what is billed, what is sold (pure).

Steps are writes alone. Look-ups are free at any time, and what they told is what the guards ask for. A case may be
about several invoices and subscriptions, so no step bars the next one; what bars a second one on a record is a guard.

Taking something back is no step: it must be possible wherever a process stands, and after it.
"""

from collections.abc import Mapping
from typing import Any

from agentops.registry.process import Edge, ProcessFacts, ProcessSpec, outcomes_known

_ACCOUNT_FIRST = "The customer was not looked up in this session; call lookup_customer_360 first."


def _account(facts: ProcessFacts) -> Mapping[str, Any] | None:
    return next(facts.told("lookup_customer_360"), None)


def _invoice(facts: ProcessFacts, invoice_id: str) -> Mapping[str, Any] | None:
    """Return the invoice as it was explained last, None when it was not."""
    return next((told for told in facts.told("explain_invoice") if told["invoice_id"] == invoice_id), None)


def refundable(facts: ProcessFacts) -> str:
    """Require that the charge's invoice was explained, and that so much of the charge can still go back."""
    charge_id = facts.arguments["charge_id"]
    charges = (charge for told in facts.told("explain_invoice") for charge in told["charges"])
    charge = next((charge for charge in charges if charge["charge_id"] == charge_id), None)
    if charge is None:
        return f"No invoice with charge {charge_id} was looked up; call explain_invoice before money goes back."
    if facts.arguments["currency"] != charge["currency"]:
        return f"Charge {charge_id} was made in {charge['currency']}."
    if facts.arguments["amount_minor"] > charge["refundable_minor"]:
        return f"explain_invoice does not show so much of charge {charge_id} that can still go back; look it up again."
    return ""


def creditable(facts: ProcessFacts) -> str:
    """Require that the customer and the invoice that is named were looked up, and the customer's own currency."""
    account = _account(facts)
    if account is None:
        return _ACCOUNT_FIRST
    if facts.arguments["currency"] != account["currency"]:
        return f"The customer is billed in {account['currency']}."
    invoice_id = facts.arguments.get("invoice_id", "")
    if invoice_id and _invoice(facts, invoice_id) is None:
        return f"Invoice {invoice_id} was not looked up; call explain_invoice before it is credited."
    return ""


def chargeable(facts: ProcessFacts) -> str:
    """Require an open invoice that was explained, exactly what is left of it, and a method that was not tried today."""
    invoice_id, method_id = facts.arguments["invoice_id"], facts.arguments["payment_method_id"]
    invoice, account = _invoice(facts, invoice_id), _account(facts)
    if account is None:
        return _ACCOUNT_FIRST
    if invoice is None:
        return f"Invoice {invoice_id} was not looked up; call explain_invoice before it is charged."
    for tried in facts.told("retry_charge"):
        if tried["invoice_id"] == invoice_id and tried["status"] == "succeeded":
            return f"Invoice {invoice_id} was charged in this session."
        if (tried["invoice_id"], tried["payment_method_id"]) == (invoice_id, method_id):
            return f"Invoice {invoice_id} was tried with {method_id} in this session; the next attempt is due later."
    if invoice["status"] != "open":
        return f"Invoice {invoice_id} is {invoice['status']}; only an open one is charged."
    if (facts.arguments["amount_minor"], facts.arguments["currency"]) != (invoice["left_minor"], invoice["currency"]):
        return (
            f"Of invoice {invoice_id} are left {invoice['left_minor']} in {invoice['currency']}; charge exactly that."
        )
    if method_id not in {method["payment_method_id"] for method in account["payment_methods"]}:
        return "The look-up of the customer does not show that payment method."
    return ""


def billable(facts: ProcessFacts) -> str:
    """Require that the customer was looked up and is billed in that currency."""
    account = _account(facts)
    if account is None:
        return _ACCOUNT_FIRST
    if facts.arguments["currency"] != account["currency"]:
        return f"The customer is billed in {account['currency']}."
    return ""


def subscribed(facts: ProcessFacts) -> str:
    """Require that the customer was looked up and has that subscription, which was not ended in this session."""
    subscription_id, account = facts.arguments["subscription_id"], _account(facts)
    if account is None:
        return _ACCOUNT_FIRST
    if any(told["subscription_id"] == subscription_id for told in facts.told("end_subscription_now")):
        return f"Subscription {subscription_id} was ended in this session."
    found = (each for each in account["subscriptions"] if each["subscription_id"] == subscription_id)
    subscription = next(found, None)
    if subscription is None:
        return f"The look-up of the customer does not show subscription {subscription_id}."
    if subscription["status"] == "cancelled":
        return f"Subscription {subscription_id} is cancelled; nothing about it can be changed."
    return ""


def sold(facts: ProcessFacts) -> str:
    """Require a subscription that can be changed, and a plan that was listed as sold."""
    plan_id = facts.arguments["plan_id"]
    plans = next(facts.told("list_plans"), None)
    if plans is None:
        return "The plans were not looked up in this session; call list_plans before a plan is sold."
    if plan_id not in {plan["plan_id"] for plan in plans["plans"]}:
        return f"list_plans does not show plan {plan_id}."
    return subscribed(facts)


_REFUND_WORDS = "the charge was looked up and shows that much"
_CREDIT_WORDS = "the customer was looked up, and the invoice that is named"
_KNOWN = outcomes_known("escalate_case", "case")
_KNOWN_WORDS = "every outcome is known, or a person has the case"
_CHARGE_WORDS = "the invoice was looked up, is open and shows exactly that much"
_BILL_WORDS = "the customer was looked up and is billed in that currency"
_SOLD_WORDS = "the subscription and the plan were looked up"
_SUBSCRIBED_WORDS = "the subscription was looked up and is not cancelled"

REFUND = ProcessSpec(
    name="refund",
    version=1,
    title="Money back and mail",
    initial="asked",
    final=frozenset({"given", "told"}),
    edges=(
        Edge("refund", "asked", "given", "refund_charge", refundable, _REFUND_WORDS),
        Edge("credit", "asked", "given", "apply_credit", creditable, _CREDIT_WORDS),
        Edge("refund again", "given", "given", "refund_charge", refundable, _REFUND_WORDS),
        Edge("credit as well", "given", "given", "apply_credit", creditable, _CREDIT_WORDS),
        Edge("tell", "given", "told", "send_email", _KNOWN, _KNOWN_WORDS),
        Edge("mail without money", "asked", "told", "send_email", _KNOWN, _KNOWN_WORDS),
        Edge("tell more", "told", "told", "send_email", _KNOWN, _KNOWN_WORDS),
        Edge("refund after the mail", "told", "given", "refund_charge", refundable, _REFUND_WORDS),
        Edge("credit after the mail", "told", "given", "apply_credit", creditable, _CREDIT_WORDS),
    ),
    # A case need not end with a mail: a person who typed it in may tell the customer.
    compensates=False,
)

COLLECTION = ProcessSpec(
    name="collection",
    version=1,
    title="Billing and charging",
    initial="due",
    final=frozenset({"billed", "tried"}),
    edges=(
        Edge("bill", "due", "billed", "generate_invoice", billable, _BILL_WORDS),
        Edge("bill more", "billed", "billed", "generate_invoice", billable, _BILL_WORDS),
        Edge("bill after charging", "tried", "billed", "generate_invoice", billable, _BILL_WORDS),
        Edge("charge", "due", "tried", "retry_charge", chargeable, _CHARGE_WORDS),
        Edge("charge after billing", "billed", "tried", "retry_charge", chargeable, _CHARGE_WORDS),
        Edge("charge another", "tried", "tried", "retry_charge", chargeable, _CHARGE_WORDS),
    ),
    compensates=False,
)

PLAN_CHANGE = ProcessSpec(
    name="plan_change",
    version=1,
    title="Change of subscriptions",
    initial="as sold",
    final=frozenset({"changed", "ended"}),
    edges=(
        Edge("change", "as sold", "changed", "change_plan", sold, _SOLD_WORDS),
        Edge("pause", "as sold", "changed", "pause_subscription", subscribed, _SUBSCRIBED_WORDS),
        Edge("cancel", "as sold", "ended", "cancel_subscription", subscribed, _SUBSCRIBED_WORDS),
        Edge("end now", "as sold", "ended", "end_subscription_now", subscribed, _SUBSCRIBED_WORDS),
        Edge("change another", "changed", "changed", "change_plan", sold, _SOLD_WORDS),
        Edge("pause another", "changed", "changed", "pause_subscription", subscribed, _SUBSCRIBED_WORDS),
        Edge("cancel another", "changed", "ended", "cancel_subscription", subscribed, _SUBSCRIBED_WORDS),
        Edge("end another", "changed", "ended", "end_subscription_now", subscribed, _SUBSCRIBED_WORDS),
        Edge("change what stays", "ended", "changed", "change_plan", sold, _SOLD_WORDS),
        Edge("pause what stays", "ended", "changed", "pause_subscription", subscribed, _SUBSCRIBED_WORDS),
        Edge("cancel one more", "ended", "ended", "cancel_subscription", subscribed, _SUBSCRIBED_WORDS),
        Edge("end one more", "ended", "ended", "end_subscription_now", subscribed, _SUBSCRIBED_WORDS),
    ),
    # Each wish stands by itself: that one was not carried out is no reason to take back another.
    compensates=False,
)

PROCESSES = (REFUND, COLLECTION, PLAN_CHANGE)
