"""The integers of a dry run that rules compare and only the role's own records know."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from sre_agent import models
from sre_agent.connectors import freezing

NEVER = 1_000_000
STEPS = (1_440, 240, 60, 30, 0)


def measured(tenant_id: UUID, target: str, services: Collection[str], now: datetime) -> Mapping[str, int]:
    """Return ``minutes_since_disruption`` of a target and whether a ``change_freeze`` covers any of the services.

    The minutes are rounded down to one of STEPS, so that a dry run stays the same while a person decides about it; a
    rule that asks for fewer minutes than that holds longer, never shorter. NEVER: no write was disruptive.
    """
    frozen = freezing.is_frozen(tenant_id, services, now)
    return {"minutes_since_disruption": _since_disruption(tenant_id, target, now), "change_freeze": int(frozen)}


def priority_of(tenant_id: UUID, incident_ref: str) -> int | None:
    """Return how urgent an incident is to whoever changes something for it, None when there is no such incident.

    One that an agent made less urgent counts as it did before: no agent moves the limit that it works under.
    """
    found = models.Incident.objects.filter(tenant_id=tenant_id, ref=incident_ref)
    incident = found.only("pk", "priority").first() if incident_ref else None
    if incident is None:
        return None
    noted = models.Note.objects.filter(incident_id=incident.pk).exclude(operation_key="")
    keys = list(noted.values_list("operation_key", flat=True))
    updates = models.Operation.objects.filter(tenant_id=tenant_id, key__in=keys, action="UpdateIncident")
    before: list[int] = [result["before"]["priority"] for result in updates.values_list("result", flat=True)]
    return min([incident.priority, *before])


def _since_disruption(tenant_id: UUID, target: str, now: datetime) -> int:
    disruptive = models.Operation.objects.filter(tenant_id=tenant_id, target=target, disruptive=True)
    last = disruptive.order_by("-at").values_list("at", flat=True).first()
    if last is None:
        return NEVER
    passed = max((now - last) // timedelta(minutes=1), 0)
    return next(step for step in STEPS if step <= passed)
