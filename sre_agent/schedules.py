"""What the SRE role does by the calendar: alerts become incidents, and nothing is left lying."""

from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from agentops.registry.lending import lent
from agentops.registry.schedule import Run, ScheduleSpec
from agentops.registry.tool import CallContext
from sre_agent.connectors import KUBERNETES_KEY, is_embedded, platform
from sre_agent.connectors.clock import present
from sre_agent.connectors.moving import NoEstate, to_present
from sre_agent.dependencies import remember
from sre_agent.grouping import group
from sre_agent.keeping import delete_old, tell_of_quiet

_NO_SESSION = UUID(int=0)
WATCHED_BY = "schedule:watch"


def watch(tenant_id: UUID, now: datetime, limit: int) -> Run:
    """Move an embedded estate on to the present, and put alerts that have no incident yet into one.

    Webhooks group what they bring; this finds alerts of the estate, and those whose silence is over.
    """
    with suppress(NoEstate), transaction.atomic():
        to_present(tenant_id, now)
    grouped = group(tenant_id, present(tenant_id, now), actor=WATCHED_BY)
    return Run(done=[f"Incident {ref} was opened." for ref in grouped.opened])


def tidy(tenant_id: UUID, now: datetime, limit: int) -> Run:
    """Say of mitigated incidents without an alert that they are quiet, and delete what was seen long ago."""
    told = tell_of_quiet(tenant_id, present(tenant_id, now), limit)
    return Run(done=told + delete_old(tenant_id, present(tenant_id, now), limit - len(told)))


def learn(tenant_id: UUID, now: datetime, limit: int) -> Run:
    """Ask another platform than the embedded one which services there are, for whoever groups alerts.

    Raises ToolFailure when it cannot be asked.
    """
    with lent(tenant_id, KUBERNETES_KEY) as secret:
        services = platform().services(CallContext(tenant_id, _NO_SESSION, "", None, now, secret=secret))
    remember(tenant_id, services)
    return Run(done=[f"{len(services)} services are known."])


WATCH = ScheduleSpec("watch", "Alerts and the embedded estate", timedelta(minutes=1), watch)
TIDY = ScheduleSpec("tidy", "Quiet incidents and old samples", timedelta(hours=1), tidy)
LEARN = ScheduleSpec("learn", "Services and what they need", timedelta(hours=1), learn)


def schedules(*, embedded: bool) -> tuple[ScheduleSpec, ...]:
    """Return what is due. The embedded estate is a row, and looked up where it is needed."""
    return (WATCH, TIDY) if embedded else (WATCH, TIDY, LEARN)


SCHEDULES = schedules(embedded=is_embedded("SRE_PLATFORM"))
