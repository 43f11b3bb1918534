"""The admin's screens of drills, regrets and examples: drills are shaped here, the rest is read."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from agentops.console.admin.audited import AuditedAdmin
from agentops.console.admin.scoped import ReadOnlyAdmin, ScopedAdmin
from agentops.kernel.clock import utcnow
from agentops.tenancy.queries import tenants_of
from approvals.insight.drill_page import drill_page
from approvals.models import ApprovalQueue, Drill, Exemplar, Regret


class DrillForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A drill that can be shown, in a queue of its own tenant."""

    class Meta:
        model = Drill
        fields = ("tenant", "queue", "name", "content", "right", "lesson", "is_active")
        help_texts = {
            "content": "Effect, tool, tier, changes, arguments, evidence, rules, risk: as in those that are there.",
            "right": "Drills that are fine belong in too: rejecting what is right is a mistake as well.",
        }

    def clean(self) -> dict[str, Any]:
        """Refuse content that the page cannot show, and another tenant's queue."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        tenant, queue = values.get("tenant") or self.instance.tenant, values.get("queue")
        if queue is not None and queue.tenant_id != tenant.pk:
            self.add_error("queue", "This queue belongs to another tenant.")
        content = values.get("content")
        if queue is not None and content is not None:
            try:
                drill_page(Drill(tenant=tenant, queue=queue, name="", content=content), None, utcnow())
            except (AttributeError, KeyError, TypeError, ValueError):
                self.add_error("content", "A page cannot be made of this. Take a drill that is there as the pattern.")
        return values


@admin.register(Drill)
class DrillAdmin(ScopedAdmin, AuditedAdmin):
    """Drills. One that somebody answered is switched off instead of deleted."""

    form = DrillForm
    list_display = ("name", "queue", "right", "tenant", "is_active")
    list_filter = ("tenant", "is_active")
    list_select_related = ("tenant", "queue")
    search_fields = ("name",)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """What people have answered stays what it was."""
        if obj is None:
            return ()
        answered = isinstance(obj, Drill) and obj.answers.exists()
        return ("tenant", "name", "content", "right", "lesson") if answered else ("tenant",)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer queues of the person's tenants."""
        if db_field.name == "queue":
            kwargs["queryset"] = ApprovalQueue.objects.filter(tenant__in=tenants_of(request.user))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """An answered drill is part of people's figures."""
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and not (isinstance(obj, Drill) and obj.answers.exists())


@admin.register(Regret)
class RegretAdmin(ReadOnlyAdmin):
    """What turned out to be wrong."""

    tenant_path = "request__tenant_id"
    list_display = ("request", "kind", "by", "at", "words")
    list_filter = ("kind",)
    list_select_related = ("request",)
    ordering = ("-at",)
    show_full_result_count = False


@admin.register(Exemplar)
class ExemplarAdmin(ReadOnlyAdmin):
    """Examples for planners. They are proposed and read on the approvers' pages."""

    list_display = ("request", "state", "proposed_by", "reviewed_by", "proposed_at")
    list_filter = ("state",)
    list_select_related = ("request", "proposed_by", "reviewed_by")
    ordering = ("-proposed_at",)
