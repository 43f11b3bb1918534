"""Staff screens of the billing system: what is sold and to whom can be edited; money and its books are to be read.

Money moves by calls alone, so that each is decided, recorded and in the books. What a bank does to a charge is no call:
people record it.
"""

from typing import Any

from django.contrib import admin, messages
from django.db.models import F, Model, QuerySet
from django.http import HttpRequest

from agentops.kernel.clock import utcnow
from agentops.registry.tool import ToolFailure
from agentops.tenancy.record_admin import ReadInline, RecordAdmin
from billing_agent import models
from billing_agent.connectors.disputing import close_dispute, open_dispute, told_of
from billing_agent.connectors.records import DisputeStatus
from billing_agent.forms import ClosedPeriodForm, DisputeForm


class MethodInline(ReadInline):
    """Payment methods of a customer."""

    model = models.PaymentMethod
    fields = ("ref", "kind", "brand", "last_four", "expires_month", "expires_year", "is_default")


class SubscriptionInline(ReadInline):
    """Subscriptions of a customer."""

    model = models.Subscription
    fields = ("ref", "plan", "quantity", "status", "period_start", "period_end", "cancel_at")


class LineInline(ReadInline):
    """Lines of an invoice."""

    model = models.InvoiceLine
    fields = ("number", "description", "quantity", "unit_minor", "amount_minor", "tax_minor")


class ChargeInline(ReadInline):
    """Attempts to charge an invoice."""

    model = models.Charge
    fields = ("ref", "at", "amount_minor", "currency", "status", "decline_code", "refunded_minor")


class RefundInline(ReadInline):
    """Refunds of a charge."""

    model = models.Refund
    fields = ("ref", "at", "amount_minor", "currency", "reason")


class DisputeInline(ReadInline):
    """Disputes about a charge."""

    model = models.Dispute
    fields = ("ref", "opened_at", "amount_minor", "currency", "reason", "status", "respond_by")


class PostingInline(ReadInline):
    """Lines of an entry: a debit is positive, a credit negative."""

    model = models.Posting
    fields = ("account", "minor")


@admin.register(models.Customer)
class CustomerAdmin(RecordAdmin):
    """Customers; contact details and tax can be corrected for what is billed next."""

    editable = ("name", "email", "country", "tax_bp", "tax_exempt")
    list_display = ("ref", "name", "email", "currency", "tax_exempt", "deleted_at")
    search_fields = ("ref", "name", "email")
    list_filter = ("tenant", "currency", "tax_exempt")
    inlines = (MethodInline, SubscriptionInline)


@admin.register(models.PaymentMethod)
class PaymentMethodAdmin(RecordAdmin):
    """Payment methods, to be read."""

    list_display = ("ref", "customer", "kind", "brand", "last_four", "is_default")
    list_select_related = ("customer",)
    search_fields = ("ref", "customer__ref", "customer__email")
    list_filter = ("tenant", "kind")


@admin.register(models.Plan)
class PlanAdmin(RecordAdmin):
    """Plans. A price that was sold stays as it was: add a new plan, and stop selling the old one."""

    by_hand = True
    editable = ("name", "active")
    fields = ("tenant", "ref", "name", "interval", "amount_minor", "currency", "active")
    list_display = ("ref", "name", "interval", "amount_minor", "currency", "active")
    search_fields = ("ref", "name")
    list_filter = ("tenant", "interval", "active")


@admin.register(models.Subscription)
class SubscriptionAdmin(RecordAdmin):
    """Subscriptions, to be read."""

    list_display = ("ref", "customer", "plan", "quantity", "status", "period_end")
    list_select_related = ("customer", "plan")
    search_fields = ("ref", "customer__ref", "customer__email")
    list_filter = ("tenant", "status")


@admin.register(models.Invoice)
class InvoiceAdmin(RecordAdmin):
    """Invoices with their lines and attempts, to be read."""

    list_display = ("number", "ref", "customer", "status", "total_minor", "paid_minor", "credited_minor", "currency")
    list_select_related = ("customer",)
    search_fields = ("number", "ref", "customer__ref", "customer__email")
    list_filter = ("tenant", "status", "currency")
    inlines = (LineInline, ChargeInline)


@admin.register(models.Charge)
class ChargeAdmin(RecordAdmin):
    """Charges with refunds and disputes, to be read."""

    list_display = ("ref", "customer", "at", "amount_minor", "currency", "status", "decline_code", "refunded_minor")
    list_select_related = ("customer",)
    search_fields = ("ref", "customer__ref", "customer__email", "operation_key")
    list_filter = ("tenant", "status", "decline_code")
    inlines = (RefundInline, DisputeInline)


