"""What admin pages of a role's own records share: rows of the person's tenants, to be read unless said otherwise."""

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db.models import F, Model, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline

from agentops.tenancy.models import Tenant
from agentops.tenancy.queries import tenants_of
from agentops.tenancy.whole_numbers import WholeNumbers


class RecordAdmin(WholeNumbers, ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """Shows rows of the person's own tenants.

    Only the fields in ``editable`` can be changed. Rows come from the system itself and stay, unless ``by_hand``: then
    whoever has the permission adds them.
    """

    editable: tuple[str, ...] = ()
    by_hand = False
    list_filter: tuple[Any, ...] = ("tenant",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return rows of the person's tenants; a superuser has no others either."""
        rows: QuerySet[Any] = super().get_queryset(request).filter(tenant__in=tenants_of(request.user))
        return rows

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return every field of an existing row that is not in ``editable``."""
        if obj is None:
            return ()
        names = (field.name for field in self.opts.fields)
        return tuple(name for name in names if name not in self.editable)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return whether the person may add a row, which is of their own making."""
        return self.by_hand and _has(request, "add", self.opts)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the person may change rows, or this one; where nothing can be edited, it is only shown."""
        may: bool = super().has_change_permission(request, obj)
        return may and (obj is None or bool(self.editable))

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Rows stay."""
        return False

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the person's own tenants, and rows of them."""
        own = [tenant.pk for tenant in tenants_of(request.user)]
        related = db_field.remote_field.model
        if related is Tenant:
            kwargs["queryset"] = Tenant.objects.filter(pk__in=own)
        elif any(field.name == "tenant" for field in related._meta.fields):  # noqa: SLF001 - Django's public interface
            kwargs["queryset"] = related.objects.filter(tenant__in=own)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, and move the version so that a decision made on the former state does not go through."""
        super().save_model(request, obj, form, change)
        if change and hasattr(obj, "version"):
            type(obj).objects.filter(pk=obj.pk).update(version=F("version") + 1)


class ReadInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """Rows that belong to another row, to be read."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is added here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is changed here."""
        return False


def _has(request: HttpRequest, what: str, opts: Any) -> bool:
    user = request.user
    return isinstance(user, AbstractUser) and user.has_perm(f"{opts.app_label}.{what}_{opts.model_name}")
