"""Staff screens of the desk's tables: orders, payments and operations to be read, and the undo that tools promise."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from agentops.kernel.clock import utcnow
from agentops.tenancy.record_admin import ReadInline, RecordAdmin
from support_agent import models
from support_agent.connectors.recall import Recall, recall_reply
from support_agent.connectors.stopping import Stop, payout_words, stop_payout


class PayoutAdmin(RecordAdmin):
    """Rows that stand for money on its way out, which a person can stop until it is paid out."""

    def stop_and_say(self, request: HttpRequest, row: Model, operation: models.DeskOperation | None) -> None:
        """Stop the payout that ``operation`` made, and say what became of it. ``row`` is what was selected."""
        outcome, words = Stop.NOT_A_PAYOUT, str(row)
        if operation is not None:
            outcome = stop_payout(operation_id=operation.pk, by=request.user.get_username(), now=utcnow())
        if operation is not None and outcome is not Stop.NOT_A_PAYOUT:
            words = payout_words(operation)
        ticket = operation.ticket_ref if operation is not None else ""
        level = messages.SUCCESS if outcome is Stop.STOPPED else messages.WARNING
        self.message_user(request, _STOP_WORDS[outcome].format(what=words, ticket=ticket), level)
        if outcome is Stop.STOPPED:
            self.log_change(request, row, f"Stopped the {words}.")


_STOP_WORDS = {
    Stop.STOPPED: "The {what} was stopped; ticket {ticket} is now with a person.",
    Stop.TOO_LATE: "The {what} cannot be stopped any more: it has been paid out.",
    Stop.ALREADY: "The {what} was stopped before.",
    Stop.SPENT: "The {what} cannot be stopped: the gift card no longer holds that much.",
    Stop.NOT_A_PAYOUT: "{what} is neither a refund nor a credit that was given on a ticket, so it cannot be stopped.",
}


class MethodInline(ReadInline):
    """Payment methods of a customer."""

    model = models.PaymentMethod
    fields = ("ref", "kind", "brand", "last_four", "balance_minor", "currency")


class VariantInline(ReadInline):
    """Variants of a product."""

    model = models.Variant
    fields = ("ref", "options", "price_minor", "currency", "available")


class LineInline(ReadInline):
    """Lines of an order."""

    model = models.OrderLine
    fields = ("number", "name", "variant_ref", "options", "price_minor")


class PaymentInline(ReadInline):
    """Payment history of an order."""

    model = models.Payment
    fields = ("number", "kind", "amount_minor", "payment_method_ref", "operation_key")


class FulfilmentInline(ReadInline):
    """Parcels of an order."""

    model = models.Fulfilment
    fields = ("tracking_ids", "variant_refs")


class MessageInline(ReadInline):
    """What was written on a ticket."""

    model = models.TicketMessage
    fields = ("kind", "body", "created_at", "release_at", "recalled_at")


@admin.register(models.Customer)
class CustomerAdmin(RecordAdmin):
    """Customers; contact details can be corrected."""

    editable = ("first_name", "last_name", "email", "address1", "address2", "city", "state", "country", "zip")
    list_display = ("ref", "first_name", "last_name", "email", "city")
    search_fields = ("ref", "first_name", "last_name", "email")
    list_filter = ("tenant", "country")
    inlines = (MethodInline,)


@admin.register(models.PaymentMethod)
class PaymentMethodAdmin(RecordAdmin):
    """Payment methods, to be read."""

    list_display = ("ref", "customer", "kind", "last_four", "balance_minor", "currency")
    list_select_related = ("customer",)
    search_fields = ("ref", "customer__ref", "customer__email")
    list_filter = ("tenant", "kind")


@admin.register(models.Product)
class ProductAdmin(RecordAdmin):
    """Products; the name can be changed."""

    editable = ("name",)
    list_display = ("ref", "name")
    search_fields = ("ref", "name")
    inlines = (VariantInline,)


@admin.register(models.Variant)
class VariantAdmin(RecordAdmin):
    """Variants; price and availability can be changed."""

    editable = ("price_minor", "available")
    list_display = ("ref", "product", "price_minor", "currency", "available")
    list_select_related = ("product",)
    search_fields = ("ref", "product__name")
    list_filter = ("tenant", "available")


@admin.register(models.Order)
class OrderAdmin(RecordAdmin):
    """Orders with lines, payment history and parcels, to be read."""

    list_display = ("ref", "customer", "status", "currency", "placed_at")
    list_select_related = ("customer",)
    search_fields = ("ref", "customer__ref", "customer__email")
    list_filter = ("tenant", "status")
    inlines = (LineInline, PaymentInline, FulfilmentInline)


@admin.register(models.OrderLine)
class OrderLineAdmin(RecordAdmin):
    """Order lines, to be read."""

    list_display = ("order", "number", "name", "variant_ref", "price_minor")
    list_select_related = ("order",)
    search_fields = ("order__ref", "variant_ref", "name")


@admin.register(models.Fulfilment)
class FulfilmentAdmin(RecordAdmin):
    """Parcels, to be read."""

    list_display = ("order", "tracking_ids", "variant_refs")
    list_select_related = ("order",)
    search_fields = ("order__ref",)


@admin.register(models.Payment)
class PaymentAdmin(PayoutAdmin):
    """Payment histories, to be read; refunds that are not paid out yet can be stopped."""

    list_display = ("order", "number", "kind", "amount_minor", "payment_method_ref", "operation_key")
    list_select_related = ("order",)
    search_fields = ("order__ref", "payment_method_ref", "operation_key")
    list_filter = ("tenant", "kind")
    actions = ("stop_refunds",)

    @admin.action(description="Stop refund", permissions=["change"])
    def stop_refunds(self, request: HttpRequest, queryset: QuerySet[models.Payment]) -> None:
        """Stop each selected refund that is not paid out yet, and say what became of the others."""
        for payment in queryset:
            operation = None
            if payment.kind == models.PaymentKind.REFUND and payment.operation_key is not None:
                operations = models.DeskOperation.objects.filter(tenant_id=payment.tenant_id)
                operation = operations.filter(key=payment.operation_key).first()
            self.stop_and_say(request, payment, operation)


@admin.register(models.Ticket)
class TicketAdmin(RecordAdmin):
    """Tickets; a person can set the status."""

    editable = ("status",)
    list_display = ("ref", "subject", "sender", "status", "received_at")
    search_fields = ("ref", "subject", "sender", "body")
    list_filter = ("tenant", "status")
    inlines = (MessageInline,)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save; a status that a person set is no agent's to take back."""
        if "status" in form.changed_data:
            obj.status_key = ""
        super().save_model(request, obj, form, change)


