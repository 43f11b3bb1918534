"""Claiming sessions and working them."""

import logging
import os
import socket
import threading

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import IncidentCode
from agentops.ledger.append import About, Event, StaleStream, Statement, append
from agentops.llm.planners import planner_for
from agentops.registry import roles
from agentops.registry.roles import get_role
from agentops.runtime import compensation, guards, wakeup
from agentops.runtime.abandon import abandon
from agentops.runtime.interrupts import draining
from agentops.runtime.loop import run
from agentops.runtime.models import Priority, Session
from agentops.runtime.record import Leaving, Took, begin_stopping, record
from agentops.runtime.session import Held, load
from agentops.runtime.states import SessionStatus
from agentops.runtime.work import Work

log = logging.getLogger(__name__)

ANY_PRIORITY = -1
MOST_TRIES = 100
"""So often a claim looks again after others were faster; then it is left to the next ring."""


def work_until_quiet(*, most: int | None = None) -> int:
    """Claim and work sessions until none is runnable, or ``most`` were worked; return how many."""
    done = 0
    while (most is None or done < most) and not draining.is_set():
        held = claim()
        if held is None:
            break
        work_session(held)
        done += 1
    return done


def owner() -> str:
    """Return this worker's name, as leases and events show it."""
    return f"{socket.gethostname()}:{os.getpid()}:{threading.get_native_id()}"


def builds() -> list[str]:
    """Return the roles whose sessions this program may work, each with every version it may go on with."""
    return [f"{role.name}:{version}" for role in roles.all_roles() for version in {role.version, *role.continues}]


def claim() -> Held | None:
    """Claim the most deserving runnable session, or return None. The lease runs on the database's clock.

    Sessions of a role that is not installed, or was begun under a version that this program does not go on with, wait
    for another worker, without holding up the others.
    """
    for _ in range(MOST_TRIES):
        try:
            with transaction.atomic():
                taken = _take(above=ANY_PRIORITY)
        except _NotItsTurn:
            # Others were faster for that tenant, which therefore offers nothing any more.
            continue
        if taken is None:
            return None
        reach(CrashPoint.CLAIM_COMMITTED)
        return _loaded(*taken)
    return None


def preempt(work: Work) -> Held | None:
    """Give the session up for a more urgent one that nobody works yet, and return that one, claimed; None if none is.

    Both happen in one transaction, so one urgent session takes one worker. Raises StaleStream.
    """
    try:
        with transaction.atomic():
            taken = _take(above=work.held.priority, giving_up=work.held)
    except _NotItsTurn:
        return None
    return None if taken is None else _loaded(*taken)


class _NotItsTurn(Exception):
    """The tenant of the session that was found runs as many as it may by now: it is not taken."""


def _take(*, above: int, giving_up: Held | None = None) -> tuple[Session, str, int] | None:
    found = wakeup.next_session(builds=builds(), above=above, giving_up=giving_up.id if giving_up else None)
    if found is None:
        return None
    session, most = found
    if giving_up is not None:
        _give_up(giving_up, session, most)
    name, planner = owner(), planner_for(get_role(session.role)).name
    reach(CrashPoint.CLAIM_COMMITTING)
    params = {"owner": name, "planner": planner, "lease": settings.LEASE_SECONDS, "most": most}
    try:
        row = append(
            stream=session.pk,
            tenant_id=session.tenant_id,
            position=session.position,
            events=[Event("session.claimed", f"worker:{name}", {"fence": session.fence + 1, "planner": planner})],
            advance=Statement("head", wakeup.TAKE, params),
            about=About(session.data_subject),
        )
    except StaleStream as error:
        # Its row is locked as it was found, so only its tenant's turn can stand against it.
        raise _NotItsTurn from error
    session.fence = int(row[0])
    session.position += 1
    return session, name, int(row[1])


def _give_up(held: Held, session: Session, most: int) -> None:
    """Put the held session back for the more urgent one, if that may be taken in its place."""
    # What an operator wants done of a session is done whatever else its tenant runs.
    if not session.wanted and wakeup.running_beside(session.tenant_id, held.id) >= most:
        raise _NotItsTurn
    # Nobody of one tenant may learn what another one works on; and its title may be words of a person, which facts
    # would keep for good.
    ours = session.tenant_id == held.tenant_id
    facts = {"for": str(session.pk)} if ours else {}
    event = Event("session.preempted", "runtime", facts)
    record(held, [event], Took(attempts=held.attempts), leaving=Leaving(SessionStatus.QUEUED))


def _loaded(session: Session, name: str, epoch: int) -> Held:
    return load(session, owner=name, epoch=epoch)


def work_session(held: Held | None) -> None:
    """Work a claimed session until it parks or ends; and then the more urgent one that it was given up for, if any."""
    while held is not None:
        held = _work_one(held)


def _work_one(held: Held) -> Held | None:
    """Failures inside this program end in a hand-over, not a loop. Return the session that took this one's place.

    A session that keeps losing workers although it is being stopped ends as it is.
    """
    try:
        if held.stop_code and held.attempts >= guards.MOST_LOST_WORKERS:
            abandon(held, held.stop_code)
            return None
        return run(work_of(held), give_up=_GiveUp())
    except StaleStream:
        log.info("session %s went on elsewhere", held.id)
    except (OperationalError, InterfaceError):
        # Without a database nothing can be recorded: the lease runs out, and a later worker goes on.
        log.warning("session %s lost its database", held.id, exc_info=True)
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
    except Exception:
        log.exception("session %s failed inside the runtime", held.id)
        _stop_after_failure(held)
    return None


class _GiveUp:
    """Looks for more urgent work once an epoch, and only when there was some. What is urgent makes way for nothing."""

    def __init__(self) -> None:
        self._asked_at = -1

    def __call__(self, work: Work) -> Held | None:
        held = work.held
        if not work.brief.urgent or held.epoch == self._asked_at or held.priority >= Priority.URGENT:
            return None
        self._asked_at = held.epoch
        return preempt(work)


def _stop_after_failure(held: Held) -> None:
    """Hand over to a person, from what is on record. When even that fails the sweep brings the session back."""
    row = Session.objects.filter(pk=held.id, fence=held.fence, status=SessionStatus.RUNNING).first()
    if row is None:
        return
    fresh = load(row, owner=held.owner, epoch=held.epoch)
    try:
        if not fresh.stop_code:
            _hand_over(fresh)
    except StaleStream:
        log.info("session %s went on elsewhere", held.id)
    except Exception:
        log.exception("session %s could not even be handed over", held.id)


def _hand_over(held: Held) -> None:
    code = IncidentCode.INTERNAL
    try:
        work = work_of(held)
    except Exception:
        # Nothing can be done for it any more; that it stops is on record, and the sweep brings it back to be ended.
        begin_stopping(held, code=code, words=code.words)
        raise
    compensation.stop(work, code=code, words=code.words)
    run(work)


def work_of(held: Held) -> Work:
    """Gather what working a held session needs. Raises LookupError when its subject is gone."""
    role = get_role(held.role)
    subject = role.load_subject(held.tenant_id, held.subject_id)
    if subject is None:
        raise LookupError(f"the subject {held.subject_id} of session {held.id} is gone")
    work = Work(held, role, subject, planner_for(role))
    held.limits = work.limits
    return work
