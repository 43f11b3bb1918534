"""Everything that is due: leases that ran out, back-offs that are over, approvals past their time, new work.

What roles do by the calendar comes before new work, so that the work it opens is taken in at once.

Any number of sweeps may run at once; each row is handled by one of them.
"""

import logging
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import CharField, DateTimeField, ExpressionWrapper, F, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat, Now

from agentops.agents.models import Agent
from agentops.gateway.prepare import Refusal
from agentops.kernel.clock import utcnow
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import IncidentCode
from agentops.ledger.append import Event, StaleStream, Statement
from agentops.registry import roles
from agentops.runtime import doorbell
from agentops.runtime.dispatch import builds
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import move, start_waiting
from agentops.runtime.ports import approval_gate, further_duties
from agentops.runtime.questions import expire_questions
from agentops.runtime.retiring import awaiting, left_unknown, withdrawal
from agentops.runtime.schedules import run_schedules
from agentops.runtime.statements import CLASS_WORTH
from agentops.runtime.states import InvocationState, SessionStatus
from agentops.runtime.stopping import stop_unheld

log = logging.getLogger(__name__)

BATCH = 200
ENOUGH_QUEUED = 500
VERSION_GRACE = timedelta(minutes=10)


def sweep_once() -> int:
    """Do what is due, ring if anything is runnable, and return how many things were done."""
    done = _reclaim() + _wake() + approval_gate().do_due(BATCH) + expire_questions(BATCH) + _give_up()
    done += run_schedules() + _take_in() + sum(do(utcnow(), BATCH) for do in further_duties())
    if Session.objects.filter(status=SessionStatus.QUEUED).exists():
        doorbell.ring()
    return done


def _reclaim() -> int:
    """Sessions whose worker went silent."""
    due = Q(status=SessionStatus.RUNNING, lease_until__lt=Now())
    return _queue_all(due, "session.lease_expired", CrashPoint.SWEEP_RECLAIMING)


def _wake() -> int:
    """Sessions whose back-off is over."""
    due = Q(status=SessionStatus.SLEEPING, wake_at__lte=Now())
    return _queue_all(due, "session.woken", CrashPoint.SWEEP_WAKING)


def _queue_all(due: Q, event: str, point: CrashPoint) -> int:
    done = 0
    for pk in Session.objects.filter(due).order_by("id").values_list("pk", flat=True)[:BATCH]:
        with transaction.atomic():
            session = Session.objects.select_for_update(skip_locked=True).filter(due, pk=pk).first()
            if session is None:
                continue
            facts = {"lease_owner": session.lease_owner} if session.lease_owner else {}
            reach(point)
            try:
                move(session, [Event(event, "sweep", facts)], SessionStatus.QUEUED)
            except StaleStream:
                continue
            done += 1
    return done


def _give_up() -> int:
    """Sessions that began under a version of their role that no worker goes on with any more.

    While a new version is rolled out, workers of the old one go on with theirs; only what is left after that is given
    up, with a code that says why.
    """
    known = builds()
    build = Concat("role", Value(":"), Cast("role_version", CharField()))
    # ``rank_at`` is the moment of becoming runnable, less what the priority is worth.
    runnable_at = ExpressionWrapper(F("rank_at") + F("priority") * Value(CLASS_WORTH), DateTimeField())
    left = Session.objects.annotate(build=build, runnable_at=runnable_at).filter(
        status=SessionStatus.QUEUED,
        role__in={name.partition(":")[0] for name in known},
        runnable_at__lt=utcnow() - VERSION_GRACE,
    )
    left = left.exclude(build__in=known).order_by("id")
    done = 0
    for pk in left.values_list("pk", flat=True)[:BATCH]:
        with suppress(StaleStream):
            done += _end_unserved(left, pk)
    return done


@transaction.atomic
def _end_unserved(left: QuerySet[Session], session_id: UUID) -> bool:
    """End a session that nobody works, unless somebody does by now. What it left unfinished is a person's."""
    pending = awaiting(session_id)
    events: list[Event] = []
    also: list[Statement] = []
    if pending is not None:
        # The request is locked before the session, as in deciding.
        refusal = Refusal("NOT_CONTINUED", IncidentCode.VERSION_GONE.words, "A person must do it.")
        events, concluded = withdrawal(pending, refusal, actor="sweep")
        also.append(concluded)
    session = left.select_for_update(skip_locked=True, of=("self",)).filter(pk=session_id).first()
    if session is None:
        transaction.set_rollback(True)
        return False
    intended = Invocation.objects.filter(session_id=session_id, state=InvocationState.INTENDED).first()
    if intended is not None:
        unknown, concluded = left_unknown(intended, "The program that made the call is no longer installed.")
        events.append(unknown)
        also.append(concluded)
    stop_unheld(session, code=IncidentCode.VERSION_GONE, actor="sweep", events=events, also=also)
    return True


def _take_in() -> int:
    """Start sessions for waiting work, but keep the queue short enough to stay fair and visible.

    Work that cannot be taken in now, because a system of record is down, stays waiting there.
    """
    known = [role.name for role in roles.all_roles()]
    agents = Agent.objects.filter(is_active=True, current_version__isnull=False, role__in=known)
    agents = agents.select_related("current_version")
    return sum(_take_in_for(agent) for agent in agents)


def _take_in_for(agent: Agent) -> int:
    queued = Session.objects.filter(tenant_id=agent.tenant_id, status=SessionStatus.QUEUED, agent_id=agent.pk)
    if queued[:ENOUGH_QUEUED].count() >= ENOUGH_QUEUED:
        return 0
    try:
        return start_waiting(agent=agent, limit=BATCH)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("work for agent %s could not be taken in", agent.pk)
        return 0
