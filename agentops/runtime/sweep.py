"""Everything that is due: leases that ran out, back-offs that are over, approvals past their time, new work.

Any number of sweeps may run at once; each row is handled by one of them.
"""

import logging

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from agentops.agents.models import Agent
from agentops.ledger.append import Event, StaleStream
from agentops.registry import roles
from agentops.runtime import doorbell
from agentops.runtime.models import Session
from agentops.runtime.operations import return_to_queue, start_waiting
from agentops.runtime.ports import approval_gate
from agentops.runtime.states import SessionStatus

log = logging.getLogger(__name__)

BATCH = 200
ENOUGH_QUEUED = 500


def sweep_once() -> int:
    """Do what is due, ring if anything is runnable, and return how many things were done."""
    done = _reclaim() + _wake() + approval_gate().expire_due(BATCH) + _take_in()
    if Session.objects.filter(status=SessionStatus.QUEUED).exists():
        doorbell.ring()
    return done


def _reclaim() -> int:
    """Sessions whose worker went silent."""
    due = Q(status=SessionStatus.RUNNING, lease_until__lt=Now())
    return _queue_all(due, SessionStatus.RUNNING, "session.lease_expired")


def _wake() -> int:
    """Sessions whose back-off is over."""
    due = Q(status=SessionStatus.SLEEPING, wake_at__lte=Now())
    return _queue_all(due, SessionStatus.SLEEPING, "session.woken")


def _queue_all(due: Q, before: SessionStatus, event: str) -> int:
    done = 0
    for pk in Session.objects.filter(due).order_by("id").values_list("pk", flat=True)[:BATCH]:
        with transaction.atomic():
            session = Session.objects.select_for_update(skip_locked=True).filter(due, pk=pk).first()
            if session is None:
                continue
            facts = {"lease_owner": session.lease_owner} if session.lease_owner else {}
            try:
                return_to_queue(session=session, before=before, event=Event(event, "sweep", facts))
            except StaleStream:
                continue
            done += 1
    return done


def _take_in() -> int:
    """Start sessions for waiting work, but keep the queue short enough to stay fair and visible.

    Work that cannot be taken in now, because a system of record is down, stays waiting there.
    """
    if Session.objects.filter(status=SessionStatus.QUEUED)[:ENOUGH_QUEUED].count() >= ENOUGH_QUEUED:
        return 0
    known = [role.name for role in roles.all_roles()]
    agents = Agent.objects.filter(is_active=True, current_version__isnull=False, role__in=known)
    agents = agents.select_related("current_version")
    return sum(_take_in_for(agent) for agent in agents)


def _take_in_for(agent: Agent) -> int:
    try:
        return start_waiting(agent=agent, limit=BATCH)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("work for agent %s could not be taken in", agent.pk)
        return 0
