"""Second factors of people: looked at, and taken away from somebody who lost theirs. Nobody adds one for another."""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from agentops.accounts.events import record_factor
from agentops.console.admin.scoped import ReadOnlyAdmin, actor_of
from agentops.tenancy.queries import tenants_of

# allauth registers screens of its own, which record nothing. It keeps no addresses here.
for model in (Authenticator, EmailAddress):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


@admin.register(Authenticator)
class AuthenticatorAdmin(ReadOnlyAdmin):
    """Factors. Taking one away is an event in the ledger, and its owner sees it missing."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    list_select_related = ("user",)
    search_fields = ("user__username",)
    # What is stored of a factor is nobody's to read.
    fields = list_display
    readonly_fields = list_display

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the factors of people who belong to one of the person's tenants."""
        members = {"user__memberships__tenant__in": tenants_of(request.user)}
        factors: QuerySet[Any] = Authenticator.objects.filter(**members).distinct()
        return factors

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Whoever may delete factors, except their own: that is done with a proof in "Your account"."""
        allowed: bool = request.user.has_perm("mfa.delete_authenticator")
        return allowed and (obj is None or getattr(obj, "user_id", None) != request.user.pk)

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        """Take a factor away, on record."""
        self.delete_queryset(request, Authenticator.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Take factors away, on record; one's own stay."""
        found = Authenticator.objects.filter(pk__in=list(queryset.values_list("pk", flat=True)))
        with transaction.atomic():
            for factor in found.exclude(user=request.user.pk).select_for_update(of=("self",)).select_related("user"):
                record_factor("removed", factor.user, str(factor.type), actor=actor_of(request))
                factor.delete()
