"""What the pages of incidents read. Every question names the tenant; a list costs as many queries at any length."""

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db.models import Count, F, Q

from sre_agent.models import Alert, ChangeFreeze, Incident, Page, Shift, StatusUpdate

PAGE = 30
MOST_ALERTS = 50
MOST_PUBLISHED = 10
MOST_FREEZES = 20
_STATUS = Incident.Status


class Bucket(StrEnum):
    """What a list of incidents is restricted to."""

    GOING_ON = ""
    PERSON = "person"
    RESOLVED = "resolved"
    ALL = "all"


_IN: Mapping[Bucket, Collection[str]] = {
    Bucket.GOING_ON: (_STATUS.OPEN, _STATUS.MITIGATED, _STATUS.ESCALATED),
    Bucket.PERSON: (_STATUS.ESCALATED,),
    Bucket.RESOLVED: (_STATUS.RESOLVED,),
    Bucket.ALL: tuple(_STATUS),
}


def incidents(tenant_id: UUID, *, text: str, bucket: Bucket, before: int | None) -> tuple[list[Incident], bool]:
    """Return at most 30 incidents, the newest first, and whether there are more. ``before`` is the key to go on from.

    ``text`` is an id, a service, or a part of a title, without regard to case.
    """
    found = Incident.objects.filter(tenant_id=tenant_id, status__in=_IN[bucket])
    if before is not None:
        found = found.filter(pk__lt=before)
    if text:
        found = found.filter(Q(ref__iexact=text) | Q(service__iexact=text) | Q(title__icontains=text))
    page = list(found.order_by("-pk")[: PAGE + 1])
    return page[:PAGE], len(page) > PAGE


def going_on(tenant_id: UUID) -> Mapping[str, Incident]:
    """Return the most urgent incident that goes on at each service."""
    rows = Incident.objects.filter(tenant_id=tenant_id, status__in=_IN[Bucket.GOING_ON]).exclude(service="")
    return {row.service: row for row in rows.order_by("service", "-priority", "opened_at")}


def firing(incident_ids: Collection[int]) -> Mapping[int, int]:
    """Return how many alerts of these incidents fire; those without any are left out."""
    rows = Alert.objects.filter(incident_id__in=incident_ids, ended_at__isnull=True).order_by()
    return dict(rows.values("incident_id").annotate(count=Count("pk")).values_list("incident_id", "count"))


def incident_of(tenant_id: UUID, ref: str) -> Incident | None:
    """Return an incident of the tenant, or None."""
    return Incident.objects.filter(tenant_id=tenant_id, ref=ref).first()


def alerts_of(incident: Incident) -> tuple[list[Alert], bool]:
    """Return at most 50 alerts of an incident and whether there are more: those that fire first, then the latest."""
    rows = incident.alerts.order_by(F("ended_at").desc(nulls_first=True), "priority", "-pk")
    found = list(rows[: MOST_ALERTS + 1])
    return found[:MOST_ALERTS], len(found) > MOST_ALERTS


def updates_of(incident: Incident) -> list[StatusUpdate]:
    """Return drafts and what was published about an incident, the latest first."""
    return list(incident.updates.exclude(state=StatusUpdate.State.DISCARDED).order_by("-pk")[:MOST_PUBLISHED])


def pages_of(incident: Incident) -> list[Page]:
    """Return who was called about an incident, the latest first."""
    return list(incident.pages.order_by("-pk")[:MOST_PUBLISHED])


def published(tenant_id: UUID) -> list[StatusUpdate]:
    """Return what was published last, about whichever incident."""
    rows = StatusUpdate.objects.filter(tenant_id=tenant_id, state=StatusUpdate.State.PUBLISHED)
    return list(rows.select_related("incident").order_by("-published_at", "-pk")[:MOST_PUBLISHED])


def on_call(tenant_id: UUID, now: datetime) -> list[Shift]:
    """Return who is on call, by level."""
    rows = Shift.objects.filter(tenant_id=tenant_id, starts_at__lte=now, ends_at__gt=now)
    return list(rows.order_by("level", "pk")[:MOST_FREEZES])


def freezes(tenant_id: UUID, now: datetime) -> list[ChangeFreeze]:
    """Return change freezes that are not over, those that come again among them."""
    rows = ChangeFreeze.objects.filter(tenant_id=tenant_id).filter(Q(weekly=True) | Q(ends_at__gt=now))
    return list(rows.order_by("starts_at", "pk")[:MOST_FREEZES])
