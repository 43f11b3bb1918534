"""How things stand when a scenario begins: a company's estate, what goes wrong in it, and the incident about that.

The estate stands still until somebody moves it: time passes when people decide, and while a session waits.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from agentops.kernel.clock import utcnow
from sre_agent.connectors.desk import add_alerts, open_incident
from sre_agent.connectors.moving import found_estate, move
from sre_agent.estate.alerting import firing
from sre_agent.estate.company import company
from sre_agent.estate.stepping import step
from sre_agent.estate.values import TICK_S, Estate, Happening, Sample
from sre_agent.models import Alert, Incident, Landscape, Shift, Source

ACTOR = "scenario"
KEY = "scenario"
ALERT_WITHIN = 240
"""So many ticks after the beginning an alert has fired, where one is to."""

More = Callable[[UUID, datetime], None]


@dataclass(frozen=True)
class Stage:
    """``estate`` as it is at first. The incident is opened a tick after an alert fired, or after ``ticks``.

    ``more`` happens then, each in its turn. ``title`` and ``text`` are those of the incident, its alert's when empty;
    ``service`` is what it says it is about. ``on_call`` are the levels at which somebody is on call.
    """

    estate: Estate
    ticks: int = 0
    title: str = ""
    text: str = ""
    service: str = ""
    priority: int = 2
    on_call: tuple[int, ...] = (1, 2)
    more: tuple[More, ...] = ()
    without: Collection[str] = ()

    def before(self, tenant_id: UUID) -> None:
        """Make the tenant's estate, who is on call, and the incident."""
        ticks, now = self.ticks or until_alert(self.estate) + 1, utcnow()
        began = now - timedelta(seconds=ticks * TICK_S)
        found_estate(tenant_id=tenant_id, estate=self.estate, now=began, seconds_a_tick=0)
        move(tenant_id, ticks, now)
        for level in self.on_call:
            person = f"person-{level}"
            Shift.objects.create(
                tenant_id=tenant_id,
                person=person,
                contact=f"{person}@house.example",
                level=level,
                starts_at=now - timedelta(hours=4),
                ends_at=now + timedelta(hours=4),
            )
        for each in self.more:
            each(tenant_id, now)
        self._open(tenant_id, now)

    def _open(self, tenant_id: UUID, now: datetime) -> None:
        fires = Alert.objects.filter(tenant_id=tenant_id, incident=None).order_by("priority", "service", "rule")
        alerts = [alert for alert in fires if alert.service not in self.without]
        first = alerts[0] if alerts else None
        incident = open_incident(
            tenant_id=tenant_id,
            title=self.title or (f"{first.rule} of {first.service}" if first else "Something is slow"),
            text=self.text or (first.words if first else "Somebody says that something is slow."),
            service=self.service or (first.service if first else ""),
            priority=first.priority if first else self.priority,
            source=Source.ESTATE,
            source_key=KEY,
            actor=ACTOR,
            now=now,
        )
        add_alerts(incident, alerts, now, ACTOR)


def stage(*happenings: Happening, seed: int = 1) -> Stage:
    """Return the stage of a company in which these things happen."""
    return Stage(company(seed, *happenings))


def incident_of(tenant_id: UUID) -> str:
    """Return the id of the scenario's incident."""
    return Incident.objects.values_list("ref", flat=True).get(tenant_id=tenant_id, source_key=KEY)


def passes(tenant_id: UUID, seconds: int) -> None:
    """Let time pass in the estate, in whole ticks."""
    ticks = -(-seconds // TICK_S)
    if ticks > 0:
        stands = Landscape.objects.values_list("ticked_at", flat=True).get(tenant_id=tenant_id)
        move(tenant_id, ticks, stands + timedelta(seconds=ticks * TICK_S))


def until_alert(estate: Estate) -> int:
    """Return how many ticks it is until an alert fires, ALERT_WITHIN when none does (pure)."""
    samples: dict[str, list[Sample]] = {}
    for ticks in range(1, ALERT_WITHIN):
        moment = step(estate)
        estate = moment.estate
        for sample in moment.samples:
            seen = samples.setdefault(sample.service, [])
            seen.append(sample)
            if firing(seen[-6:]):
                return ticks
    return ALERT_WITHIN
