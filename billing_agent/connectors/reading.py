"""Reads the billing tables into records, always within one tenant and one customer.

Whoever reads several records gets them with a number of queries that does not grow with how many there are.
"""

from collections.abc import Sequence
from datetime import date
from typing import TypeVar
from uuid import UUID

from django.db.models import Case as Choice
from django.db.models import F, Prefetch, Q, QuerySet, Sum, Value, When

from agentops.kernel.money import Money
from billing_agent import models
from billing_agent.connectors.records import (
    OPEN_DISPUTES,
    Account360,
    Case,
    Charge,
    ChargeStatus,
    Credit,
    Customer,
    Dispute,
    DisputeStatus,
    Invoice,
    InvoiceStatus,
    Line,
    Mail,
    Method,
    Plan,
    Refund,
    Subscription,
    SubscriptionStatus,
    Template,
)
from billing_agent.models.base import Owned

Row = TypeVar("Row", bound=Owned)


def customer_row(tenant_id: UUID, ref: str | None, *, lock: bool = False) -> models.Customer | None:
    """Return the customer of that id, locked for this transaction when asked, or None."""
    if ref is None:
        return None
    return _locked(models.Customer.objects.filter(tenant_id=tenant_id, ref=ref), lock).first()


def customer_record(row: models.Customer, *, lock: bool = False) -> Customer:
    """Return the customer with their methods, which are locked in the order of their id when asked."""
    methods = _locked(row.methods.order_by("ref"), lock)
    return Customer(
        ref=row.ref,
        name=row.name,
        email=row.email,
        currency=row.currency,
        country=row.country,
        tax_bp=row.tax_bp,
        tax_exempt=row.tax_exempt,
        methods=tuple(_method(method) for method in methods),
        created_at=row.created_at,
        deleted_at=row.deleted_at,
        version=row.version,
    )


def _method(row: models.PaymentMethod) -> Method:
    expires = None
    if row.expires_year is not None and row.expires_month is not None:
        expires = (row.expires_year, row.expires_month)
    return Method(row.ref, row.kind, row.brand, row.last_four, expires, row.declines_with, row.is_default, row.version)


def plan_row(tenant_id: UUID, ref: str) -> models.Plan | None:
    """Return the plan of that id, sold or not, or None."""
    return models.Plan.objects.filter(tenant_id=tenant_id, ref=ref).first()


def plan_record(row: models.Plan) -> Plan:
    """Return the plan as a record."""
    return Plan(row.ref, row.name, row.interval, Money(row.amount_minor, row.currency), row.active, row.version)


def plans(tenant_id: UUID, currency: str) -> list[Plan]:
    """Return the plans that are sold in a currency, the cheapest first."""
    rows = models.Plan.objects.filter(tenant_id=tenant_id, currency=currency, active=True)
    return [plan_record(row) for row in rows.order_by("amount_minor", "id")]


def subscription_row(customer: models.Customer, ref: str, *, lock: bool = False) -> models.Subscription | None:
    """Return a subscription of that customer with its plans, locked when asked, or None."""
    return _locked(customer.subscriptions.filter(ref=ref).select_related("plan", "next_plan"), lock).first()


def subscription_record(row: models.Subscription, customer_ref: str) -> Subscription:
    """Return the subscription as a record; ``row`` comes with its plans."""
    return Subscription(
        ref=row.ref,
        customer_ref=customer_ref,
        plan=plan_record(row.plan),
        next_plan=None if row.next_plan is None else plan_record(row.next_plan),
        quantity=row.quantity,
        status=SubscriptionStatus(row.status),
        anchor_day=row.anchor_day,
        period_start=row.period_start,
        period_end=row.period_end,
        cancel_at=row.cancel_at,
        paused_at=row.paused_at,
        resumes_at=row.resumes_at,
        version=row.version,
    )


def invoice_rows(customer: models.Customer) -> QuerySet[models.Invoice]:
    """Return the customer's invoices with what their records need."""
    return customer.invoices.select_related("subscription").prefetch_related("lines")


def invoice_row(customer: models.Customer, ref: str, *, lock: bool = False) -> models.Invoice | None:
    """Return an invoice of that customer by id or number, locked when asked, or None."""
    return _locked(by_id_or_number(invoice_rows(customer), ref), lock).first()


