"""What billing does by the calendar."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from agentops.registry.lending import lent
from agentops.registry.schedule import Run, ScheduleSpec
from billing_agent.connectors import STRIPE_KEY, uses_stripe
from billing_agent.connectors.renewing import run_due


def _synced(tenant_id: UUID, now: datetime, limit: int) -> Run:
    """Bring what the house keeps of Stripe up to date. Raises ToolFailure when Stripe cannot be asked."""
    from billing_agent.connectors.stripe.syncing import OFTEN, sync  # noqa: PLC0415 - its SDK is an optional extra

    with lent(tenant_id, STRIPE_KEY) as secret:
        return Run(done=sync(tenant_id, secret, now, replace(OFTEN, changes=limit)).words)


DUE = ScheduleSpec("due", "Renewals, charges and dunning", timedelta(minutes=5), run_due)
SYNC = ScheduleSpec("sync", "Customers and disputes at Stripe", timedelta(minutes=15), _synced)


def schedules(*, at_stripe: bool) -> tuple[ScheduleSpec, ...]:
    """Return what is due in a system of record. Stripe renews, collects and resumes by itself."""
    return (SYNC,) if at_stripe else (DUE,)


SCHEDULES = schedules(at_stripe=uses_stripe())
