"""Staff screens of incidents: who is on call and when nothing is to be changed is entered here; the rest is to be read.

Incidents change by calls of agents and on their own page, so that each change is decided, recorded and in the timeline.
"""

from django.contrib import admin

from agentops.tenancy.record_admin import ReadInline, RecordAdmin
from sre_agent import models


class AlertInline(ReadInline):
    """Alerts of an incident."""

    model = models.Alert
    fields = ("ref", "rule", "service", "priority", "began_at", "ended_at", "times")


class NoteInline(ReadInline):
    """What was written down about an incident."""

    model = models.Note
    fields = ("at", "kind", "actor", "text")


class PageInline(ReadInline):
    """Who was called about an incident."""

    model = models.Page
    fields = ("ref", "person", "paged_at", "acknowledged_at", "withdrawn_at")


class UpdateInline(ReadInline):
    """What customers were told about an incident, or are to be."""

    model = models.StatusUpdate
    fields = ("ref", "state", "text", "drafted_by", "published_by", "published_at")


@admin.register(models.Incident)
class IncidentAdmin(RecordAdmin):
    """Incidents with everything that belongs to them, to be read."""

    list_display = ("ref", "title", "service", "priority", "status", "source", "opened_at")
    search_fields = ("ref", "title", "service")
    list_filter = ("tenant", "status", "priority", "source")
    inlines = (AlertInline, NoteInline, PageInline, UpdateInline)


@admin.register(models.Alert)
class AlertAdmin(RecordAdmin):
    """Alerts, to be read."""

    list_display = ("ref", "rule", "service", "priority", "began_at", "ended_at", "silenced_until", "incident")
    list_select_related = ("incident",)
    search_fields = ("ref", "rule", "service", "fingerprint")
    list_filter = ("tenant", "source", "priority")


@admin.register(models.Shift)
class ShiftAdmin(RecordAdmin):
    """Who is on call. A shift that ends earlier or later is changed; a person who steps in gets one of their own."""

    by_hand = True
    editable = ("person", "contact", "level", "starts_at", "ends_at")
    list_display = ("person", "level", "starts_at", "ends_at", "contact")
    search_fields = ("person", "contact")
    list_filter = ("tenant", "level")


@admin.register(models.ChangeFreeze)
class ChangeFreezeAdmin(RecordAdmin):
    """When services are not to be changed without people who know of it. To lift a freeze, let it end now."""

    by_hand = True
    editable = ("name", "service", "starts_at", "ends_at", "weekly")
    list_display = ("name", "service", "starts_at", "ends_at", "weekly")
    search_fields = ("name", "service")
    list_filter = ("tenant", "weekly")


@admin.register(models.Claim)
class ClaimAdmin(RecordAdmin):
    """Which incident works on what. To let others work on it, let the claim end now."""

    editable = ("until",)
    list_display = ("target", "incident_ref", "since", "until")
    search_fields = ("target", "incident_ref")


@admin.register(models.Operation)
class OperationAdmin(RecordAdmin):
    """Writes that happened, to be read."""

    list_display = ("at", "action", "target", "disruptive", "incident_ref", "key")
    search_fields = ("key", "action", "target", "incident_ref")
    list_filter = ("tenant", "action", "disruptive")


@admin.register(models.Landscape)
class LandscapeAdmin(RecordAdmin):
    """The simulated estates. How fast one lives can be set: 10 is as it happens, 0 stands still."""

    editable = ("seconds_a_tick",)
    exclude = ("state",)
    list_display = ("tenant", "tick", "ticked_at", "seconds_a_tick")


@admin.register(models.LogLine)
class LogLineAdmin(RecordAdmin):
    """What replicas wrote, to be read."""

    list_display = ("at", "service", "replica", "level", "text")
    search_fields = ("service", "replica", "text")
    list_filter = ("tenant", "level")


@admin.register(models.Sample)
class SampleAdmin(RecordAdmin):
    """How services did, to be read."""

    list_display = ("at", "service", "requests", "errors_pm", "latency_ms", "processor_pm", "ready")
    search_fields = ("service",)
