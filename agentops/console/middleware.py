"""Times are shown in the zone of the reader's tenant."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from agentops.tenancy.access import reader_of
from agentops.tenancy.zones import zone_of


class ReaderTimezoneMiddleware:
    """Activate the tenant's time zone for the length of a request. Whoever is signed out reads UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, and leave no zone behind for the next one of this thread."""
        with timezone.override(None):
            return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Look the reader up, except for pages that everybody sees: a health check must not need a database."""
        if not getattr(view, "login_required", True):
            return
        reader = reader_of(request)
        if reader is not None:
            timezone.activate(zone_of(reader.tenant.timezone))
