"""What roles have to do by the calendar: carried out by the sweep, for one tenant after the other.

A lease keeps two sweeps from doing the same work; what is done does not rest on it, because each thing that is due has
a key of its own. A sweep that dies leaves what it did done, and the rest to the next one when the lease is over.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F, Q

from agentops.agents.models import Agent
from agentops.kernel.canonical import storable
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.ids import derived_id
from agentops.registry import roles
from agentops.registry.schedule import Run, ScheduleSpec
from agentops.runtime.schedule_models import RoleSchedule
from agentops.tenancy.models import Freeze

log = logging.getLogger(__name__)

MOST_THINGS = 100
"""So many things are done for one tenant before it is another one's turn."""
MOST_TENANTS = 20
LEASE = timedelta(minutes=5)
RETRY = timedelta(minutes=1)
INCIDENT = "SCHEDULE_FAILED"
_MOST_TOLD = 10


def run_schedules() -> int:
    """Look after what is due by the calendar, and return how many things were done.

    At most MOST_TENANTS schedules, those that waited longest. What fails for one tenant is logged, stands in its row,
    and is tried again after RETRY; the others are looked after all the same. A tenant that is frozen waits.
    """
    specs = {(role.name, spec.name): spec for role in roles.all_roles() for spec in role.schedules}
    if not specs:
        return 0
    _make_missing(specs)
    return sum(_look_after(row, specs[row.role, row.name]) for row in _due(specs))


def _make_missing(specs: dict[tuple[str, str], ScheduleSpec]) -> None:
    """A tenant that has an agent of the role, active or not, has its schedules."""
    names = {role for role, _ in specs}
    employed = set(Agent.objects.filter(role__in=names).values_list("tenant_id", "role").distinct())
    known = set(RoleSchedule.objects.filter(role__in=names).values_list("tenant_id", "role", "name"))
    wanted = {(tenant, role, name) for tenant, role in employed for owner, name in specs if owner == role}
    now = utcnow()
    RoleSchedule.objects.bulk_create(
        [
            RoleSchedule(id=_id_of(tenant, role, name), tenant_id=tenant, role=role, name=name, due_at=now)
            for tenant, role, name in wanted - known
        ],
        ignore_conflicts=True,
    )


def _id_of(tenant_id: UUID, role: str, name: str) -> UUID:
    return derived_id("schedule", str(tenant_id), role, name)


def _due(specs: dict[tuple[str, str], ScheduleSpec]) -> Iterator[RoleSchedule]:
    """Yield the schedules that are due, each leased to this sweep."""
    now = utcnow()
    frozen = Freeze.objects.filter(lifted_at=None, tool="", agent_id=None)
    if frozen.filter(tenant=None).exists():
        return
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    due = RoleSchedule.objects.filter(free, due_at__lte=now).exclude(tenant__in=frozen.values("tenant"))
    due = due.filter(role__in={role for role, _ in specs}, name__in={name for _, name in specs})
    for row in due.order_by("due_at", "id")[:MOST_TENANTS]:
        mine = RoleSchedule.objects.filter(free, pk=row.pk, fence=row.fence)
        if (row.role, row.name) in specs and mine.update(leased_until=utcnow() + LEASE, fence=F("fence") + 1):
            row.fence += 1
            yield row


def _look_after(row: RoleSchedule, spec: ScheduleSpec) -> int:
    try:
        run = spec.run(row.tenant_id, utcnow(), MOST_THINGS)
    except Exception as error:
        extra = {"tenant": str(row.tenant_id), "role": row.role, "schedule": row.name}
        log.exception("%s: what was due could not be done", INCIDENT, extra=extra)
        _note_failure(row, error)
        return 0
    _note(row, spec, run)
    return len(run.done)


def _note(row: RoleSchedule, spec: ScheduleSpec, run: Run) -> None:
    now = utcnow()
    # What was too much for one run goes on with the next sweep.
    due_at = now if len(run.done) >= MOST_THINGS else now + spec.every
    _leave(
        row,
        due_at=due_at,
        ran_at=now,
        done=F("done") + len(run.done),
        refused=len(run.refused),
        failed_since=None,
        words=storable("\n".join(run.refused[:_MOST_TOLD]), most=4_000),
    )


def _note_failure(row: RoleSchedule, error: Exception) -> None:
    """Words of errors that are not ours may hold anything: they stand in the log only."""
    words = error.message if isinstance(error, AgentOpsError) else f"{type(error).__name__}, see the log."
    now: datetime = utcnow()
    _leave(row, due_at=now + RETRY, ran_at=now, failed_since=row.failed_since or now, words=storable(words, most=300))


def _leave(row: RoleSchedule, **fields: object) -> None:
    """Write how it went, unless the lease has passed to another sweep meanwhile."""
    RoleSchedule.objects.filter(pk=row.pk, fence=row.fence).update(leased_until=None, **fields)