@admin.register(models.Dispute)
class DisputeAdmin(RecordAdmin):
    """Disputes: what the bank's letter says is recorded by hand where no processor tells of it, with its entries."""

    by_hand = True
    form = DisputeForm
    autocomplete_fields = ("charge",)
    list_display = ("ref", "charge", "opened_at", "amount_minor", "currency", "reason", "status", "respond_by")
    list_select_related = ("charge",)
    search_fields = ("ref", "charge__ref", "charge__customer__ref", "charge__customer__email")
    list_filter = ("tenant", "status")
    actions = ("won", "lost")

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what is typed for a new one, and all that is known of another."""
        if obj is None:
            return ("ref", "charge", "amount", "reason", "opened_at", "respond_by")
        return tuple(field.name for field in self.opts.fields)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Open the dispute; the form has locked its charge."""
        tenant_id = obj.charge.tenant_id
        kept = open_dispute(tenant_id, form.cleaned_data["told"], utcnow())
        obj.pk = models.Dispute.objects.values_list("pk", flat=True).get(tenant_id=tenant_id, ref=kept.dispute.ref)

    @admin.action(description="Record that the bank gave the money back (won)", permissions=["change"])
    def won(self, request: HttpRequest, queryset: QuerySet[models.Dispute]) -> None:
        """Decide each selected dispute for the house."""
        self._decide(request, queryset, DisputeStatus.WON)

    @admin.action(description="Record that the bank kept the money (lost)", permissions=["change"])
    def lost(self, request: HttpRequest, queryset: QuerySet[models.Dispute]) -> None:
        """Decide each selected dispute for the customer."""
        self._decide(request, queryset, DisputeStatus.LOST)

    def _decide(self, request: HttpRequest, disputes: QuerySet[models.Dispute], status: DisputeStatus) -> None:
        now = utcnow()
        for dispute in disputes.select_related("charge"):
            try:
                kept = close_dispute(dispute.tenant_id, told_of(dispute, status, now), now)
            except ToolFailure as failure:
                self.message_user(request, failure.message, messages.ERROR)
                continue
            if kept.changed:
                self.log_change(request, dispute, f"Recorded as {status.value}.")
            self.message_user(request, f"Dispute {dispute.ref} is {status.value}.", messages.SUCCESS)


@admin.register(models.Credit)
class CreditAdmin(RecordAdmin):
    """Credits, to be read."""

    list_display = ("ref", "customer", "at", "amount_minor", "left_minor", "currency", "reversed_at")
    list_select_related = ("customer",)
    search_fields = ("ref", "customer__ref", "customer__email", "operation_key")


@admin.register(models.Entry)
class EntryAdmin(RecordAdmin):
    """The books, to be read."""

    list_display = ("at", "kind", "record_ref", "customer_ref", "currency", "memo")
    search_fields = ("record_ref", "customer_ref", "operation_key")
    list_filter = ("tenant", "kind", "currency")
    inlines = (PostingInline,)


@admin.register(models.ClosedPeriod)
class ClosedPeriodAdmin(RecordAdmin):
    """Closed books. What is closed stays closed."""

    by_hand = True
    fields = ("tenant", "through")
    list_display = ("through", "closed_by", "closed_at")

    def get_form(self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form of a day that is over."""
        return super().get_form(request, obj, change, **{"form": ClosedPeriodForm, **kwargs})

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, with who closed the books and when."""
        obj.closed_by, obj.closed_at = request.user.get_username(), utcnow()
        super().save_model(request, obj, form, change)


@admin.register(models.MailTemplate)
class MailTemplateAdmin(RecordAdmin):
    """Templates. Who changes one takes its review away; somebody else reviews it."""

    by_hand = True
    editable = ("name", "subject", "body")
    fields = ("tenant", "ref", "name", "subject", "body", "reviewed_by", "reviewed_at", "changed_by")
    list_display = ("ref", "name", "changed_by", "reviewed_by", "reviewed_at")
    search_fields = ("ref", "name", "subject")
    actions = ("review",)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what follows from what people do, also while a template is added."""
        return super().get_readonly_fields(request, obj) or ("reviewed_by", "reviewed_at", "changed_by")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save without the review, which was of another text."""
        obj.changed_by, obj.reviewed_by, obj.reviewed_at = request.user.get_username(), "", None
        super().save_model(request, obj, form, change)

    @admin.action(description="Mark as reviewed", permissions=["change"])
    def review(self, request: HttpRequest, queryset: QuerySet[models.MailTemplate]) -> None:
        """Mark each selected template that somebody else wrote as reviewed."""
        name = request.user.get_username()
        for template in queryset:
            # The text that was looked at, and no other.
            rows = models.MailTemplate.objects.filter(pk=template.pk, version=template.version)
            if template.changed_by == name:
                self.message_user(request, f"You wrote {template.name}: somebody else reviews it.", messages.WARNING)
            elif rows.update(reviewed_by=name, reviewed_at=utcnow(), version=F("version") + 1):
                self.log_change(request, template, "Reviewed.")
                self.message_user(request, f"{template.name} is reviewed and can be sent.", messages.SUCCESS)


@admin.register(models.Mail)
class MailAdmin(RecordAdmin):
    """Mails to customers, to be read."""

    list_display = ("ref", "customer", "kind", "subject", "at", "release_at", "recalled_at")
    list_select_related = ("customer",)
    search_fields = ("ref", "customer__ref", "customer__email", "subject")
    list_filter = ("tenant", "kind")


@admin.register(models.Case)
class CaseAdmin(RecordAdmin):
    """Cases; a person can set the status."""

    editable = ("status", "note")
    list_display = ("ref", "subject", "sender", "source", "status", "received_at")
    search_fields = ("ref", "subject", "sender", "body")
    list_filter = ("tenant", "status", "source")


@admin.register(models.Operation)
class OperationAdmin(RecordAdmin):
    """Writes that happened, to be read."""

    list_display = ("at", "action", "case_ref", "key")
    search_fields = ("key", "action", "case_ref")
    list_filter = ("tenant", "action")
