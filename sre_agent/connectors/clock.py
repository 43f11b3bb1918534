"""What time it is in a tenant's embedded estate."""

from datetime import datetime
from uuid import UUID

from sre_agent.models import Landscape


def present(tenant_id: UUID, now: datetime) -> datetime:
    """Return the estate's own time: when its latest tick was over, if it stands still until somebody moves it."""
    still = Landscape.objects.filter(tenant_id=tenant_id, seconds_a_tick=0)
    return still.values_list("ticked_at", flat=True).first() or now
