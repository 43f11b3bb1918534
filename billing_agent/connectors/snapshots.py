"""Reads what a write is about: as a snapshot for the rules, and as the rows that its effect changes."""

from dataclasses import dataclass
from typing import assert_never

from agentops.registry.once import Call
from agentops.registry.tool import CallContext
from billing_agent import models
from billing_agent.connectors import reading
from billing_agent.connectors.applying import Rows
from billing_agent.connectors.effect import Snapshot
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    CaseWrite,
    ChangePlan,
    CloseCase,
    DiscardMail,
    DropPlanChange,
    EscalateCase,
    GenerateInvoice,
    KeepSubscription,
    PauseSubscription,
    RecallMail,
    RefundCharge,
    ReopenCase,
    ResumeSubscription,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
    WriteMail,
    WriteOffInvoice,
)


@dataclass(frozen=True)
class Named:
    """The ids of the records that a write is about, and whether it bills, which uses the credits that are left."""

    credit: str = ""
    subscription: str = ""
    plan: str = ""
    invoice: str = ""
    charge: str = ""
    template: str = ""
    mail: str = ""
    bills: bool = False


def named_by(write: Write) -> Named:
    """Return what ``write`` names."""
    match write:
        case ApplyCredit() | RetryCharge() | VoidInvoice() | WriteOffInvoice():
            return Named(invoice=write.invoice_ref)
        case ReverseCredit():
            return Named(credit=write.credit_ref)
        case RefundCharge():
            return Named(charge=write.charge_ref)
        case GenerateInvoice():
            return Named(bills=True)
        case ChangePlan():
            return Named(subscription=write.subscription_ref, plan=write.plan_ref, bills=True)
        case DropPlanChange() | PauseSubscription() | ResumeSubscription() | CancelSubscription() | KeepSubscription():
            return Named(subscription=write.subscription_ref)
        case WriteMail():
            return Named(template=write.template_ref)
        case RecallMail() | DiscardMail():
            return Named(mail=write.mail_ref)
        case CloseCase() | ReopenCase() | EscalateCase():
            return Named()
        case _:
            assert_never(write)


def read(context: CallContext, write: Write, *, lock: bool) -> tuple[Snapshot, Rows]:
    """Return the records that ``write`` is about, with their rows, which are locked in the one order when asked."""
    of_case = isinstance(write, CaseWrite)
    customer = reading.customer_row(context.tenant_id, context.customer_id, lock=lock and not of_case)
    if of_case:
        return _of_case(context, customer, lock=lock)
    if customer is None:
        return Snapshot(now=context.now, key=context.idempotency_key), Rows()
    call = Call(context.tenant_id, context.idempotency_key, context.now)
    return of_customer(call, customer, named_by(write), lock=lock)


def _of_case(context: CallContext, customer: models.Customer | None, *, lock: bool) -> tuple[Snapshot, Rows]:
    """Return the session's case. It may be nobody's, and the customer is only told of."""
    case = reading.case_row(context.tenant_id, context.subject_id, lock=lock)
    snapshot = Snapshot(
        now=context.now,
        key=context.idempotency_key,
        customer=None if customer is None else reading.customer_record(customer),
        case=None if case is None else reading.case_record(case),
    )
    return snapshot, Rows(case=case)


def of_customer(call: Call, customer: models.Customer, named: Named, *, lock: bool) -> tuple[Snapshot, Rows]:
    """Return the customer's records of those ids; the customer's own row is locked already when asked to lock."""
    record = reading.customer_record(customer, lock=lock)
    credits_left = reading.credits_left(customer, lock=lock) if named.bills else ()
    rows = _rows(customer, named, lock=lock)
    attempts = () if rows.invoice is None else tuple(reading.charges_of(customer, rows.invoice))
    plan = reading.plan_row(call.tenant_id, named.plan) if named.plan else None
    template = reading.template_row(call.tenant_id, named.template) if named.template else None
    snapshot = Snapshot(
        now=call.now,
        key=call.key,
        customer=record,
        invoice=None if rows.invoice is None else reading.invoice_record(rows.invoice, customer.ref),
        charge=None if rows.charge is None else reading.charge_record(rows.charge),
        attempts=attempts,
        subscription=(
            None if rows.subscription is None else reading.subscription_record(rows.subscription, customer.ref)
        ),
        plan=None if plan is None else reading.plan_record(plan),
        credit=None if rows.credit is None else reading.credit_record(rows.credit),
        credits=credits_left,
        template=None if template is None else reading.template_record(template),
        mail=None if rows.mail is None else reading.mail_record(rows.mail),
        closed_through=reading.closed_through(call.tenant_id),
    )
    return snapshot, rows


def _rows(customer: models.Customer, named: Named, *, lock: bool) -> Rows:
    """Return the customer's rows of those ids, and the invoice of a charge.

    Which one that is never changes, so that it is found before both are locked in their turn.
    """
    invoice_ref = reading.invoice_ref_of(customer, named.charge) if named.charge else named.invoice
    return Rows(
        customer=customer,
        credit=reading.credit_row(customer, named.credit, lock=lock) if named.credit else None,
        subscription=(
            reading.subscription_row(customer, named.subscription, lock=lock) if named.subscription else None
        ),
        invoice=reading.invoice_row(customer, invoice_ref, lock=lock) if invoice_ref else None,
        charge=reading.charge_row(customer, named.charge, lock=lock) if named.charge else None,
        mail=reading.mail_row(customer, named.mail, lock=lock) if named.mail else None,
    )
