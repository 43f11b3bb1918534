"""Who works on a service or node: one incident at a time, for half an hour after its latest write."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import ToolFailure
from sre_agent.models import Claim

MINUTES = 30


def standing(tenant_id: UUID, target: str, now: datetime) -> Claim | None:
    """Return the claim on a target, ``service:NAME`` or ``node:NAME``, None when nobody works on it."""
    return Claim.objects.filter(tenant_id=tenant_id, target=target, until__gt=now).first()


@transaction.atomic
def take(tenant_id: UUID, target: str, incident_ref: str, now: datetime) -> None:
    """Claim a target for an incident until MINUTES from ``now``, or longer where it holds it for longer already.

    Waits for whoever is claiming it. Raises ToolFailure CONFLICT while another incident holds it, VALIDATION without
    an incident.
    """
    if not incident_ref:
        raise ToolFailure(FailureKind.VALIDATION, "Only an incident can claim a service or node.")
    until = now + timedelta(minutes=MINUTES)
    fresh = Claim(tenant_id=tenant_id, target=target, incident_ref=incident_ref, since=now, until=until)
    Claim.objects.bulk_create([fresh], ignore_conflicts=True)
    row = Claim.objects.select_for_update().get(tenant_id=tenant_id, target=target)
    stands = row.until > now
    if stands and row.incident_ref != incident_ref:
        raise ToolFailure(
            FailureKind.CONFLICT,
            f"{target} is being worked on for incident {row.incident_ref} until {row.until:%H:%M} UTC.",
        )
    row.since = row.since if stands else now
    row.incident_ref, row.until = incident_ref, max(row.until, until)
    row.save(update_fields=["incident_ref", "since", "until"])


def give_back(tenant_id: UUID, incident_ref: str, now: datetime) -> None:
    """Let others change what an incident holds: it was resolved, or is with people."""
    Claim.objects.filter(tenant_id=tenant_id, incident_ref=incident_ref, until__gt=now).update(until=now)
