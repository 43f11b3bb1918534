"""Consent to the use of credentials: given and taken back here, on record. The values are never shown or typed here."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminSelectWidget

from agentops.console.admin.scoped import ReadOnlyAdmin, actor_of
from agentops.gateway.consents import capabilities, give_consent, revoke_consent
from agentops.gateway.models import SecretConsent


@admin.register(SecretConsent)
class SecretConsentAdmin(ReadOnlyAdmin):
    """Consents. One is added or taken back, never edited or deleted."""

    list_display = ("capability", "environment", "tenant", "given_by", "given_at", "revoked_by", "revoked_at")
    list_filter = ("environment", "tenant", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("tenant",)
    search_fields = ("capability", "given_by")
    actions = ("take_back",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever may add consents gives them and takes them back."""
        allowed: bool = request.user.has_perm("agentops.add_secretconsent")
        return allowed

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Ask for what is consented to; show by whom and when."""
        return ("tenant", "capability", "environment") if obj is None else self.list_display

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer what the installed tools name."""
        if db_field.name == "capability":
            choices = [(name, name) for name in capabilities()]
            words = "The name under which tools ask for the credential." if choices else "No installed tool names one."
            return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget, help_text=words)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Model, form: "forms.ModelForm[Any]", change: bool) -> None:
        """Give the consent, or keep the one that stands."""
        asked = cast("SecretConsent", obj)
        given = give_consent(
            tenant_id=asked.tenant_id,
            capability=asked.capability,
            environment=asked.environment,
            actor=actor_of(request),
        )
        asked.pk = given.pk

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> None:
        """The ledger has it."""

    @admin.action(description="Take the consent back", permissions=["add"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[SecretConsent]) -> None:
        """Take back the chosen consents."""
        for consent in queryset.filter(revoked_at=None):
            revoke_consent(consent_id=consent.pk, actor=actor_of(request))
        messages.success(request, "Taken back. No call that begins from now on gets these credentials.")