def by_id_or_number(invoices: QuerySet[models.Invoice], ref: str) -> QuerySet[models.Invoice]:
    """Return those of the invoices that have ``ref`` as their id or number: the one with the id comes first."""
    by_id_first = Choice(When(ref=ref, then=Value(0)), default=Value(1))
    return invoices.filter(Q(ref=ref) | Q(number=ref)).order_by(by_id_first)


def invoice_ref_of(customer: models.Customer, charge_ref: str) -> str:
    """Return the id of the invoice that a charge was for, empty when it was for none."""
    refs = customer.charges.filter(ref=charge_ref, invoice__isnull=False).values_list("invoice__ref", flat=True)
    return refs.first() or ""


def invoice_record(row: models.Invoice, customer_ref: str) -> Invoice:
    """Return the invoice with its lines; ``row`` is one of ``invoice_rows``."""
    return Invoice(
        ref=row.ref,
        number=row.number or "",
        customer_ref=customer_ref,
        subscription_ref="" if row.subscription is None else row.subscription.ref,
        status=InvoiceStatus(row.status),
        currency=row.currency,
        memo=row.memo,
        lines=tuple(_line(line) for line in row.lines.all()),
        subtotal_minor=row.subtotal_minor,
        tax_minor=row.tax_minor,
        total_minor=row.total_minor,
        paid_minor=row.paid_minor,
        credited_minor=row.credited_minor,
        created_at=row.created_at,
        issued_at=row.issued_at,
        due_at=row.due_at,
        closed_at=row.closed_at,
        attempts=row.attempts,
        next_attempt_at=row.next_attempt_at,
        version=row.version,
    )


def _line(row: models.InvoiceLine) -> Line:
    period = None
    if row.period_start is not None and row.period_end is not None:
        period = (row.period_start, row.period_end)
    return Line(row.description, row.quantity, row.unit_minor, row.amount_minor, row.tax_minor, row.proration, period)


def charge_rows(customer: models.Customer) -> QuerySet[models.Charge]:
    """Return the customer's charges with what their records need."""
    refunds = Prefetch("refunds", models.Refund.objects.order_by("at", "id"))
    disputes = Prefetch("disputes", models.Dispute.objects.order_by("opened_at", "id"))
    return customer.charges.select_related("invoice").prefetch_related(refunds, disputes)


def charge_row(customer: models.Customer, ref: str, *, lock: bool = False) -> models.Charge | None:
    """Return a charge of that customer, locked when asked, or None."""
    return _locked(charge_rows(customer).filter(ref=ref), lock).first()


def charges_of(customer: models.Customer, invoice: models.Invoice) -> list[Charge]:
    """Return the attempts to charge an invoice, the first one first."""
    rows = charge_rows(customer).filter(invoice=invoice).order_by("at", "id")
    return [charge_record(row) for row in rows]


def charge_record(row: models.Charge) -> Charge:
    """Return the charge with its refunds and disputes; ``row`` is one of ``charge_rows``."""
    return Charge(
        ref=row.ref,
        invoice_ref="" if row.invoice is None else row.invoice.ref,
        method_ref=row.method_ref,
        amount=Money(row.amount_minor, row.currency),
        status=ChargeStatus(row.status),
        decline_code=row.decline_code,
        refunded_minor=row.refunded_minor,
        at=row.at,
        refunds=tuple(
            Refund(each.ref, Money(each.amount_minor, each.currency), each.reason, each.at)
            for each in row.refunds.all()
        ),
        disputes=tuple(dispute_record(each, row.ref) for each in row.disputes.all()),
        version=row.version,
    )


def dispute_record(row: models.Dispute, charge_ref: str) -> Dispute:
    """Return the dispute as a record."""
    return Dispute(
        ref=row.ref,
        charge_ref=charge_ref,
        amount=Money(row.amount_minor, row.currency),
        reason=row.reason,
        status=DisputeStatus(row.status),
        opened_at=row.opened_at,
        respond_by=row.respond_by,
        told_at=row.told_at,
    )


def credit_row(customer: models.Customer, ref: str, *, lock: bool = False) -> models.Credit | None:
    """Return a credit of that customer, used up or not, locked when asked, or None."""
    return _locked(customer.credits.filter(ref=ref), lock).first()


def credits_left(customer: models.Customer, *, lock: bool = False) -> tuple[Credit, ...]:
    """Return the credits of which something is left, the oldest first, locked in that order when asked."""
    rows = _locked(customer.credits.filter(left_minor__gt=0).order_by("at", "id"), lock)
    return tuple(credit_record(row) for row in rows)