@admin.register(models.TicketMessage)
class TicketMessageAdmin(RecordAdmin):
    """Drafts, replies and notes. Drafts can be deleted, replies recalled while they have not left."""

    list_display = ("ticket", "kind", "created_at", "release_at", "recalled_at")
    list_select_related = ("ticket",)
    search_fields = ("ticket__ref", "body")
    list_filter = ("tenant", "kind")
    actions = ("recall_replies",)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A draft reached nobody and can go; a whole selection is not deleted blindly."""
        return (
            isinstance(obj, models.TicketMessage)
            and obj.kind == models.MessageKind.DRAFT
            and request.user.has_perm("support_agent.delete_ticketmessage")
        )

    @admin.action(description="Recall reply", permissions=["change"])
    def recall_replies(self, request: HttpRequest, queryset: QuerySet[models.TicketMessage]) -> None:
        """Recall each selected reply that has not left, and say what became of the others."""
        for message in queryset.select_related("ticket"):
            outcome = recall_reply(message_id=message.pk, now=utcnow())
            level = messages.SUCCESS if outcome is Recall.RECALLED else messages.WARNING
            self.message_user(request, _RECALL_WORDS[outcome].format(ticket=message.ticket.ref), level)
            if outcome is Recall.RECALLED:
                self.log_change(request, message, "Recalled the reply.")


_RECALL_WORDS = {
    Recall.RECALLED: "The reply on ticket {ticket} was recalled; the ticket is now with a person.",
    Recall.TOO_LATE: "The reply on ticket {ticket} has left already.",
    Recall.ALREADY: "The reply on ticket {ticket} was recalled before.",
    Recall.NOT_A_REPLY: "What is selected on ticket {ticket} is not a reply.",
}


@admin.register(models.Article)
class ArticleAdmin(RecordAdmin):
    """The knowledge base, written by staff."""

    by_hand = True
    editable = ("title", "body")
    fields = ("tenant", "ref", "title", "body")
    list_display = ("ref", "title")
    search_fields = ("ref", "title", "body")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the person may delete articles."""
        return request.user.has_perm("support_agent.delete_article")


@admin.register(models.DeskOperation)
class DeskOperationAdmin(PayoutAdmin):
    """Writes that happened, to be read; refunds and credits that are not paid out yet can be stopped."""

    list_display = ("at", "action", "ticket_ref", "settles_at", "stopped_at", "key")
    search_fields = ("key", "action", "ticket_ref")
    list_filter = ("tenant", "action")
    actions = ("stop_payouts",)

    @admin.action(description="Stop refund or credit", permissions=["change"])
    def stop_payouts(self, request: HttpRequest, queryset: QuerySet[models.DeskOperation]) -> None:
        """Stop each selected refund or credit that is not paid out yet, and say what became of the others."""
        for operation in queryset:
            self.stop_and_say(request, operation, operation)
