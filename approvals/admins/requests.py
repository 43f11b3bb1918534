"""Requests and decisions as they were made: everything here is read."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from unfold.admin import TabularInline

from agentops.console.admin.scoped import ReadOnlyAdmin
from approvals.models import Act, ApprovalRequest, Decision


class DecisionInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """The decisions of a request."""

    model = Decision
    fields = ("person", "verdict", "reason", "checked", "digest", "at")
    readonly_fields = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Decisions are made on the request's page."""
        return False


class ActInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """What else happened to a request."""

    model = Act
    fields = ("at", "kind", "person", "words", "facts")
    readonly_fields = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Acts are recorded by what is done."""
        return False


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    """Requests as they were asked."""

    list_display = ("code", "effect", "tool", "queue", "state", "created_at", "closed_at")
    list_filter = ("state", "tier")
    list_select_related = ("queue",)
    ordering = ("-id",)
    show_full_result_count = False
    actions = None
    inlines = (DecisionInline, ActInline)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    """What people decided."""

    tenant_path = "request__tenant_id"
    list_display = ("request", "verdict", "person", "at", "reason", "checked")
    list_filter = ("verdict",)
    list_select_related = ("request", "person")
    ordering = ("-at",)
    show_full_result_count = False
    actions = None