def credit_record(row: models.Credit) -> Credit:
    """Return the credit as a record."""
    amount = Money(row.amount_minor, row.currency)
    return Credit(row.ref, amount, row.left_minor, row.reason, row.at, row.reversed_at, row.version)


def template_row(tenant_id: UUID, ref: str) -> models.MailTemplate | None:
    """Return the template of that id, reviewed or not, or None."""
    return models.MailTemplate.objects.filter(tenant_id=tenant_id, ref=ref).first()


def template_record(row: models.MailTemplate) -> Template:
    """Return the template as a record."""
    return Template(row.ref, row.name, row.subject, row.body, row.reviewed_by, row.version)


def templates(tenant_id: UUID) -> list[Template]:
    """Return the templates that somebody reviewed, by name."""
    rows = models.MailTemplate.objects.filter(tenant_id=tenant_id).exclude(reviewed_by="")
    return [template_record(row) for row in rows.order_by("name", "id")]


def mail_row(customer: models.Customer, ref: str, *, lock: bool = False) -> models.Mail | None:
    """Return a mail to that customer, locked when asked, or None."""
    return _locked(customer.mails.filter(ref=ref), lock).first()


def mail_record(row: models.Mail) -> Mail:
    """Return the mail as a record."""
    return Mail(
        ref=row.ref,
        kind=row.kind,
        subject=row.subject,
        body=row.body,
        template_ref=row.template_ref,
        at=row.at,
        release_at=row.release_at,
        recalled_at=row.recalled_at,
        version=row.version,
    )


def case_row(tenant_id: UUID, ref: str, *, lock: bool = False) -> models.Case | None:
    """Return the case of that id, locked when asked, or None."""
    return _locked(models.Case.objects.filter(tenant_id=tenant_id, ref=ref), lock).first()


def case_record(row: models.Case) -> Case:
    """Return the case as a record."""
    return Case(row.ref, row.sender, row.subject, row.status, row.note, row.version)


def closed_through(tenant_id: UUID) -> date | None:
    """Return the last day of the closed books, None while none are closed."""
    closings = models.ClosedPeriod.objects.filter(tenant_id=tenant_id).order_by("-through")
    return closings.values_list("through", flat=True).first()


def account(row: models.Customer) -> Account360:
    """Return the customer with their subscriptions, and all open invoices, open disputes and credits that are left.

    ``paid_minor`` is what charges took less what refunds gave back. All three sums are in the customer's currency.
    """
    open_ones = invoice_rows(row).filter(status=models.Invoice.Status.OPEN).order_by("issued_at", "id")
    invoices = tuple(invoice_record(each, row.ref) for each in open_ones)
    left = credits_left(row)
    subscriptions = row.subscriptions.select_related("plan", "next_plan").order_by("id")
    return Account360(
        customer=customer_record(row),
        subscriptions=tuple(subscription_record(each, row.ref) for each in subscriptions),
        open_invoices=invoices,
        disputes=_open_disputes(row),
        credits=left,
        owed_minor=sum(each.left.minor for each in invoices if each.currency == row.currency),
        credit_minor=sum(each.left_minor for each in left if each.amount.currency == row.currency),
        paid_minor=_paid_minor(row),
    )


def latest_invoices(row: models.Customer, limit: int) -> Sequence[Invoice]:
    """Return the customer's latest ``limit`` invoices with their lines, the newest first."""
    rows = invoice_rows(row).order_by("-created_at", "-id")[:limit]
    return [invoice_record(each, row.ref) for each in rows]


def _open_disputes(row: models.Customer) -> tuple[Dispute, ...]:
    found = models.Dispute.objects.filter(charge__customer=row, status__in=OPEN_DISPUTES).select_related("charge")
    return tuple(dispute_record(each, each.charge.ref) for each in found.order_by("opened_at", "id"))


def _paid_minor(row: models.Customer) -> int:
    charges = row.charges.filter(status=models.Charge.Status.SUCCEEDED, currency=row.currency)
    paid: int | None = charges.aggregate(paid=Sum(F("amount_minor") - F("refunded_minor")))["paid"]
    return paid or 0


def _locked(rows: QuerySet[Row], lock: bool) -> QuerySet[Row]:
    return rows.select_for_update(of=("self",)) if lock else rows
