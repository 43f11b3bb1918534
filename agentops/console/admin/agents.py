"""Agents, their versions, and what each version may do."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpRequest
from unfold.admin import TabularInline
from unfold.widgets import UnfoldAdminSelectWidget

from agentops.agents.models import Agent, AgentVersion, Threshold, ToolGrant
from agentops.console.admin.audited import AuditedAdmin
from agentops.console.admin.scoped import ScopedAdmin
from agentops.kernel.money import CURRENCIES
from agentops.registry.roles import all_roles
from agentops.runtime.models import Session
from agentops.tenancy.models import Tenant
from agentops.tenancy.queries import tenants_of
from agentops.tenancy.whole_numbers import WholeNumbers

LIMITS = ("instructions", "max_steps", "max_seconds", "max_cost_micro", "max_tokens", "max_identical")


class VersionInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """Versions of an agent; each opens on its own page."""

    model = AgentVersion
    extra = 0
    fields = ("number", *LIMITS[1:], "created_at")
    readonly_fields = fields
    show_change_link = True
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A version is added on its own page."""
        return False


@admin.register(Agent)
class AgentAdmin(ScopedAdmin, AuditedAdmin):
    """Agents."""

    list_display = ("name", "role", "tenant", "owner", "current_version", "is_active")
    list_filter = ("tenant", "role", "is_active")
    list_select_related = ("tenant", "owner", "current_version__agent")
    search_fields = ("name", "role")
    inlines = (VersionInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """An agent stays where and what it is."""
        return ("tenant", "role") if obj is not None else ("current_version",)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the installation's roles, and the person's tenants."""
        if db_field.name == "role":
            choices = [(role.name, role.title) for role in all_roles()]
            return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget)
        if db_field.name == "tenant":
            kwargs["queryset"] = Tenant.objects.filter(pk__in=[tenant.pk for tenant in tenants_of(request.user)])
        if db_field.name == "current_version":
            agent = request.resolver_match.kwargs.get("object_id") if request.resolver_match else None
            versions = AgentVersion.objects.select_related("agent")
            kwargs["queryset"] = versions.filter(agent_id=agent) if agent else versions.none()
        if db_field.name == "owner":
            members = User.objects.filter(memberships__tenant__in=tenants_of(request.user), is_active=True)
            kwargs["queryset"] = members.distinct().order_by("username")
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """An agent that has ever had a session stays; it can be made inactive."""
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and (obj is None or not Session.objects.filter(agent_version__agent_id=obj.pk).exists())


class GrantInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """Tools of a version; their limits open on the tool's own page."""

    model = ToolGrant
    extra = 0
    show_change_link = True


@admin.register(AgentVersion)
class AgentVersionAdmin(ScopedAdmin, AuditedAdmin):
    """Versions. Instructions and limits of a version that has worked stay; its tools can always be changed."""

    tenant_path = "agent__tenant_id"
    list_display = ("__str__", *LIMITS[1:], "created_at")
    list_filter = ("agent",)
    list_select_related = ("agent",)
    search_fields = ("agent__name",)
    inlines = (GrantInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """A session keeps what it began with, so a version that has sessions cannot become another one."""
        if obj is None:
            return ()
        return ("agent", "number", *(LIMITS if _has_worked(obj) else ()))

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer agents of the person's tenants."""
        if db_field.name == "agent":
            kwargs["queryset"] = Agent.objects.filter(tenant__in=tenants_of(request.user))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A version that has worked stays."""
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and (obj is None or not _has_worked(obj))


def _has_worked(version: Model) -> bool:
    return Session.objects.filter(agent_version_id=version.pk).exists()


class ThresholdForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A limit on money names a currency that exists; any other names none."""

    class Meta:
        model = Threshold
        fields = ("fact", "op", "value", "currency", "effect", "words")

    def clean(self) -> dict[str, Any]:
        """Check the currency against the fact."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        fact, currency = values.get("fact") or "", (values.get("currency") or "").upper()
        values["currency"] = currency
        if fact.startswith("money.") and currency not in CURRENCIES:
            self.add_error("currency", "A limit on money needs a currency, such as USD.")
        if fact and not fact.startswith("money.") and currency:
            self.add_error("currency", "Only a limit on money has a currency.")
        return values


class ThresholdInline(WholeNumbers, TabularInline):  # type: ignore[misc]  # unfold is untyped
    """Limits of a tool."""

    model = Threshold
    form = ThresholdForm
    extra = 0


@admin.register(ToolGrant)
class ToolGrantAdmin(ScopedAdmin, AuditedAdmin):
    """A tool of a version, its dial and its limits."""

    tenant_path = "version__agent__tenant_id"
    list_display = ("tool", "version", "dial")
    list_filter = ("dial", "tool")
    list_select_related = ("version__agent",)
    search_fields = ("tool", "version__agent__name")
    inlines = (ThresholdInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """A grant stays with its version and its tool."""
        return ("version", "tool") if obj is not None else ()

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer versions of the person's agents."""
        if db_field.name == "version":
            owned = AgentVersion.objects.filter(agent__tenant__in=tenants_of(request.user))
            kwargs["queryset"] = owned.select_related("agent")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)
