"""When nothing is to be changed without people who know of it."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from agentops.tenancy.zones import zone_of
from sre_agent.connectors.freezing_rules import covers
from sre_agent.models import ChangeFreeze

__all__ = ["covers", "is_frozen"]


def is_frozen(tenant_id: UUID, services: Collection[str], now: datetime) -> bool:
    """Return whether a freeze covers one of these services now. Without any, a freeze of all services covers."""
    begun = ChangeFreeze.objects.filter(tenant_id=tenant_id, starts_at__lte=now).select_related("tenant")
    freezes = begun.filter(Q(weekly=True) | Q(ends_at__gt=now)).filter(Q(service="") | Q(service__in=list(services)))
    return any(covers(freeze, freeze.service, now, zone_of(freeze.tenant.timezone)) for freeze in freezes)
