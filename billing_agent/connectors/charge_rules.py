"""Charges that are tried again, and money that goes back for one. Pure."""

from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime, timedelta
from typing import Any

from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount
from agentops.registry.tool import Change, Preview
from billing_agent.connectors.checks import (
    known_customer,
    known_invoice,
    own_method,
    present_customer,
    require_amount,
    require_open,
    target_of,
)
from billing_agent.connectors.effect import Effect, NewCharge, NewRefund, Snapshot, conflict, missing
from billing_agent.connectors.issuing import settlement
from billing_agent.connectors.port import RefundCharge, RetryCharge
from billing_agent.connectors.posting import Account, EntryKind, posted
from billing_agent.connectors.records import (
    OPEN_DISPUTES,
    Charge,
    ChargeStatus,
    Customer,
    Invoice,
    InvoiceStatus,
    Method,
)
from billing_agent.connectors.taxes import refund_tax

EXPIRED = "expired_card"
LOST = "lost_or_stolen"

DUNNING = (timedelta(days=3), timedelta(days=5), timedelta(days=7))
"""How long after the first, second and third attempt the next one is due."""


def answer_of(method: Method, on: date) -> str:
    """Return what the method's issuer answers to a charge: why it declines, empty when it pays."""
    return EXPIRED if method.is_expired(on) else method.declines_with


def next_attempt(attempts: int, now: datetime) -> datetime | None:
    """Return when the next attempt is due after ``attempts`` that were declined, None when people decide."""
    return now + DUNNING[attempts - 1] if 1 <= attempts <= len(DUNNING) else None


def plan_retry(snapshot: Snapshot, write: RetryCharge) -> Effect:
    """Try to take what is left of an open invoice. An issuer that declines is a result, with the reason.

    What the issuer will answer is not in the preview. Raises ToolFailure for another amount than what is left, an
    invoice that is not open, a card that is not tried again, and a deleted customer.
    """
    customer, invoice = present_customer(snapshot), known_invoice(snapshot)
    method = own_method(customer, write.method_ref)
    require_amount(write.amount, invoice.currency, f"Invoice {invoice.words}")
    require_open(invoice, "charged")
    if write.amount != invoice.left:
        raise conflict(
            f"On invoice {invoice.words} {invoice.left} are left to pay, not {write.amount}.", "amount_minor"
        )
    _require_hope(method, snapshot.attempts, snapshot.now.date())
    declined = answer_of(method, snapshot.now.date())
    fields = _after_attempt(snapshot, invoice, method, declined)
    ref = snapshot.new_ref("ch")
    following = fields.get("next_attempt_at")
    return Effect(
        preview=_retry_preview(snapshot, customer, invoice, method),
        result={
            "charge_id": ref,
            "invoice_id": invoice.ref,
            "payment_method_id": method.ref,
            "amount_minor": write.amount.minor,
            "currency": write.amount.currency,
            "status": (ChargeStatus.FAILED if declined else ChargeStatus.SUCCEEDED).value,
            "decline_code": declined,
            "invoice_status": fields.get("status", InvoiceStatus.OPEN.value),
            "attempts": fields["attempts"],
            "next_attempt_at": "" if following is None else following.isoformat(),
        },
        invoice=fields,
        new_charge=NewCharge(ref, invoice.ref, method.ref, write.amount.minor, write.amount.currency, declined),
        entries=()
        if declined
        else posted(
            EntryKind.CHARGE,
            write.amount.currency,
            ref,
            {Account.CASH: write.amount.minor, Account.RECEIVABLE: -write.amount.minor},
            memo=f"For invoice {invoice.words}",
        ),
    )


def _require_hope(method: Method, attempts: Sequence[Charge], on: date) -> None:
    answers = _answers(method, attempts)
    if is_given_up(method, answers, on):
        why = "was reported lost or stolen" if LOST in answers else "has expired"
        raise conflict(f"{method.words} {why} and was declined for it, so it is not tried again.", "payment_method_id")


def _answers(method: Method, attempts: Sequence[Charge]) -> Set[str]:
    return {each.decline_code for each in attempts if each.method_ref == method.ref}


def is_given_up(method: Method, answers: Set[str], on: date) -> bool:
    """Return whether a card that was declined with ``answers`` is not tried again.

    An expired one is when it has a new date, a lost or stolen one never.
    """
    return LOST in answers or (EXPIRED in answers and method.is_expired(on))


def _after_attempt(snapshot: Snapshot, invoice: Invoice, method: Method, declined: str) -> Mapping[str, Any]:
    attempts = invoice.attempts + 1
    if not declined:
        return settlement(invoice, snapshot.now, paid_minor=invoice.left.minor) | {"attempts": attempts}
    following = snapshot.customer.default_method if snapshot.customer is not None else None
    if following is None:
        return {"attempts": attempts, "next_attempt_at": None}
    answers = _answers(following, snapshot.attempts) | ({declined} if following.ref == method.ref else set())
    given_up = is_given_up(following, answers, snapshot.now.date())
    return {"attempts": attempts, "next_attempt_at": None if given_up else next_attempt(attempts, snapshot.now)}


