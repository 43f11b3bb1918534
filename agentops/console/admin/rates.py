"""Limits on how often writes may be made."""

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminSelectWidget

from agentops.console.admin.audited import AuditedAdmin
from agentops.console.admin.scoped import ScopedAdmin
from agentops.runtime.rate_counts import writing_tools
from agentops.runtime.rate_models import RateLimit


def _tools() -> list[tuple[str, str]]:
    return [("", "every tool"), *((name, name) for name in writing_tools())]


class RateLimitForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A limit on calls of a tool that writes; reads are not counted."""

    tool = forms.ChoiceField(
        choices=_tools,
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text=RateLimit._meta.get_field("tool").help_text,  # noqa: SLF001 - Django's public interface to a model's fields
    )

    class Meta:
        model = RateLimit
        fields = ("tenant", "tool", "per", "most", "window_seconds", "excess")


@admin.register(RateLimit)
class RateLimitAdmin(ScopedAdmin, AuditedAdmin):
    """Rate limits. They hold from the next step of every session on."""

    form = RateLimitForm
    list_display = ("tenant", "named", "per", "most", "window_seconds", "excess")
    list_display_links = ("named",)
    list_filter = ("tenant", "per", "excess")
    list_select_related = ("tenant",)
    search_fields = ("tool",)

    @admin.display(description="tool", ordering="tool")
    def named(self, obj: RateLimit) -> str:
        """Return the tool, in words when it is every one."""
        return obj.tool or "every tool"

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """A limit stays with its tenant."""
        return ("tenant",) if obj is not None else ()
