"""Keeping what senders tell of alerts: a row from when one began until it ended, however often it is told."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F

from agentops.kernel.ids import short_ref
from sre_agent.hooks.news import Known, News, in_order, news_of
from sre_agent.hooks.told import Told
from sre_agent.models import Alert, Incident, Source

AHEAD = timedelta(minutes=5)
"""So far a sender's clock may be ahead of ours. What begins later is not taken."""
_BATCH = 1_000


@dataclass
class Recorded:
    """What a message came to: rows that began, alerts that ended, and how many were told again, old, or not yet due.

    ``fresh`` are the fingerprints whose latest alert began with this message: its row is not written yet.
    """

    began: list[Alert] = field(default_factory=list)
    ended: list[Alert] = field(default_factory=list)
    again: list[Alert] = field(default_factory=list)
    raised: list[Alert] = field(default_factory=list)
    fresh: set[str] = field(default_factory=set)
    old: int = 0
    ahead: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether nothing at all was new."""
        return not (self.began or self.ended or self.again or self.raised)


def record(tenant_id: UUID, source: Source, told: Collection[Told], now: datetime) -> Recorded:
    """Keep what is told, in the caller's transaction, which has the tenant's alerts to itself (``grouping.alone``)."""
    latest = _latest(tenant_id, source, {one.fingerprint for one in told})
    found = Recorded()
    for one in in_order(told):
        if one.began_at > now + AHEAD:
            found.ahead += 1
        else:
            _note(found, latest, _row(tenant_id, source, one), one, now)
    _keep(found)
    return found


def _latest(tenant_id: UUID, source: Source, fingerprints: Iterable[str]) -> dict[str, Alert]:
    """Return the alert of each fingerprint that began last."""
    rows = Alert.objects.filter(tenant_id=tenant_id, source=source, fingerprint__in=list(fingerprints))
    return {row.fingerprint: row for row in rows.order_by("fingerprint", "-began_at", "-id").distinct("fingerprint")}


def _row(tenant_id: UUID, source: Source, told: Told) -> Alert:
    return Alert(
        tenant_id=tenant_id,
        ref=short_ref("AL"),
        source=source,
        fingerprint=told.fingerprint,
        rule=told.rule,
        service=told.service,
        area=told.area,
        words=told.words,
        priority=told.priority,
        began_at=told.began_at,
    )


def _note(found: Recorded, latest: dict[str, Alert], row: Alert, told: Told, now: datetime) -> None:
    known = latest.get(told.fingerprint)
    match news_of(Known(known.began_at, known.ended_at) if known is not None else None, told):
        case News.BEGAN:
            if known is not None and known.ended_at is None:
                # It ended and began again, and nobody told of the end.
                _end(found, known, told.began_at)
            if told.is_over:
                row.ended_at = max(told.ended_at or now, row.began_at)
            found.began.append(row)
            found.fresh.add(told.fingerprint)
            latest[told.fingerprint] = row
        case News.AGAIN if known is not None:
            _again(found, known, told.priority)
        case News.ENDED if known is not None:
            _end(found, known, told.ended_at or now)
        case _:
            found.old += 1


def _again(found: Recorded, row: Alert, priority: int) -> None:
    """A message that says the same of an alert twice has told of it once."""
    is_written = row.fingerprint not in found.fresh
    if is_written:
        found.again.append(row)
    if priority < row.priority:
        row.priority = priority
        if is_written:
            found.raised.append(row)


def _end(found: Recorded, row: Alert, at: datetime) -> None:
    row.ended_at = max(at, row.began_at)
    if row.fingerprint not in found.fresh:
        row.version += 1
        found.ended.append(row)


def _keep(found: Recorded) -> None:
    """Write it, what ended first: an alert fires once. Incidents are locked before their alerts, as the desk does."""
    touched = {row.incident_id for row in (*found.again, *found.ended) if row.incident_id is not None}
    list(Incident.objects.select_for_update().filter(pk__in=touched).order_by("pk").values_list("pk"))
    Alert.objects.bulk_update(found.ended, ["ended_at", "version"], batch_size=_BATCH)
    Alert.objects.filter(pk__in={row.pk for row in found.again}).update(times=F("times") + 1)
    for priority in {row.priority for row in found.raised}:
        raised = [row.pk for row in found.raised if row.priority == priority]
        Alert.objects.filter(pk__in=raised).update(priority=priority, version=F("version") + 1)
    Alert.objects.bulk_create(found.began, batch_size=_BATCH)
