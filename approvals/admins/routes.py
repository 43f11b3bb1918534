"""Hours, routes, detectors and shifts: what decides where a request goes and when somebody is told."""

from itertools import islice
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Model
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join

from agentops.console.admin.audited import AuditedAdmin
from agentops.kernel.clock import utcnow
from approvals.admins.common import TenantRowAdmin
from approvals.admins.forms import DetectorForm, HoursForm, RouteForm, ShiftForm, example_deadlines, week_in_words
from approvals.admins.queues import look_again
from approvals.clock.timing import hours_of
from approvals.clock.week import week_text
from approvals.models import ApprovalRequest, BusinessHours, Detector, OnCallShift, ToolRoute
from approvals.routes.choose import look_of, parts_of_request
from approvals.routes.detect import first_hit

TRIED_ON = 200
"""The last requests that a detector is tried on."""


@admin.register(BusinessHours)
class BusinessHoursAdmin(TenantRowAdmin, AuditedAdmin):
    """Hours in which people work. Deadlines, reminders and ladders of the queues that use them are counted in these."""

    form = HoursForm
    list_display = ("name", "tenant", "timezone", "written")
    fields = ("tenant", "name", "timezone", "week_as_text", "holidays_as_text")
    shown = ("in_words", "examples")

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Show what is stored back in words."""
        return self.fields if obj is None else (*self.fields, *self.shown)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Hours stay with their tenant."""
        return () if obj is None else ("tenant", *self.shown)

    def save_model(self, request: HttpRequest, obj: Model, form: "ModelForm[Any]", change: bool) -> None:
        """Save, and let the sweep look at the requests that these hours are for again. Their deadlines stay."""
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            look_again(ApprovalRequest.objects.filter(queue__hours_id=obj.pk))

    @admin.display(description="week")
    def written(self, obj: BusinessHours) -> str:
        """The week as it is written."""
        return week_text(obj.week)

    @admin.display(description="read as")
    def in_words(self, obj: BusinessHours) -> str:
        """The week as it was understood."""
        return week_in_words(obj)

    @admin.display(description="examples, with 4 h to decide")
    def examples(self, obj: BusinessHours) -> str:
        """When requests would be due."""
        hours = hours_of(obj)
        if hours is None:
            return "These hours cannot be read; time runs around the clock."
        return format_html_join("", "<p>{}</p>", ((words,) for words in example_deadlines(hours, utcnow())))


@admin.register(ToolRoute)
class ToolRouteAdmin(TenantRowAdmin, AuditedAdmin):
    """Routes. Calls of tools with the tag go to the queue, unless a rule names one or a detector finds something."""

    form = RouteForm
    list_display = ("tag", "queue", "tenant")
    list_select_related = ("tenant", "queue")
    search_fields = ("tag",)


@admin.register(Detector)
class DetectorAdmin(TenantRowAdmin, AuditedAdmin):
    """Detectors. They read the request, its arguments and its preview, and come before every route."""

    form = DetectorForm
    list_display = ("name", "kind", "queue", "rank", "is_active", "tenant")
    list_filter = ("tenant", "kind", "is_active")
    list_select_related = ("tenant", "queue")
    fields = ("tenant", "name", "kind", "phrases_as_text", "queue", "rank", "is_active")

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Offer to try what is stored."""
        return self.fields if obj is None else (*self.fields, "try_it")

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """A detector stays with its tenant."""
        return () if obj is None else ("tenant", "try_it")

    @admin.display(description="try")
    def try_it(self, obj: Detector) -> str:
        """A link that shows this page with what the detector finds."""
        return format_html('<a href="?try=1">See how many of the last {} requests it finds</a>', TRIED_ON)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Say what the detector finds when that is asked for."""
        if request.method == "GET" and "try" in request.GET:
            detector: Detector | None = self.get_object(request, object_id)
            if detector is not None and self.has_view_or_change_permission(request, detector):
                messages.info(request, tried(detector))
        answer: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
        return answer


def tried(detector: Detector) -> str:
    """Return how many of the last requests a detector finds, in words."""
    last = ApprovalRequest.objects.filter(tenant_id=detector.tenant_id).order_by("-id")
    looks = [look_of(detector)]
    read, found = 0, []
    for request in islice(last.iterator(chunk_size=20), TRIED_ON):
        read += 1
        if first_hit(looks, parts_of_request(request)) is not None:
            found.append(request.code)
    named = f": {', '.join(found[:5])}{' and more' if len(found) > 5 else ''}" if found else ""
    return f"It finds {len(found)} of the last {read} requests{named}."


@admin.register(OnCallShift)
class OnCallShiftAdmin(TenantRowAdmin, AuditedAdmin):
    """Shifts. Several people may be on call at once; all of them are called. Times are local."""

    form = ShiftForm
    list_display = ("person", "begins", "ends", "tenant")
    list_select_related = ("tenant", "person")
    date_hierarchy = "begins"
