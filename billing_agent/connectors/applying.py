"""Carries an effect out on the rows that its snapshot was read from, which are locked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import F, Manager

from agentops.registry.once import Call
from billing_agent import models
from billing_agent.connectors.checks import MOST_QUANTITY
from billing_agent.connectors.effect import (
    Effect,
    NewCharge,
    NewCredit,
    NewInvoice,
    NewMail,
    NewRefund,
    Posted,
    conflict,
    invalid,
)
from billing_agent.connectors.records import InvoiceStatus, Line
from billing_agent.models.base import Record

Row = TypeVar("Row", bound=Record)


@dataclass(frozen=True)
class Rows:
    """The rows that a write is about, as far as they exist."""

    customer: models.Customer | None = None
    credit: models.Credit | None = None
    subscription: models.Subscription | None = None
    invoice: models.Invoice | None = None
    charge: models.Charge | None = None
    mail: models.Mail | None = None
    case: models.Case | None = None


def apply(call: Call, rows: Rows, effect: Effect) -> None:
    """Write what ``effect`` changes and makes.

    The number of a new invoice is taken last, because it keeps every other invoice of the tenant waiting. Raises
    ToolFailure CONFLICT when a record is not any more what it was read as, ValueError for an effect on a record that
    was not read.
    """
    refunded = {} if effect.refunded_minor is None else {"refunded_minor": effect.refunded_minor}
    _set_credits(call, rows, effect)
    _set(models.Subscription.objects, rows.subscription, _subscription_fields(call, effect.subscription))
    _set(models.Invoice.objects, rows.invoice, effect.invoice)
    _set(models.Charge.objects, rows.charge, refunded)
    _take_mail_back(call, rows.mail, effect)
    _set(models.Case.objects, rows.case, effect.case)
    _make(call, rows, effect)


def _set(table: Manager[Row], row: Row | None, fields: Mapping[str, Any]) -> None:
    if not fields:
        return
    read = _read(row)
    _require_one(table.filter(pk=read.pk, version=read.version).update(**fields, version=F("version") + 1))


def _read(row: Row | None) -> Row:
    if row is None:
        raise ValueError("an effect is on records that were read")
    return row


def _require_one(changed: int) -> None:
    if changed != 1:
        raise conflict("The record has changed meanwhile.")


def _subscription_fields(call: Call, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns to set: an effect names a plan by its id."""
    columns = dict(fields)
    for name in ("plan", "next_plan"):
        if columns.get(name) is not None:
            columns[name] = models.Plan.objects.get(tenant_id=call.tenant_id, ref=columns[name])
    return columns


def _set_credits(call: Call, rows: Rows, effect: Effect) -> None:
    changes: dict[str, dict[str, Any]] = {ref: {"left_minor": left} for ref, left in effect.credits.items()}
    if effect.reverses_credit:
        changes[_read(rows.credit).ref] = {"left_minor": 0, "reversed_at": call.now}
    for ref, fields in changes.items():
        own = _read(rows.customer).credits.filter(ref=ref, reversed_at__isnull=True)
        _require_one(own.update(**fields, version=F("version") + 1))


def _take_mail_back(call: Call, row: models.Mail | None, effect: Effect) -> None:
    if effect.recalls_mail:
        waiting = models.Mail.objects.filter(pk=_read(row).pk, recalled_at__isnull=True, release_at__gt=call.now)
        _require_one(waiting.update(recalled_at=call.now, version=F("version") + 1))
    if effect.discards_mail:
        drafts = models.Mail.objects.filter(pk=_read(row).pk, kind=models.Mail.Kind.DRAFT)
        _require_one(drafts.delete()[0])


def _make(call: Call, rows: Rows, effect: Effect) -> None:
    new = (effect.new_credit, effect.new_invoice, effect.new_charge, effect.new_refund, effect.new_mail)
    if not any(new) and not effect.entries:
        return
    customer, invoice = _read(rows.customer), rows.invoice
    if effect.new_credit is not None:
        _make_credit(call, customer, effect.new_credit)
    if effect.new_invoice is not None:
        invoice = _draft(call, customer, rows.subscription, effect.new_invoice)
    if effect.new_charge is not None:
        _make_charge(call, customer, invoice, effect.new_charge)
    if effect.new_refund is not None:
        _make_refund(call, _read(rows.charge), effect.new_refund)
    if effect.new_mail is not None:
        _make_mail(call, customer, effect.new_mail)
    post(call, customer.ref, effect.entries)
    if effect.new_invoice is not None:
        _issue(call, _read(invoice), effect.new_invoice)


def _make_credit(call: Call, customer: models.Customer, new: NewCredit) -> None:
    models.Credit.objects.create(
        tenant_id=call.tenant_id,
        customer=customer,
        ref=new.ref,
        amount_minor=new.amount_minor,
        left_minor=new.left_minor,
        currency=new.currency,
        reason=new.reason,
        at=call.now,
        operation_key=call.key,
    )


