"""What is owed: invoices and their lines. What is closed never changes."""

import pgtrigger
from django.db import models
from django.db.models import F, Q

from billing_agent.models.base import Owned, Record
from billing_agent.models.customers import Customer
from billing_agent.models.subscriptions import Subscription

A_CLOSED_INVOICE_STAYS = pgtrigger.Trigger(
    name="a_closed_invoice_stays",
    level=pgtrigger.Row,
    when=pgtrigger.Before,
    operation=pgtrigger.Update | pgtrigger.Delete,
    condition=pgtrigger.Q(old__status__in=["paid", "void", "uncollectible"]),
    func="RAISE EXCEPTION 'a closed invoice never changes' USING ERRCODE = 'check_violation';",
)

AN_ISSUED_LINE_STAYS = pgtrigger.Trigger(
    name="an_issued_line_stays",
    level=pgtrigger.Row,
    when=pgtrigger.Before,
    operation=pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete,
    func="""
    IF EXISTS (SELECT 1 FROM billing_agent_invoice i WHERE i.status <> 'draft' AND i.id IN (
      CASE WHEN TG_OP <> 'INSERT' THEN OLD.invoice_id END, CASE WHEN TG_OP <> 'DELETE' THEN NEW.invoice_id END)) THEN
      RAISE EXCEPTION 'the lines of an issued invoice never change' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NEW;""",
)


AN_INVOICE_IS_ITS_LINES = pgtrigger.Trigger(
    name="an_invoice_is_its_lines",
    level=pgtrigger.Row,
    when=pgtrigger.After,
    operation=pgtrigger.Insert | pgtrigger.UpdateOf("status", "total_minor"),  # type: ignore[no-untyped-call]
    timing=pgtrigger.Deferred,
    condition=pgtrigger.Q(new__status__in=["open", "paid", "void", "uncollectible"]),
    func="""
    IF NEW.total_minor <> (SELECT coalesce(sum(l.amount_minor + l.tax_minor), 0) FROM billing_agent_invoiceline l
                           WHERE l.invoice_id = NEW.id) THEN
      RAISE EXCEPTION 'an issued invoice comes to what its lines do' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;""",
)


class Invoice(Record):
    """One bill. ``number`` is given when it is issued, without gaps, and never again.

    ``total_minor`` is what was billed; ``paid_minor`` and ``credited_minor`` are what settled it so far. It is paid
    when nothing is left. Refunds belong to charges and leave it as it is.
    """

    class Status(models.TextChoices):
        """Where it is in its life."""

        DRAFT = "draft", "Draft"
        OPEN = "open", "Open"
        PAID = "paid", "Paid"
        VOID = "void", "Void"
        UNCOLLECTIBLE = "uncollectible", "Uncollectible"

    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="invoices")
    subscription = models.ForeignKey(
        Subscription, on_delete=models.PROTECT, null=True, blank=True, related_name="invoices"
    )
    number = models.CharField(max_length=32, null=True, blank=True)  # noqa: DJ001 - "" would be a number that two have
    status = models.CharField(max_length=16, choices=Status, default=Status.DRAFT)
    currency = models.CharField(max_length=3)
    memo = models.CharField(max_length=300, blank=True)
    subtotal_minor = models.BigIntegerField(default=0)
    tax_minor = models.BigIntegerField(default=0)
    total_minor = models.BigIntegerField(default=0)
    paid_minor = models.BigIntegerField(default=0)
    credited_minor = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    issued_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="How often it was tried to charge it.")
    next_attempt_at = models.DateTimeField(null=True, blank=True)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_invoice_a_ref"),
            models.UniqueConstraint(fields=["tenant", "number"], name="one_invoice_a_number"),
            models.CheckConstraint(
                condition=Q(total_minor=F("subtotal_minor") + F("tax_minor")), name="a_total_is_subtotal_and_tax"
            ),
            models.CheckConstraint(
                condition=Q(paid_minor__gte=0, credited_minor__gte=0)
                & Q(total_minor__gte=F("paid_minor") + F("credited_minor")),
                name="no_more_settles_an_invoice_than_it_says",
            ),
            models.CheckConstraint(
                condition=~Q(status="paid") | Q(total_minor=F("paid_minor") + F("credited_minor")),
                name="a_paid_invoice_is_settled",
            ),
            models.CheckConstraint(
                condition=Q(status="draft", number__isnull=True, issued_at__isnull=True)
                | (~Q(status="draft") & Q(number__isnull=False, issued_at__isnull=False)),
                name="an_issued_invoice_has_a_number",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["paid", "void", "uncollectible"], closed_at__isnull=False)
                | (~Q(status__in=["paid", "void", "uncollectible"]) & Q(closed_at__isnull=True)),
                name="a_closed_invoice_has_a_time",
            ),
        ]
        indexes = [
            models.Index(fields=["customer", "-created_at"], name="invoices_of_a_customer"),
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(status="open", next_attempt_at__isnull=False),
                name="dunning_due",
            ),
            models.Index(
                fields=["tenant", "customer"],
                include=["due_at", "attempts"],
                condition=Q(status="open"),
                name="open_invoices_by_customer",
            ),
        ]
        triggers = [A_CLOSED_INVOICE_STAYS, AN_INVOICE_IS_ITS_LINES]

    def __str__(self) -> str:
        return self.number or self.ref


class InvoiceLine(Owned):
    """One line of an invoice, numbered from 1. A credit for unused time is a line with a negative amount."""

    invoice = models.ForeignKey(Invoice, on_delete=models.CASCADE, related_name="lines")
    number = models.PositiveIntegerField()
    description = models.CharField(max_length=300)
    quantity = models.PositiveIntegerField(default=1)
    unit_minor = models.BigIntegerField()
    amount_minor = models.BigIntegerField()
    tax_minor = models.BigIntegerField(default=0)
    proration = models.BooleanField(default=False)
    period_start = models.DateTimeField(null=True, blank=True)
    period_end = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["invoice", "number"]
        constraints = [
            models.UniqueConstraint(fields=["invoice", "number"], name="one_invoice_line_a_number"),
            models.CheckConstraint(
                condition=Q(amount_minor=F("quantity") * F("unit_minor")), name="a_line_is_quantity_times_unit"
            ),
        ]
        triggers = [AN_ISSUED_LINE_STAYS]

    def __str__(self) -> str:
        return self.description


class InvoiceSeries(Owned):
    """The last number of a tenant's invoices; its row is locked while one is issued, so that there is no gap."""

    prefix = models.CharField(max_length=16, default="INV")
    last = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "invoice series"
        constraints = [models.UniqueConstraint(fields=["tenant"], name="one_invoice_series_a_tenant")]

    def __str__(self) -> str:
        return f"{self.prefix}-{self.last:06}"
