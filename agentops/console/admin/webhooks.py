"""Where senders tell roles something, and what they told. Bodies are not shown: they are what the sender has anyway."""

from datetime import timedelta
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget

from agentops.api.deliveries import CannotProcess, process_again
from agentops.api.models import WebhookDelivery, WebhookEndpoint
from agentops.api.receiving import takes_live
from agentops.console.admin.audited import AuditedAdmin
from agentops.console.admin.scoped import ReadOnlyAdmin, ScopedAdmin, actor_of
from agentops.kernel.clock import utcnow
from agentops.registry.roles import all_roles
from agentops.registry.secret import CAPABILITY

LONGEST_CHANGE = timedelta(days=7)
MOST_AGAIN = 100
ENDPOINT_FIELDS = ("name", "secret", "former_secret", "former_until", "live", "per_minute", "is_active")


def _senders() -> list[tuple[str, str]]:
    return [(f"{role.name}:{one.name}", f"{role.title}: {one.title}") for role in all_roles() for one in role.webhooks]


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """An endpoint: whose, which sender's, and under which names its secrets lie."""

    sender = forms.ChoiceField(choices=_senders, widget=UnfoldAdminSelectWidget)

    class Meta:
        model = WebhookEndpoint
        fields = ("tenant", *ENDPOINT_FIELDS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and not self.instance._state.adding:  # noqa: SLF001 - Django's public name for it
            self.fields.pop("sender", None)

    def clean_secret(self) -> str:
        """Refuse what is no name of a credential, such as the secret itself."""
        return _capability(str(self.cleaned_data["secret"]))

    def clean_former_secret(self) -> str:
        """Refuse what is no name of a credential."""
        given = str(self.cleaned_data["former_secret"])
        return _capability(given) if given else ""

    def clean_live(self) -> bool:
        """Refuse the other mode than the installation's."""
        live = bool(self.cleaned_data["live"])
        if live != takes_live():
            kind = "live" if takes_live() else "test"
            raise ValidationError(f"This installation takes {kind} events only (TOOL_ENVIRONMENT).")
        return live

    def clean(self) -> dict[str, Any]:
        """Require an end of the time in which two secrets count, and that they are two."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        former, until = values.get("former_secret"), values.get("former_until")
        if bool(former) != (until is not None):
            self.add_error("former_until", "Say until when a former secret counts, and only of one.")
        elif until is not None and until > utcnow() + LONGEST_CHANGE:
            self.add_error("former_until", f"At most {LONGEST_CHANGE.days} days from now.")
        if former and former == values.get("secret"):
            self.add_error("former_secret", "That is the present one.")
        return values


def _capability(text: str) -> str:
    if not CAPABILITY.match(text):
        raise ValidationError("The name of a credential has small letters, digits and underscores only.")
    return text


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ScopedAdmin, AuditedAdmin):
    """Endpoints. One that is not wanted any more is switched off; what it received stays."""

    form = EndpointForm
    list_display = ("name", "tenant", "role", "source", "live", "is_active")
    list_filter = ("tenant", "role", "is_active")
    list_select_related = ("tenant",)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Ask for tenant and sender once; later they are shown with the address."""
        if obj is None:
            return ("tenant", "sender", *ENDPOINT_FIELDS)
        return ("tenant", "role", "source", "address", *ENDPOINT_FIELDS)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """An endpoint stays with its tenant and its sender."""
        return () if obj is None else ("tenant", "role", "source", "address")

    @admin.display(description="address")
    def address(self, endpoint: WebhookEndpoint) -> str:
        """Return where the sender has to call."""
        return f"{settings.SITE_URL.rstrip('/')}{reverse('hook', args=[endpoint.public_id])}"

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """What it received belongs to it."""
        return False

    def save_model(self, request: HttpRequest, obj: Model, form: "ModelForm[Any]", change: bool) -> None:
        """Take the sender apart into role and source."""
        endpoint = cast("WebhookEndpoint", obj)
        if not change:
            endpoint.role, _, endpoint.source = str(form.cleaned_data["sender"]).partition(":")
        super().save_model(request, endpoint, form, change)


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Events that were received. One that failed says why; it can be processed again once that is put right."""

    list_display = ("received_at", "endpoint", "type", "event_id", "state", "attempts", "words", "error")
    list_filter = ("state", "tenant", "endpoint")
    list_select_related = ("endpoint",)
    search_fields = ("=event_id", "=type")
    ordering = ("-id",)
    show_full_result_count = False
    exclude = ("body",)
    actions = ("again",)

    def has_process_permission(self, request: HttpRequest) -> bool:
        """Whoever may change deliveries may have one processed again, and nothing else about it."""
        allowed: bool = request.user.has_perm("agentops.change_webhookdelivery")
        return allowed

    @admin.action(description="Process again (what failed)", permissions=["process"])
    def again(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> None:
        """Process the chosen events again."""
        done = 0
        for pk in list(queryset.values_list("pk", flat=True)[:MOST_AGAIN]):
            try:
                process_again(delivery_id=pk, actor=actor_of(request))
            except CannotProcess as error:
                messages.warning(request, error.in_full)
            else:
                done += 1
        if done:
            messages.success(request, f"{done} processed.")
