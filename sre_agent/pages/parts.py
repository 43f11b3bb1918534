"""What several pages of incidents share: states in words, and how long something took."""

from datetime import timedelta

from agentops.registry.pages import Status
from sre_agent.models import Incident

_STATUSES = {
    Incident.Status.OPEN: ("stop", "open"),
    Incident.Status.MITIGATED: ("plain", "mitigated"),
    Incident.Status.ESCALATED: ("notice", "with a person"),
    Incident.Status.RESOLVED: ("ok", "resolved"),
}


def status_of(incident: Incident) -> Status:
    """Return how far an incident is."""
    return Status(*_STATUSES[Incident.Status(incident.status)])


def lasted(span: timedelta) -> str:
    """Return a length of time in its two largest units: ``2 h 5 min``."""
    seconds = max(int(span.total_seconds()), 0)
    sizes = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts: list[str] = []
    for unit, size in sizes:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append(f"{count} {unit}" if count else "")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part) or "0 s"