def _draft(
    call: Call, customer: models.Customer, subscription: models.Subscription | None, new: NewInvoice
) -> models.Invoice:
    """Write the invoice with its lines as a draft, since an issued one takes no line."""
    row = models.Invoice.objects.create(
        tenant_id=call.tenant_id,
        customer=customer,
        subscription=_read(subscription) if new.subscription_ref else None,
        ref=new.ref,
        currency=new.currency,
        memo=new.memo,
        subtotal_minor=new.subtotal_minor,
        tax_minor=new.tax_minor,
        total_minor=new.total_minor,
        created_at=call.now,
        due_at=new.due_at,
        next_attempt_at=new.next_attempt_at,
    )
    models.InvoiceLine.objects.bulk_create(
        _line(call, row, number, line) for number, line in enumerate(new.lines, start=1)
    )
    return row


def _line(call: Call, invoice: models.Invoice, number: int, line: Line) -> models.InvoiceLine:
    if line.quantity > MOST_QUANTITY:
        # The driver writes what no column holds as another number, instead of refusing it.
        raise invalid(f"A line is for at most {MOST_QUANTITY} of something.", "items")
    start, end = line.period or (None, None)
    return models.InvoiceLine(
        tenant_id=call.tenant_id,
        invoice=invoice,
        number=number,
        description=line.description,
        quantity=line.quantity,
        unit_minor=line.unit_minor,
        amount_minor=line.amount_minor,
        tax_minor=line.tax_minor,
        proration=line.proration,
        period_start=start,
        period_end=end,
    )


def _issue(call: Call, row: models.Invoice, new: NewInvoice) -> None:
    models.Invoice.objects.filter(pk=row.pk).update(
        number=next_number(call.tenant_id),
        status=new.status,
        credited_minor=new.credited_minor,
        issued_at=call.now,
        closed_at=call.now if new.status is InvoiceStatus.PAID else None,
    )


def next_number(tenant_id: UUID) -> str:
    """Take the next number of the tenant's invoices. Until the transaction ends, nobody else gets one.

    A transaction that is rolled back gives its number back, so that there are no gaps.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO billing_agent_invoiceseries AS series (tenant_id, prefix, last) VALUES (%s, %s, 1)"
            " ON CONFLICT (tenant_id) DO UPDATE SET last = series.last + 1 RETURNING prefix, last",
            [tenant_id, models.InvoiceSeries().prefix],
        )
        prefix, last = cursor.fetchone()
    return str(models.InvoiceSeries(prefix=prefix, last=last))


def _make_charge(call: Call, customer: models.Customer, invoice: models.Invoice | None, new: NewCharge) -> None:
    succeeded, failed = models.Charge.Status.SUCCEEDED, models.Charge.Status.FAILED
    models.Charge.objects.create(
        tenant_id=call.tenant_id,
        customer=customer,
        invoice=_read(invoice) if new.invoice_ref else None,
        ref=new.ref,
        method_ref=new.method_ref,
        amount_minor=new.amount_minor,
        currency=new.currency,
        status=failed if new.decline_code else succeeded,
        decline_code=new.decline_code,
        at=call.now,
        operation_key=call.key,
    )


def _make_refund(call: Call, charge: models.Charge, new: NewRefund) -> None:
    models.Refund.objects.create(
        tenant_id=call.tenant_id,
        charge=charge,
        ref=new.ref,
        amount_minor=new.amount_minor,
        currency=new.currency,
        reason=new.reason,
        at=call.now,
        operation_key=call.key,
    )


def _make_mail(call: Call, customer: models.Customer, new: NewMail) -> None:
    models.Mail.objects.create(
        tenant_id=call.tenant_id,
        customer=customer,
        ref=new.ref,
        kind=models.Mail.Kind.DRAFT if new.release_at is None else models.Mail.Kind.SENT,
        template_ref=new.template_ref,
        template_version=new.template_version,
        subject=new.subject,
        body=new.body,
        at=call.now,
        release_at=new.release_at,
        operation_key=call.key,
    )


def post(call: Call, customer_ref: str, entries: Sequence[Posted]) -> None:
    """Write entries of the books with their lines."""
    made = models.Entry.objects.bulk_create(
        models.Entry(
            tenant_id=call.tenant_id,
            kind=posted.kind,
            currency=posted.currency,
            customer_ref=customer_ref,
            record_ref=posted.record_ref,
            memo=posted.memo,
            at=call.now,
            operation_key=call.key,
        )
        for posted in entries
    )
    models.Posting.objects.bulk_create(
        models.Posting(entry=entry, account=account, minor=minor)
        for entry, posted in zip(made, entries, strict=True)
        for account, minor in posted.postings.items()
    )
