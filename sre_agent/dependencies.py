"""What is known of a tenant's services where alerts are grouped: their tiers, and which one needs which.

Alerts are grouped in a transaction, where nobody asks a platform over the network. What a platform told lately is
remembered for REMEMBERED; the embedded estate is a row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.core.cache import cache

from sre_agent.connectors.records import Service
from sre_agent.estate.storing import from_json
from sre_agent.models import Landscape

REMEMBERED = timedelta(hours=6)


@dataclass(frozen=True)
class Known:
    """One service: its tier, 0 the most important, and the services that it needs."""

    tier: int
    needs: tuple[str, ...]


def known_services(tenant_id: UUID) -> Mapping[str, Known]:
    """Return the services that are known, by name; none when nobody has told."""
    found: Mapping[str, tuple[int, tuple[str, ...]]] | None = cache.get(_key(tenant_id))
    if found is not None:
        return {ref: Known(tier, tuple(needs)) for ref, (tier, needs) in found.items()}
    state = Landscape.objects.filter(tenant_id=tenant_id).values_list("state", flat=True).first()
    if state is None:
        return {}
    return {ref: Known(int(service.tier), service.depends_on) for ref, service in from_json(state).services.items()}


def remember(tenant_id: UUID, services: Iterable[Service]) -> None:
    """Keep what a platform told of its services."""
    told = {service.ref: (int(service.tier), tuple(service.depends_on)) for service in services}
    cache.set(_key(tenant_id), told, int(REMEMBERED.total_seconds()))


def _key(tenant_id: UUID) -> str:
    return f"sre:services:{tenant_id}"
