"""Alerts become incidents: those that belong together are one piece of work, however many there are.

Whoever groups a tenant's alerts has them to itself until the transaction ends, so that two deliveries at once do not
open two incidents about the same thing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Case, Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Value, When

from agentops.kernel.ids import derived_id
from sre_agent.connectors.desk import add_alerts, open_incident
from sre_agent.dependencies import Known, known_services
from sre_agent.groups import (
    MINUTE,
    WINDOW,
    Fresh,
    Graph,
    Kind,
    Lately,
    Opening,
    Plan,
    Standing,
    Trace,
    kind_of,
    plan,
)
from sre_agent.incident_words import opening_text, opening_title, service_meant
from sre_agent.models import Alert, Incident, Note, Source

MOST = 10_000
"""So many alerts are grouped at a time; what is left comes with the next look."""
STORM = "storm:"
_LIVE = (Incident.Status.OPEN, Incident.Status.MITIGATED, Incident.Status.ESCALATED)
_FIRING = Count("pk", filter=Q(ended_at__isnull=True))
_FROM_ALERTS = (Source.ESTATE, Source.ALERTMANAGER, Source.PAGERDUTY)


@dataclass
class Grouped:
    """Which incidents were opened, and which ones got alerts that say something new of them, by their refs."""

    opened: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)


def alone(tenant_id: UUID) -> None:
    """Wait until nobody else changes the tenant's alerts or groups them, until the caller's transaction ends."""
    with connection.cursor() as cursor:
        key = derived_id("sre-alerts", str(tenant_id)).int & (2**63 - 1)
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])


@transaction.atomic
def group(tenant_id: UUID, now: datetime, *, actor: str) -> Grouped:
    """Put every alert that fires, is not silenced and has no incident into one; open those that are missing."""
    alone(tenant_id)
    waiting = _waiting(tenant_id, now)
    if not waiting:
        return Grouped()
    services = known_services(tenant_id)
    graph = Graph({ref: known.needs for ref, known in services.items()})
    planned = plan(
        _fresh(waiting), _standing(tenant_id, {row.service for row in waiting}, now), graph, _lately(tenant_id, now)
    )
    return _Carrier(tenant_id, now, actor, services, {row.pk: row for row in waiting}).carry_out(planned, graph)


@transaction.atomic
def urge(alerts: Iterable[Alert], now: datetime, *, actor: str) -> list[str]:
    """Raise the incidents of these alerts, which have become more urgent, and return the refs of those it changed."""
    priorities: dict[int, int] = {}
    for alert in alerts:
        if alert.incident_id is not None:
            known = priorities.get(alert.incident_id, alert.priority)
            priorities[alert.incident_id] = min(known, alert.priority)
    found = Incident.objects.select_for_update().filter(pk__in=priorities, status__in=_LIVE).order_by("pk")
    return [row.ref for row in found if _raise(row, priorities[row.pk], now, actor)]


def _raise(incident: Incident, priority: int, now: datetime, actor: str) -> bool:
    """Make a locked incident more urgent, on record, and return whether it was less; nothing makes one less urgent."""
    if priority >= incident.priority:
        return False
    words = f"Priority P{incident.priority} → P{priority}: one of its alerts is more urgent."
    incident.priority, incident.version = priority, incident.version + 1
    incident.save(update_fields=["priority", "version"])
    Note.objects.create(
        tenant_id=incident.tenant_id, incident=incident, kind=Note.Kind.CHANGED, at=now, actor=actor, text=words
    )
    return True


def quiet(alerts: Iterable[Alert]) -> list[str]:
    """Return the refs of the incidents of these alerts, which have ended, in which none fires any more."""
    touched = {alert.incident_id for alert in alerts if alert.incident_id is not None}
    fires = Alert.objects.filter(incident=OuterRef("pk"), ended_at__isnull=True)
    found = Incident.objects.filter(pk__in=touched, status__in=_LIVE).exclude(Exists(fires))
    return sorted(found.values_list("ref", flat=True))


def _waiting(tenant_id: UUID, now: datetime) -> list[Alert]:
    """Return the alerts to group. A silence is of the alert, also when it ends and begins again meanwhile."""
    silenced = Alert.objects.filter(
        tenant_id=OuterRef("tenant_id"),
        source=OuterRef("source"),
        fingerprint=OuterRef("fingerprint"),
        silenced_until__gt=now,
    )
    rows = Alert.objects.filter(tenant_id=tenant_id, incident__isnull=True, ended_at__isnull=True)
    return list(rows.exclude(Exists(silenced)).order_by("began_at", "id")[:MOST])


def _fresh(alerts: Sequence[Alert]) -> list[Fresh]:
    kinds: dict[Kind, list[Alert]] = {}
    for alert in alerts:
        kinds.setdefault(kind_of(alert.service, alert.area, alert.rule), []).append(alert)
    return [Fresh(kind, of[0].began_at, of[-1].began_at, tuple(row.pk for row in of)) for kind, of in kinds.items()]


def _standing(tenant_id: UUID, services: Collection[str], now: datetime) -> list[Standing]:
    """Return the incidents that alerts may join, with what they have of each kind lately."""
    since = now - 2 * WINDOW
    lately = Q(ended_at__isnull=True) | Q(ended_at__gt=since) | Q(began_at__gt=since)
    told: dict[int, list[Trace]] = {}
    for incident_id, trace in _traces(Alert.objects.filter(lately, tenant_id=tenant_id, incident__status__in=_LIVE)):
        told.setdefault(incident_id, []).append(trace)
    live = Q(pk__in=told) | Q(status=Incident.Status.OPEN, service__in=services)
    found = Incident.objects.filter(live, tenant_id=tenant_id).order_by("pk")
    return [
        Standing(
            key=incident.pk,
            service=incident.service,
            is_open=incident.status == Incident.Status.OPEN,
            is_storm=incident.source_key.startswith(STORM),
            traces=tuple(told.get(incident.pk, ())),
        )
        for incident in found.only("pk", "service", "status", "source_key")
    ]


def _traces(alerts: QuerySet[Alert]) -> Iterator[tuple[int, Trace]]:
    """Yield what each incident of these alerts has of each kind, counted by the database."""
    rows = (
        alerts.order_by()
        .annotate(of=Case(When(service="", then=F("rule")), default=Value("")))
        .values_list("incident_id", "service", "area", "of")
        .annotate(first=Min("began_at"), last=Max("began_at"), firing=_FIRING, ended=Max("ended_at"))
    )
    for incident_id, service, area, of, first, last, firing, ended in rows:
        yield incident_id, Trace(kind_of(service, area, of), first, last, bool(firing), ended)


def _lately(tenant_id: UUID, now: datetime) -> Lately:
    since = now - MINUTE
    alerts = Alert.objects.filter(tenant_id=tenant_id, began_at__gt=since, incident__isnull=False)
    opened = Incident.objects.filter(tenant_id=tenant_id, source__in=_FROM_ALERTS, opened_at__gt=since)
    return Lately(alerts.count(), opened.count())


@dataclass
class _Carrier:
    """Carries a plan out for one tenant."""

    tenant_id: UUID
    now: datetime
    actor: str
    services: Mapping[str, Known]
    alerts: Mapping[int, Alert]

    def carry_out(self, planned: Plan, graph: Graph) -> Grouped:
        """Add what joins, open what is new, and return the refs of both."""
        done = Grouped()
        for incident in Incident.objects.select_for_update().filter(pk__in=planned.joins).order_by("pk"):
            if self._join(incident, self._rows(planned.joins[incident.pk])):
                done.joined.append(incident.ref)
        for opening in planned.opens:
            done.opened.append(self._open(opening, graph).ref)
        return done

    def _rows(self, fresh: Iterable[Fresh]) -> list[Alert]:
        return sorted((self.alerts[key] for each in fresh for key in each.keys), key=lambda row: (row.began_at, row.pk))

    def _join(self, incident: Incident, rows: list[Alert]) -> bool:
        """Add alerts to an incident, and return whether that says something new: a service, or more urgency."""
        known = set(incident.alerts.order_by().values_list("service", flat=True).distinct()) | {incident.service}
        before = incident.priority
        add_alerts(incident, rows, self.now, self.actor)
        _raise(incident, self._urgency(rows), self.now, self.actor)
        return incident.priority < before or any(row.service not in known for row in rows)

    def _open(self, opening: Opening, graph: Graph) -> Incident:
        rows = self._rows(opening.fresh)
        first = min(rows, key=lambda row: (row.priority, row.began_at, row.pk))
        incident = open_incident(
            tenant_id=self.tenant_id,
            title=opening_title(rows, is_storm=opening.is_storm),
            text=opening_text(rows, former=self._former(rows)),
            service="" if opening.is_storm else service_meant(rows, graph),
            priority=self._urgency(rows),
            source=Source(first.source),
            source_key=f"{STORM if opening.is_storm else 'alert:'}{first.ref}",
            actor=self.actor,
            now=self.now,
        )
        add_alerts(incident, rows, self.now, self.actor)
        return incident

    def _urgency(self, rows: Iterable[Alert]) -> int:
        """Return the most urgent of the alerts' priorities and their services' tiers."""
        found = list(rows)
        tiers = [self.services[row.service].tier for row in found if row.service in self.services]
        return min([row.priority for row in found] + tiers)

    def _former(self, rows: Sequence[Alert]) -> list[Incident]:
        """Return the incidents of the same alerts that were resolved a short while ago."""
        prints = [row.fingerprint for row in rows[:MOST]]
        since = self.now - WINDOW
        found = Incident.objects.filter(tenant_id=self.tenant_id, status=Incident.Status.RESOLVED)
        return list(found.filter(resolved_at__gt=since, alerts__fingerprint__in=prints).distinct().order_by("pk")[:5])
