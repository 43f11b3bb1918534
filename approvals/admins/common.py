"""What the screens of queues and routes share: whatever a row names belongs to the row's tenant."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from agentops.console.admin.scoped import ScopedAdmin
from agentops.tenancy.models import Membership
from agentops.tenancy.queries import tenants_of
from approvals.models import ApprovalQueue, BusinessHours

_OF_TENANTS: dict[str, Callable[[list[UUID]], "QuerySet[Any]"]] = {
    "queue": lambda tenants: ApprovalQueue.objects.filter(tenant__in=tenants).order_by("name"),
    "hours": lambda tenants: BusinessHours.objects.filter(tenant__in=tenants).order_by("name"),
    "person": lambda tenants: (
        User.objects.filter(memberships__tenant__in=tenants, is_active=True).distinct().order_by("username")
    ),
}


class TenantRowAdmin(ScopedAdmin):
    """Rows of a tenant; queues, hours and people to choose from are those of the person's tenants."""

    list_filter: tuple[str, ...] = ("tenant",)
    list_select_related: tuple[str, ...] = ("tenant",)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """A row stays with its tenant."""
        return ("tenant",) if obj is not None else ()

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer what belongs to the person's tenants."""
        limit_to_tenants(db_field, request, kwargs)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


def limit_to_tenants(db_field: Any, request: HttpRequest, kwargs: dict[str, Any]) -> None:
    """Let a foreign key offer only what belongs to the person's tenants."""
    if db_field.name in _OF_TENANTS:
        kwargs["queryset"] = _OF_TENANTS[db_field.name]([tenant.pk for tenant in tenants_of(request.user)])


class TenantForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A row that names queues, hours or people of its own tenant only."""

    def clean(self) -> dict[str, Any]:
        """Refuse what is another tenant's."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        tenant = values.get("tenant") or getattr(self.instance, "tenant", None)
        if tenant is None:
            return values
        for name in ("queue", "hours"):
            chosen = values.get(name)
            if chosen is not None and chosen.tenant_id != tenant.pk:
                self.add_error(name, f"That belongs to another company than {tenant}.")
        person = values.get("person")
        if person is not None and not Membership.objects.filter(user=person, tenant=tenant).exists():
            self.add_error("person", f"{person} does not belong to {tenant}.")
        return values
