"""Moves a tenant's estate on to the present: its state, what was seen on the way, and the alerts that follow.

Whoever looks moves it first, so that nothing has to run while nobody looks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from agentops.kernel.ids import short_ref
from sre_agent import models
from sre_agent.estate import values
from sre_agent.estate.alerting import LONGEST, Firing, firing, priority_of
from sre_agent.estate.stepping import Moment, run
from sre_agent.estate.storing import as_json, from_json
from sre_agent.estate.values import TICK_S, Estate

MOST_TICKS = 720
"""Two hours of the estate. What nobody looked at for longer is not made up for: the estate slept."""

_FIGURES = tuple(field.name for field in fields(values.Sample) if field.name not in ("service", "tick"))


class NoEstate(LookupError):
    """The tenant has no embedded estate."""


@dataclass(frozen=True)
class Sight:
    """An estate as somebody sees it. ``now`` is the time there, ``at`` when its latest tick ended."""

    estate: Estate
    now: datetime
    at: datetime
    a_tick: timedelta

    def moment_of(self, tick: int) -> datetime:
        """Return when a tick ended; for one that is to come, when it will."""
        return self.at - (self.estate.tick - tick) * self.a_tick

    def tick_at(self, moment: datetime) -> int:
        """Return a tick that ended no later than ``moment``, nor long before it."""
        return self.estate.tick - max(-((moment - self.at) // self.a_tick), 0)


def found_estate(*, tenant_id: UUID, estate: Estate, now: datetime, seconds_a_tick: int = TICK_S) -> None:
    """Give a tenant an estate, unless it has one."""
    models.Landscape.objects.get_or_create(
        tenant_id=tenant_id,
        defaults={
            "state": as_json(estate),
            "tick": estate.tick,
            "ticked_at": now,
            "seconds_a_tick": seconds_a_tick,
        },
    )


def to_present(tenant_id: UUID, now: datetime) -> Estate:
    """Move the estate on to ``now`` and return it, as ``look`` does."""
    return look(tenant_id, now).estate


def look(tenant_id: UUID, now: datetime) -> Sight:
    """Move the estate on to ``now`` and return it, its row locked until the transaction ends. Raises NoEstate.

    Has to be called in a transaction. A clock that stands still, or that runs behind, moves nothing.
    """
    row = _locked(tenant_id)
    if not row.seconds_a_tick:
        return Sight(from_json(row.state), row.ticked_at, row.ticked_at, timedelta(seconds=TICK_S))
    a_tick = timedelta(seconds=row.seconds_a_tick)
    due = max((now - row.ticked_at) // a_tick, 0)
    if due > MOST_TICKS:
        row.ticked_at, due = now - MOST_TICKS * a_tick, MOST_TICKS
    estate = _moved(row, due, a_tick)
    return Sight(estate, now, row.ticked_at, a_tick)


@transaction.atomic
def move(tenant_id: UUID, ticks: int, now: datetime) -> Estate:
    """Move the estate on by ``ticks`` of TICK_S seconds that end ``now``, whatever its clock says. Raises NoEstate."""
    row = _locked(tenant_id)
    a_tick = timedelta(seconds=TICK_S)
    row.ticked_at = now - ticks * a_tick
    return _moved(row, ticks, a_tick)


def keep(tenant_id: UUID, estate: Estate) -> None:
    """Write what somebody changed back into the row that ``to_present`` locked."""
    models.Landscape.objects.filter(tenant_id=tenant_id, tick=estate.tick).update(state=as_json(estate))


def _locked(tenant_id: UUID) -> models.Landscape:
    row = models.Landscape.objects.select_for_update().filter(tenant_id=tenant_id).first()
    if row is None:
        raise NoEstate("There is no embedded estate.")
    return row


def _moved(row: models.Landscape, ticks: int, a_tick: timedelta) -> Estate:
    before = from_json(row.state)
    moments = run(before, ticks)
    if not moments:
        return before
    estate = moments[-1].estate
    began = row.ticked_at
    _keep_seen(row.tenant_id, moments, began, before.tick, a_tick)
    row.state, row.tick, row.ticked_at = as_json(estate), estate.tick, began + ticks * a_tick
    row.save(update_fields=["state", "tick", "ticked_at"])
    _keep_alerts(row.tenant_id, estate, moments, row.ticked_at, a_tick)
    return estate


def _keep_seen(tenant_id: UUID, moments: Iterable[Moment], began: datetime, first: int, a_tick: timedelta) -> None:
    samples: list[models.Sample] = []
    lines: list[models.LogLine] = []
    for moment in moments:
        at = began + (moment.estate.tick - first) * a_tick
        for sample in moment.samples:
            figures = {name: getattr(sample, name) for name in _FIGURES}
            samples.append(
                models.Sample(tenant_id=tenant_id, service=sample.service, tick=sample.tick, at=at, **figures)
            )
        lines.extend(_line(tenant_id, line, at) for line in moment.lines)
    models.Sample.objects.bulk_create(samples, batch_size=2_000)
    models.LogLine.objects.bulk_create(lines, batch_size=2_000)


def _line(tenant_id: UUID, line: values.Line, at: datetime) -> models.LogLine:
    return models.LogLine(
        tenant_id=tenant_id,
        service=line.service,
        replica=line.replica,
        tick=line.tick,
        at=at,
        level=line.level.value,
        text=line.text[:1_000],
    )


def _keep_alerts(tenant_id: UUID, estate: Estate, moments: Sequence[Moment], now: datetime, a_tick: timedelta) -> None:
    """End the alerts that do not fire any more, and begin those that do: as of the last tick, not of each between."""
    firing_now = {alert.fingerprint: alert for alert in _firing(tenant_id, estate, moments)}
    told = models.Alert.objects.filter(tenant_id=tenant_id, source=models.Source.ESTATE, ended_at__isnull=True)
    open_alerts = {row.fingerprint: row for row in told}
    for fingerprint, row in open_alerts.items():
        if fingerprint not in firing_now:
            row.ended_at, row.version = now, row.version + 1
            row.save(update_fields=["ended_at", "version"])
    models.Alert.objects.bulk_create(
        models.Alert(
            tenant_id=tenant_id,
            ref=short_ref("AL"),
            fingerprint=fingerprint,
            rule=alert.rule.name,
            service=alert.service,
            words=alert.rule.words,
            priority=priority_of(estate.services[alert.service].tier, alert.rule),
            began_at=now - (estate.tick - alert.since) * a_tick,
        )
        for fingerprint, alert in firing_now.items()
        if fingerprint not in open_alerts
    )


def _firing(tenant_id: UUID, estate: Estate, moments: Sequence[Moment]) -> list[Firing]:
    """Return what fires at the last tick; samples of before are read where these moments alone are too few to tell."""
    found: list[Firing] = []
    for ref in sorted(estate.services):
        latest = [sample for moment in moments[-LONGEST:] for sample in moment.samples if sample.service == ref]
        if len(latest) < LONGEST:
            latest = _latest(tenant_id, ref)
        found += firing(latest)
    return found


def _latest(tenant_id: UUID, ref: str) -> list[values.Sample]:
    rows = models.Sample.objects.filter(tenant_id=tenant_id, service=ref).order_by("-tick")[:LONGEST]
    return [
        values.Sample(row.service, row.tick, **{name: getattr(row, name) for name in _FIGURES})
        for row in reversed(rows)
    ]
