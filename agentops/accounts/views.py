"""A person's account: their factors, and proving to be there. On allauth's views, with three differences.

A form that was interrupted is not sent again behind the person's back; the key of the web session changes with each
proof; and factors are changed only after the password, and an existing factor, were shown a moment ago.
"""

from typing import Any, cast
from urllib.parse import urlencode

from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from allauth.account.views import ReauthenticateView
from allauth.mfa.base.views import IndexView
from allauth.mfa.base.views import ReauthenticateView as CodeView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView, ReauthenticateWebAuthnView, RemoveWebAuthnView
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views import View
from django.views.decorators.cache import never_cache

from agentops.accounts.demo import published_code
from agentops.accounts.events import record_factor
from agentops.accounts.factors import FACTORS, fresh_factor, missing_to_manage


@method_decorator(never_cache, name="dispatch")
class Account(IndexView):  # type: ignore[misc]  # allauth is untyped
    """The person's factors."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the factors by kind, and how many recovery codes are left."""
        found = Authenticator.objects.filter(user_id=self.request.user.pk).order_by("created_at")
        by_kind: dict[str, list[Any]] = {}
        for factor in found:
            by_kind.setdefault(factor.type, []).append(factor.wrap())
        codes = by_kind.get(Authenticator.Type.RECOVERY_CODES, [])
        context: dict[str, Any] = super().get_context_data(
            passkeys=by_kind.get(Authenticator.Type.WEBAUTHN, []),
            app=next(iter(by_kind.get(Authenticator.Type.TOTP, [])), None),
            codes_left=len(codes[0].get_unused_codes()) if codes else None,
            fresh=fresh_factor(self.request),
            next=onward_of(self.request),
            **kwargs,
        )
        return context


class StepUp(View):
    """The way to whichever factor the person has, unless it was just shown; to the account of who has none yet."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Redirect, and take along where the person was going."""
        onward = onward_of(request)
        if onward and fresh_factor(request):
            return HttpResponseRedirect(onward)
        kinds = _kinds_of(request)
        name = "mfa_index"
        if Authenticator.Type.WEBAUTHN in kinds:
            name = "mfa_reauthenticate_webauthn"
        elif Authenticator.Type.TOTP in kinds:
            name = "mfa_reauthenticate"
        return HttpResponseRedirect(f"{reverse(name)}{_query(onward)}")


def onward_of(request: HttpRequest) -> str:
    """Return the page of this site that the person was going to, "" for none."""
    url = request.POST.get("next") or request.GET.get("next") or ""
    safe = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return url if safe else ""


def _kinds_of(request: HttpRequest) -> set[str]:
    return set(Authenticator.objects.filter(user_id=request.user.pk).values_list("type", flat=True))


def _query(onward: str) -> str:
    return f"?{urlencode({'next': onward})}" if onward else ""


class _Proof:
    """A view in which somebody proves to be there, in the ``way`` that the ledger names when it fails."""

    request: HttpRequest
    way: str

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer, and let nobody keep the answer."""
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]  # of the view it is mixed into
        return response

    def form_valid(self, form: Form) -> HttpResponse:
        """Go on to where the person was going, in a web session with a new key."""
        self.request.session.pop(STATE_SESSION_KEY, None)
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]  # of the view it is mixed into
        self.request.session.cycle_key()
        return response

    def form_invalid(self, form: Form) -> HttpResponse:
        """Record it, and show what was wrong."""
        record_factor("failed", cast("User", self.request.user), self.way)
        context = self.get_context_data(form=form)
        shown: HttpResponse = self.render_to_response(context, status=422)  # type: ignore[attr-defined]  # of the view it is mixed into
        return shown

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Say where it goes on, and which other ways there are."""
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]  # of the view it is mixed into
        kinds = _kinds_of(self.request)
        onward = onward_of(self.request)
        return {
            **context,
            "next": onward,
            "query": _query(onward),
            "has_passkey": Authenticator.Type.WEBAUTHN in kinds,
            "has_app": Authenticator.Type.TOTP in kinds,
            "minutes": settings.STEP_UP_SECONDS // 60,
        }


class ProvePassword(_Proof, ReauthenticateView):  # type: ignore[misc]  # allauth is untyped
    """The password again."""

    way = "password"


class ProveCode(_Proof, CodeView):  # type: ignore[misc]  # allauth is untyped
    """A code of the authenticator app; or a recovery code, which only serves to replace a lost factor."""

    way = Authenticator.Type.TOTP.value

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Show the code where it is published: in the demo."""
        return super().get_context_data(demo_code=published_code(self.request), **kwargs)


class ProvePasskey(_Proof, ReauthenticateWebAuthnView):  # type: ignore[misc]  # allauth is untyped
    """A passkey."""

    way = Authenticator.Type.WEBAUTHN.value


_PROOFS = {"password": "account_reauthenticate", "mfa": "mfa_reauthenticate"}


class _Managing:
    """A view that changes factors. What it changes and its event in the ledger are one transaction."""

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Ask for what is missing first, and come back by GET."""
        missing = missing_to_manage(request)
        if missing:
            name = _PROOFS[missing]
            if missing == "mfa" and Authenticator.Type.TOTP not in _kinds_of(request):
                name = "mfa_reauthenticate_webauthn"
            return HttpResponseRedirect(f"{reverse(name)}{_query(request.path)}")
        user = cast("User", request.user)
        with transaction.atomic():
            before = _factors_of(user)
            response: HttpResponseBase = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]  # of the view it is mixed into
            after = _factors_of(user)
            for kind, factors in (("removed", before - after), ("added", after - before)):
                for _, factor in sorted(factors):
                    record_factor(kind, user, factor)
            for pk, factor in after - before:
                # Setting it up has shown it, right after the password.
                if factor in FACTORS:
                    record_authentication(request, user, "mfa", id=pk, type=factor, reauthenticated=True)
                    request.session.cycle_key()
        return response


def _factors_of(user: User) -> set[tuple[int, str]]:
    return set(Authenticator.objects.filter(user=user).values_list("pk", "type"))


class AddApp(_Managing, ActivateTOTPView):  # type: ignore[misc]  # allauth is untyped
    """Add an authenticator app."""


class RemoveApp(_Managing, DeactivateTOTPView):  # type: ignore[misc]  # allauth is untyped
    """Remove the authenticator app."""


class AddPasskey(_Managing, AddWebAuthnView):  # type: ignore[misc]  # allauth is untyped
    """Add a passkey."""


class RemovePasskey(_Managing, RemoveWebAuthnView):  # type: ignore[misc]  # allauth is untyped
    """Remove a passkey."""


class MakeCodes(_Managing, GenerateRecoveryCodesView):  # type: ignore[misc]  # allauth is untyped
    """Make new recovery codes; those before stop working."""


class ShowCodes(_Managing, ViewRecoveryCodesView):  # type: ignore[misc]  # allauth is untyped
    """Show the recovery codes that are left."""