def _retry_preview(snapshot: Snapshot, customer: Customer, invoice: Invoice, method: Method) -> Preview:
    left, nothing = invoice.left, Money(0, invoice.currency)
    expires = f", expires {method.expires[1]:02}/{method.expires[0]}" if method.expires else ""
    return Preview(
        effect=f"Charge {left} to {method.words} of {customer.name} for invoice {invoice.words}",
        target=target_of(customer),
        changes=(
            Change("Charged", "", f"{method.words}{expires}"),
            Change("Attempts", str(invoice.attempts), str(invoice.attempts + 1)),
            Change(f"Invoice {invoice.words}, if the issuer pays", invoice.status.value, InvoiceStatus.PAID.value),
        ),
        versions=snapshot.versions(),
        money=left,
        parts=(
            Amount.of(
                "Charge", left, ((f"Left to pay on invoice {invoice.words}, if the issuer pays", left, nothing),)
            ),
        ),
    )


def plan_refund(snapshot: Snapshot, write: RefundCharge) -> Effect:
    """Give back part or all of a charge to the method that paid it, with its part of the invoice's tax.

    Raises ToolFailure for a charge that failed, more than can still go back, an open dispute, and another currency.
    """
    customer, charge, amount = known_customer(snapshot), snapshot.charge, write.amount
    if charge is None:
        raise missing("charge", "charge_id")
    require_amount(amount, charge.amount.currency, f"Charge {charge.ref}")
    _require_refundable(charge, amount)
    invoice = known_invoice(snapshot) if charge.invoice_ref else None
    tax = _tax_in(invoice, charge, amount)
    currency, ref = amount.currency, snapshot.new_ref("re")
    refunded = charge.refunded_minor + amount.minor
    return Effect(
        preview=_refund_preview(snapshot, customer, charge, write, tax),
        result={
            "refund_id": ref,
            "charge_id": charge.ref,
            "payment_method_id": charge.method_ref,
            "amount_minor": amount.minor,
            "tax_minor": tax,
            "currency": currency,
            "refunded_minor": refunded,
            "refundable_minor": charge.refundable.minor - amount.minor,
        },
        refunded_minor=refunded,
        new_refund=NewRefund(ref, charge.ref, amount.minor, currency, write.reason),
        entries=posted(
            EntryKind.REFUND,
            currency,
            ref,
            {Account.REFUNDS: amount.minor - tax, Account.TAX: tax, Account.CASH: -amount.minor},
            memo=write.reason,
        ),
    )


def _refund_preview(snapshot: Snapshot, customer: Customer, charge: Charge, write: RefundCharge, tax: int) -> Preview:
    amount, currency, invoice = write.amount, write.amount.currency, snapshot.invoice
    method = customer.method(charge.method_ref)
    paid_for = f" for invoice {invoice.words}" if invoice is not None and charge.invoice_ref else ""
    refunded = Money(charge.refunded_minor, currency), Money(charge.refunded_minor + amount.minor, currency)
    refundable = charge.refundable, Money(charge.refundable.minor - amount.minor, currency)
    return Preview(
        effect=f"Refund {amount} of {charge.amount} to {customer.name}{paid_for},"
        f" to {charge.method_ref if method is None else method.words}",
        target=target_of(customer),
        changes=(
            Change(f"Refunded of charge {charge.ref}", *map(str, refunded)),
            Change("Can still be refunded", *map(str, refundable)),
            Change("Tax in the refund", "", str(Money(tax, currency))),
            Change("Reason", "", write.reason),
        ),
        versions=snapshot.versions(),
        money=amount,
        parts=(
            Amount.of(
                "Refund",
                amount,
                ((f"Refunded of charge {charge.ref}", *refunded), ("Can still be refunded", *refundable)),
            ),
        ),
    )


def _tax_in(invoice: Invoice | None, charge: Charge, amount: Money) -> int:
    if invoice is None:
        return 0
    return refund_tax(
        amount.minor,
        refunded_minor=charge.refunded_minor,
        tax_minor=invoice.tax_minor,
        total_minor=invoice.total_minor,
    )


def _require_refundable(charge: Charge, amount: Money) -> None:
    if charge.status is not ChargeStatus.SUCCEEDED:
        raise conflict(f"Charge {charge.ref} took nothing, so there is nothing to refund.", "charge_id")
    if any(each.status in OPEN_DISPUTES for each in charge.disputes):
        raise conflict(f"Charge {charge.ref} is disputed; nothing is refunded until that is settled.", "charge_id")
    if charge.refundable.minor < 1:
        raise conflict(f"Everything that charge {charge.ref} took has gone back already.", "charge_id")
    if amount.minor > charge.refundable.minor:
        raise conflict(f"Of charge {charge.ref} only {charge.refundable} can still be refunded.", "amount_minor")
