"""Records of the billing system as the JSON that lookups return, with their schemas.

Amounts are whole minor units; moments are ISO 8601 in UTC; what is not there is null.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from agentops.kernel.clock import isoformat
from agentops.registry.declare import OUT_CURRENCY, OUT_REF, OUT_SIGNED, closed, integer, listed, text
from billing_agent.connectors.records import (
    Account360,
    Charge,
    Credit,
    Dispute,
    Invoice,
    Line,
    Method,
    Plan,
    Subscription,
    Template,
)
from billing_agent.tools.parts import OUT_MOMENT, OUT_STATUS, nothing_or

MOST_METHODS = 50
MOST_SUBSCRIPTIONS = 100
MOST_OPEN = 100
MOST_DISPUTES = 100
MOST_CREDITS = 100
MOST_INVOICES = 50
MOST_LINES = 200
MOST_CHARGES = 100
MOST_PLANS = 100
MOST_TEMPLATES = 100

_BOOLEAN = {"type": "boolean"}
_NAME = text(200, least=0)
_MOMENT = nothing_or(OUT_MOMENT)

METHOD = closed(
    {
        "payment_method_id": OUT_REF,
        "words": text(200, "As a person recognises it, such as Visa ending 4242."),
        "expires": nothing_or(text(7, "Year and month, such as 2027-04.")),
        "is_default": _BOOLEAN,
    }
)
SUBSCRIPTION = closed(
    {
        "subscription_id": OUT_REF,
        "plan_id": OUT_REF,
        "plan": _NAME,
        "next_plan_id": nothing_or(OUT_REF),
        "quantity": integer(least=1),
        "status": OUT_STATUS,
        "period_start": OUT_MOMENT,
        "period_end": OUT_MOMENT,
        "cancel_at": _MOMENT,
        "paused_at": _MOMENT,
        "resumes_at": _MOMENT,
    }
)
INVOICE = closed(
    {
        "invoice_id": OUT_REF,
        "number": text(32, least=0),
        "status": OUT_STATUS,
        "currency": OUT_CURRENCY,
        "total_minor": OUT_SIGNED,
        "left_minor": integer("What is still owed."),
        "issued_at": _MOMENT,
        "due_at": _MOMENT,
        "attempts": integer("How often it was tried to charge it."),
        "next_attempt_at": _MOMENT,
    }
)
DISPUTE = closed(
    {
        "dispute_id": OUT_REF,
        "charge_id": OUT_REF,
        "amount_minor": integer(),
        "currency": OUT_CURRENCY,
        "reason": _NAME,
        "status": OUT_STATUS,
        "respond_by": _MOMENT,
    }
)
CREDIT = closed(
    {
        "credit_id": OUT_REF,
        "amount_minor": integer(),
        "left_minor": integer(),
        "currency": OUT_CURRENCY,
        "reason": text(500),
    }
)
ACCOUNT = closed(
    {
        "customer_id": OUT_REF,
        "name": _NAME,
        "email": text(254, least=0),
        "currency": OUT_CURRENCY,
        "country": text(2, least=0),
        "tax_bp": integer("Basis points of tax that are added; 0 for whoever is exempt."),
        "tax_exempt": {"type": "boolean", "description": "Whether no tax is added, whatever the rate is."},
        "is_deleted": _BOOLEAN,
        "payment_methods": listed(METHOD, MOST_METHODS),
        "subscriptions": listed(SUBSCRIPTION, MOST_SUBSCRIPTIONS),
        "open_invoices": listed(INVOICE, MOST_OPEN),
        "disputes": listed(DISPUTE, MOST_DISPUTES),
        "credits": listed(CREDIT, MOST_CREDITS, "Credits of which something is left, the oldest first."),
        "owed_minor": OUT_SIGNED,
        "credit_minor": OUT_SIGNED,
        "paid_minor": OUT_SIGNED,
        "is_cut": {"type": "boolean", "description": "Whether a list was too long to be shown whole."},
    }
)
LINE = closed(
    {
        "description": text(300, least=0),
        "quantity": integer(),
        "unit_minor": OUT_SIGNED,
        "amount_minor": OUT_SIGNED,
        "tax_minor": OUT_SIGNED,
        "proration": _BOOLEAN,
        "from": _MOMENT,
        "to": _MOMENT,
    }
)
CHARGE = closed(
    {
        "charge_id": OUT_REF,
        "payment_method_id": OUT_REF,
        "amount_minor": integer(),
        "currency": OUT_CURRENCY,
        "status": OUT_STATUS,
        "decline_code": text(40, least=0),
        "refunded_minor": integer(),
        "refundable_minor": integer("The most that can still go back."),
        "at": OUT_MOMENT,
    }
)
EXPLAINED = closed(
    {
        **INVOICE["properties"],
        "subscription_id": text(64, least=0),
        "memo": text(300, least=0),
        "lines": listed(LINE, MOST_LINES),
        "subtotal_minor": OUT_SIGNED,
        "tax_minor": OUT_SIGNED,
        "paid_minor": integer(),
        "credited_minor": integer(),
        "charges": listed(CHARGE, MOST_CHARGES, "Every attempt to charge it."),
        "is_cut": {"type": "boolean", "description": "Whether a list was too long to be shown whole."},
    }
)
PLAN = closed(
    {
        "plan_id": OUT_REF,
        "name": _NAME,
        "interval": text(8),
        "price_minor": integer("For one period and one unit, before tax."),
        "currency": OUT_CURRENCY,
    }
)
TEMPLATE = closed(
    {
        "template_id": OUT_REF,
        "name": _NAME,
        "subject": text(200, least=0),
        "body": text(10_000, "With its gaps written {name}.", least=0),
    }
)


def account_json(account: Account360) -> dict[str, Any]:
    """Return the customer with what is open. Lists are cut where their schema ends, and ``is_cut`` says so."""
    customer = account.customer
    lists = (
        (customer.methods, MOST_METHODS),
        (account.subscriptions, MOST_SUBSCRIPTIONS),
        (account.open_invoices, MOST_OPEN),
        (account.disputes, MOST_DISPUTES),
        (account.credits, MOST_CREDITS),
    )
    return {
        "customer_id": customer.ref,
        "name": customer.name,
        "email": customer.email,
        "currency": customer.currency,
        "country": customer.country,
        "tax_bp": customer.rate_bp,
        "tax_exempt": customer.tax_exempt,
        "is_deleted": customer.deleted_at is not None,
        "payment_methods": [_method(method) for method in customer.methods[:MOST_METHODS]],
        "subscriptions": [_subscription(each) for each in account.subscriptions[:MOST_SUBSCRIPTIONS]],
        "open_invoices": [invoice_json(invoice) for invoice in account.open_invoices[:MOST_OPEN]],
        "disputes": [_dispute(dispute) for dispute in account.disputes[:MOST_DISPUTES]],
        "credits": [_credit(credit) for credit in account.credits[:MOST_CREDITS]],
        "owed_minor": account.owed_minor,
        "credit_minor": account.credit_minor,
        "paid_minor": account.paid_minor,
        "is_cut": any(len(found) > most for found, most in lists),
    }


def _method(method: Method) -> dict[str, Any]:
    """What the issuer will answer is not shown: nobody knows it beforehand."""
    return {
        "payment_method_id": method.ref,
        "words": method.words,
        "expires": f"{method.expires[0]:04}-{method.expires[1]:02}" if method.expires else None,
        "is_default": method.is_default,
    }


def _subscription(found: Subscription) -> dict[str, Any]:
    return {
        "subscription_id": found.ref,
        "plan_id": found.plan.ref,
        "plan": found.plan.name,
        "next_plan_id": found.next_plan.ref if found.next_plan else None,
        "quantity": found.quantity,
        "status": found.status.value,
        "period_start": isoformat(found.period_start),
        "period_end": isoformat(found.period_end),
        "cancel_at": _moment(found.cancel_at),
        "paused_at": _moment(found.paused_at),
        "resumes_at": _moment(found.resumes_at),
    }


def invoice_json(invoice: Invoice) -> dict[str, Any]:
    """Return the head of an invoice."""
    return {
        "invoice_id": invoice.ref,
        "number": invoice.number,
        "status": invoice.status.value,
        "currency": invoice.currency,
        "total_minor": invoice.total_minor,
        "left_minor": invoice.left.minor,
        "issued_at": _moment(invoice.issued_at),
        "due_at": _moment(invoice.due_at),
        "attempts": invoice.attempts,
        "next_attempt_at": _moment(invoice.next_attempt_at),
    }


def _dispute(dispute: Dispute) -> dict[str, Any]:
    return {
        "dispute_id": dispute.ref,
        "charge_id": dispute.charge_ref,
        "amount_minor": dispute.amount.minor,
        "currency": dispute.amount.currency,
        "reason": dispute.reason,
        "status": dispute.status.value,
        "respond_by": _moment(dispute.respond_by),
    }


def _credit(credit: Credit) -> dict[str, Any]:
    return {
        "credit_id": credit.ref,
        "amount_minor": credit.amount.minor,
        "left_minor": credit.left_minor,
        "currency": credit.amount.currency,
        "reason": credit.reason,
    }


def explained_json(invoice: Invoice, charges: Sequence[Charge]) -> dict[str, Any]:
    """Return an invoice with its lines, what settled it, and every attempt to charge it."""
    return {
        **invoice_json(invoice),
        "subscription_id": invoice.subscription_ref,
        "memo": invoice.memo,
        "lines": [_line(line) for line in invoice.lines[:MOST_LINES]],
        "subtotal_minor": invoice.subtotal_minor,
        "tax_minor": invoice.tax_minor,
        "paid_minor": invoice.paid_minor,
        "credited_minor": invoice.credited_minor,
        "charges": [_charge(charge) for charge in charges[:MOST_CHARGES]],
        "is_cut": len(invoice.lines) > MOST_LINES or len(charges) > MOST_CHARGES,
    }


def _line(line: Line) -> dict[str, Any]:
    start, end = line.period or (None, None)
    return {
        "description": line.description,
        "quantity": line.quantity,
        "unit_minor": line.unit_minor,
        "amount_minor": line.amount_minor,
        "tax_minor": line.tax_minor,
        "proration": line.proration,
        "from": _moment(start),
        "to": _moment(end),
    }


def _charge(charge: Charge) -> dict[str, Any]:
    return {
        "charge_id": charge.ref,
        "payment_method_id": charge.method_ref,
        "amount_minor": charge.amount.minor,
        "currency": charge.amount.currency,
        "status": charge.status.value,
        "decline_code": charge.decline_code,
        "refunded_minor": charge.refunded_minor,
        "refundable_minor": charge.refundable.minor,
        "at": isoformat(charge.at),
    }


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return a plan with its price for one period."""
    return {
        "plan_id": plan.ref,
        "name": plan.name,
        "interval": plan.interval,
        "price_minor": plan.price.minor,
        "currency": plan.price.currency,
    }


def template_json(template: Template) -> dict[str, Any]:
    """Return a reviewed template with its gaps."""
    return {
        "template_id": template.ref,
        "name": template.name,
        "subject": template.subject,
        "body": template.body,
    }


def _moment(at: datetime | None) -> str | None:
    return None if at is None else isoformat(at)
