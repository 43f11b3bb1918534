"""What becomes of a subscription when its time has come, and of an invoice that is to be charged again. Pure.

No person asked for it, so nothing is refused here but what cannot be: the run that carries it out tells people. What
is due is done as of the moment when it was due, so that a run that comes late comes to the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agentops.kernel.clock import isoformat
from agentops.registry.tool import Change, Preview
from billing_agent.connectors.charge_rules import DUNNING
from billing_agent.connectors.checks import known_customer, target_of
from billing_agent.connectors.effect import Effect, NewInvoice, Snapshot, conflict
from billing_agent.connectors.issuing import Issued, issued, taxed_line
from billing_agent.connectors.periods import Period, period_from
from billing_agent.connectors.plan_change_rules import PAYMENT_TERM
from billing_agent.connectors.port import RetryCharge
from billing_agent.connectors.records import (
    Customer,
    Invoice,
    InvoiceStatus,
    Subscription,
    SubscriptionStatus,
)
from billing_agent.connectors.subscription_rules import (
    FIELD,
    ended,
    known_subscription,
    result_of,
    resumed,
    shown,
)

MOST_ATTEMPTS = 1 + len(DUNNING)


def plan_due(snapshot: Snapshot) -> Effect | None:
    """Return the next thing that is due for the snapshot's subscription, None when nothing is.

    One at a time: after a long pause of the run, periods are billed one by one until nothing is due. The snapshot's key
    tells one period of one subscription from every other, since the invoice is known by it. Raises ToolFailure
    NOT_FOUND without customer or subscription, CONFLICT when the plan is not in the customer's currency.
    """
    customer, subscription = known_customer(snapshot), known_subscription(snapshot)
    now = snapshot.now
    if subscription.status is SubscriptionStatus.CANCELLED:
        return None
    if subscription.status is SubscriptionStatus.PAUSED:
        return _after_pause(snapshot, customer, subscription)
    if subscription.cancel_at is not None and subscription.cancel_at <= now:
        words = f"{subscription.words} of {customer.name} ends with its period"
        return ended(snapshot, subscription.cancel_at, None, words)
    if subscription.period_end > now:
        return None
    if customer.deleted_at is not None:
        words = f"{subscription.words} of {customer.name} ends, because the customer is deleted"
        return ended(snapshot, subscription.period_end, "The customer is deleted.", words)
    return _renewed(snapshot, customer, subscription)


def standing(subscription: Subscription, invoices: Sequence[Invoice], now: datetime) -> SubscriptionStatus:
    """Return the status that a subscription has by its invoices.

    Past due while something is left of an open one that was tried in vain or should have been paid by ``now``, active
    otherwise. Paused and cancelled ones stay what they are, and what was written off counts no more.
    """
    if subscription.status in (SubscriptionStatus.PAUSED, SubscriptionStatus.CANCELLED):
        return subscription.status
    late = any(
        invoice.subscription_ref == subscription.ref
        and invoice.status is InvoiceStatus.OPEN
        and invoice.left.minor > 0
        and (invoice.attempts > 0 or (invoice.due_at is not None and invoice.due_at <= now))
        for invoice in invoices
    )
    return SubscriptionStatus.PAST_DUE if late else SubscriptionStatus.ACTIVE


def due_retry(invoice: Invoice, customer: Customer, now: datetime) -> RetryCharge | None:
    """Return the attempt to charge ``invoice`` that is due at ``now``, with the customer's default method.

    None when it is not due, or when people have to decide: after the last attempt, without a method, and for a deleted
    customer. The run that asks then takes the moment of the next attempt off the invoice.
    """
    method = customer.default_method
    if invoice.next_attempt_at is None or invoice.next_attempt_at > now:
        return None
    if invoice.status is not InvoiceStatus.OPEN or invoice.left.minor <= 0 or invoice.attempts >= MOST_ATTEMPTS:
        return None
    if customer.deleted_at is not None or method is None:
        return None
    return RetryCharge(invoice.ref, method.ref, invoice.left)


def _after_pause(snapshot: Snapshot, customer: Customer, subscription: Subscription) -> Effect | None:
    resumes_at = subscription.resumes_at
    if resumes_at is None or resumes_at > snapshot.now:
        return None
    if customer.deleted_at is not None:
        words = f"{subscription.words} of {customer.name} ends, because the customer is deleted"
        return ended(snapshot, resumes_at, "The customer is deleted.", words)
    return resumed(snapshot, resumes_at)


def _renewed(snapshot: Snapshot, customer: Customer, subscription: Subscription) -> Effect:
    plan = subscription.next_plan or subscription.plan
    if plan.price.currency != customer.currency:
        words = f"{plan.name} is sold in {plan.price.currency}; {customer.name} is billed in {customer.currency}."
        raise conflict(words, FIELD)
    period = period_from(subscription.period_end, plan.interval, subscription.anchor_day)
    bill = _bill(snapshot, customer, subscription, period)
    changed = subscription.next_plan is not None
    fields = {"period_start": period.start, "period_end": period.end}
    return Effect(
        preview=Preview(
            effect=(
                f"Renew {plan.name} of {customer.name} until {period.end.date()}"
                f" and {f'invoice {bill.total}' if bill else 'bill nothing'}"
            ),
            target=target_of(customer),
            changes=(
                *((Change("Plan", subscription.plan.name, plan.name),) if changed else ()),
                Change("Period ends", shown(subscription.period_end), shown(period.end)),
                *(bill.changes if bill else ()),
            ),
            versions=snapshot.versions(),
            money=bill.total if bill else None,
        ),
        result=result_of(subscription, subscription.status)
        | {
            "plan_id": plan.ref,
            "period_end": isoformat(period.end),
            "invoice_id": bill.new_invoice.ref if bill else "",
            "invoiced_minor": bill.total.minor if bill else 0,
            "left_minor": bill.left.minor if bill else 0,
            "currency": plan.price.currency,
        },
        subscription=fields | ({"plan": plan.ref, "next_plan": None} if changed else {}),
        credits=bill.credits if bill else {},
        new_invoice=_collected(bill, snapshot.now) if bill else None,
        entries=bill.entries if bill else (),
    )


def _collected(bill: Issued, now: datetime) -> NewInvoice:
    """Return the invoice with its first attempt due at once, when credit leaves something to be paid."""
    return replace(bill.new_invoice, next_attempt_at=now if bill.left.minor > 0 else None)


def _bill(snapshot: Snapshot, customer: Customer, subscription: Subscription, period: Period) -> Issued | None:
    plan = subscription.next_plan or subscription.plan
    if not plan.price.minor:
        return None
    line = taxed_line(
        plan.name, subscription.quantity, plan.price.minor, customer.rate_bp, period=(period.start, period.end)
    )
    return issued(
        snapshot,
        snapshot.new_ref("in", "invoice"),
        [line],
        subscription_ref=subscription.ref,
        memo=f"{plan.name} until {period.end.date()}",
        due_at=snapshot.now + PAYMENT_TERM,
    )
