"""Tenants and their people. A superuser sees all of them: somebody has to let the first person in."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from unfold.admin import TabularInline
from unfold.widgets import UnfoldAdminSelectWidget

from agentops.console.admin.audited import AuditedAdmin
from agentops.runtime.models import Session
from agentops.tenancy.models import Membership, Tenant
from agentops.tenancy.queries import tenants_of


class TenantForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A tenant with a time zone that exists."""

    timezone = forms.ChoiceField(
        choices=[(name, name) for name in sorted(available_timezones())],
        widget=UnfoldAdminSelectWidget,
        help_text="Used for business days, such as daily limits, and for the times on the screens.",
    )

    class Meta:
        model = Tenant
        fields = ("slug", "name", "timezone", "max_running", "max_starts_hour", "max_day_micro")


class MembershipInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """Who belongs to the tenant, and as what."""

    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


@admin.register(Tenant)
class TenantAdmin(AuditedAdmin):
    """Tenants."""

    form = TenantForm
    list_display = ("name", "slug", "timezone", "created_at")
    search_fields = ("name", "slug")
    inlines = (MembershipInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        """Return the person's tenants, all of them for a superuser."""
        return _visible(request, super().get_queryset(request), "pk")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A tenant that has ever had a session stays: its record does."""
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and (obj is None or not Session.objects.filter(tenant_id=obj.pk).exists())


@admin.register(Membership)
class MembershipAdmin(AuditedAdmin):
    """Who belongs to which tenant."""

    list_display = ("user", "tenant", "role")
    list_filter = ("tenant", "role")
    list_select_related = ("user", "tenant")
    search_fields = ("user__username", "user__email")
    autocomplete_fields = ("user",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """Return the people of the person's tenants, all of them for a superuser."""
        return _visible(request, super().get_queryset(request), "tenant")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the tenants that the person may see."""
        if db_field.name == "tenant":
            kwargs["queryset"] = _visible(request, Tenant.objects.all(), "pk")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


def _visible(request: HttpRequest, rows: QuerySet[Any], path: str) -> QuerySet[Any]:
    if getattr(request.user, "is_superuser", False):
        return rows
    return rows.filter(**{f"{path}__in": [tenant.pk for tenant in tenants_of(request.user)]})
