"""Response headers that the libraries leave to us."""

from collections.abc import Callable
from typing import Any

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse

PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


class ContentSecurityPolicyMiddleware(CSPMiddleware):
    """The strict policy everywhere, and the admin's where its own pages need more."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """Return what the policy of this response is made of."""
        parts = super().get_policy_parts(request=request, response=response, report_only=report_only)
        if not report_only and request.path_info.startswith(reverse("admin:index")):
            replaced: dict[str, Any] = {**(parts.replace or {}), **settings.ADMIN_CONTENT_SECURITY_POLICY}
            parts.replace = replaced
        return parts


class BrowserIsolationMiddleware:
    """Nobody else's page may embed ours or our files, and ours ask for no device."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the headers."""
        response = self.get_response(request)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        return response
