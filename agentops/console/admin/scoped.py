"""What every admin screen of ours has in common: a person sees the rows of their own tenants."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from agentops.tenancy.models import Tenant
from agentops.tenancy.queries import tenants_of
from agentops.tenancy.whole_numbers import WholeNumbers


def actor_of(request: HttpRequest) -> str:
    """Return the person's name as the ledger writes it."""
    return f"user:{cast('User', request.user).get_username()}"


class ScopedAdmin(WholeNumbers, ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """Shows rows of the person's tenants. ``tenant_path`` leads from the model to its tenant's key."""

    tenant_path = "tenant_id"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the person's tenants; a superuser has no others either."""
        tenants = [tenant.pk for tenant in tenants_of(request.user)]
        rows: QuerySet[Any] = super().get_queryset(request).filter(**{f"{self.tenant_path}__in": tenants})
        return rows

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the person's tenants."""
        if db_field.name == "tenant":
            kwargs["queryset"] = Tenant.objects.filter(pk__in=[tenant.pk for tenant in tenants_of(request.user)])
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class ReadOnlyAdmin(ScopedAdmin):
    """Rows that the program writes and people read."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is added here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is changed here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is deleted here."""
        return False
