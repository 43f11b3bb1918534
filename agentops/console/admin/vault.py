"""Whose records are sealed with which keys; erasing people, after a page that asks again; legal holds."""

from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from agentops.console.admin.scoped import ReadOnlyAdmin, actor_of
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.erasing import erase
from agentops.ledger.holds import lift_hold, place_hold
from agentops.ledger.vault_models import LedgerKey, LegalHold
from agentops.registry.subjects import BadSubject, parsed_subject
from agentops.tenancy.models import Tenant

MOST_AT_ONCE = 20


@admin.register(LedgerKey)
class LedgerKeyAdmin(ReadOnlyAdmin):
    """The keys of payloads, by whom they are about. Nobody sees a key here."""

    list_display = ("subject", "retention", "period", "created_at", "destroyed_at", "destroyed_by")
    list_filter = ("retention", "period", ("destroyed_at", admin.EmptyFieldListFilter))
    search_fields = ("subject",)
    fields = ("id", "tenant_id", *list_display, "wrapped_by")
    actions = ("erase_people",)

    def has_erase_permission(self, request: HttpRequest) -> bool:
        """Whoever may erase people."""
        allowed: bool = request.user.has_perm("agentops.erase_subject")
        return allowed

    @admin.action(description="Erase these people …", permissions=["erase"])
    def erase_people(self, request: HttpRequest, queryset: QuerySet[LedgerKey]) -> HttpResponse | None:
        """Ask again, with the reason; then erase each, or say what stands in the way."""
        chosen = queryset.exclude(subject="").order_by("tenant_id", "subject").values_list("tenant_id", "subject")
        people = list(chosen.distinct()[: MOST_AT_ONCE + 1])
        if not people or len(people) > MOST_AT_ONCE:
            messages.error(request, f"Choose keys of one to {MOST_AT_ONCE} people; a tenant itself is none.")
            return None
        if request.POST.get("confirm") != "erase":
            return self._ask(request, queryset, people)
        for tenant_id, subject in people:
            try:
                done = erase(
                    tenant_id=tenant_id,
                    subject=subject,
                    reason=request.POST.get("reason", ""),
                    actor=actor_of(request),
                )
            except AgentOpsError as error:
                messages.error(request, f"{subject}: {error.in_full}")
            else:
                rows = sum(done.rows.values())
                messages.success(request, f"{subject} was erased: {done.keys} keys destroyed, {rows} rows changed.")
        return None

    def _ask(self, request: HttpRequest, queryset: QuerySet[LedgerKey], people: list[Any]) -> HttpResponse:
        names = {tenant.pk: tenant.name for tenant in Tenant.objects.filter(pk__in={one for one, _ in people})}
        context = {
            **self.admin_site.each_context(request),
            "title": "Erase people",
            "opts": LedgerKey._meta,  # noqa: SLF001 - Django's public name
            "people": [(names.get(tenant, ""), subject) for tenant, subject in people],
            "keys": list(queryset.values_list("pk", flat=True)),
        }
        return TemplateResponse(request, "admin/agentops/ledgerkey/erase.html", context)


class HoldForm(ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Whom a hold is about."""

    def clean_subject(self) -> str:
        """Refuse what names nobody."""
        text: str = self.cleaned_data["subject"]
        if text.strip():
            try:
                parsed_subject(UUID(int=0), text)
            except BadSubject as error:
                raise ValidationError(error.in_full) from error
        return text


@admin.register(LegalHold)
class LegalHoldAdmin(ReadOnlyAdmin):
    """Holds. One is placed or lifted, never edited or deleted."""

    list_display = ("subject", "tenant", "reason", "placed_by", "placed_at", "lifted_by", "lifted_at")
    list_filter = ("tenant", ("lifted_at", admin.EmptyFieldListFilter))
    list_select_related = ("tenant",)
    search_fields = ("subject", "reason")
    actions = ("lift",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever may add holds places them and lifts them."""
        allowed: bool = request.user.has_perm("agentops.add_legalhold")
        return allowed

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Ask for whom and why; show by whom and when."""
        return ("tenant", "subject", "reason") if obj is None else self.list_display

    def get_form(self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Refuse in the form what names no subject."""
        return super().get_form(request, obj, change, form=HoldForm, **kwargs)

    def save_model(self, request: HttpRequest, obj: Model, form: "ModelForm[Any]", change: bool) -> None:
        """Place the hold, on record."""
        asked = cast("LegalHold", obj)
        made = place_hold(
            tenant_id=asked.tenant_id, subject=asked.subject, reason=asked.reason, actor=actor_of(request)
        )
        asked.pk = made.pk

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> None:
        """The ledger has it."""

    @admin.action(description="Lift the hold", permissions=["add"])
    def lift(self, request: HttpRequest, queryset: QuerySet[LegalHold]) -> None:
        """Lift the chosen holds."""
        for hold in queryset.filter(lifted_at=None):
            lift_hold(tenant_id=hold.tenant_id, hold_id=hold.pk, actor=actor_of(request))
        messages.success(request, "Lifted. What they covered may be erased, and runs out, again.")
