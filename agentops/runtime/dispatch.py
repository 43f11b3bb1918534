"""Claiming sessions and working them."""

import logging
import os
import socket
import threading

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from agentops.agents.models import AgentVersion
from agentops.kernel.errors import IncidentCode
from agentops.ledger.append import Event, StaleStream, Statement, append
from agentops.ledger.sql import fetch_one
from agentops.llm.planners import planner_for
from agentops.registry import roles
from agentops.registry.roles import get_role
from agentops.runtime import guards, statements
from agentops.runtime.abandon import abandon
from agentops.runtime.loop import run
from agentops.runtime.models import Session
from agentops.runtime.record import begin_stopping
from agentops.runtime.session import Held, load
from agentops.runtime.states import SessionStatus
from agentops.runtime.work import Work

log = logging.getLogger(__name__)


def work_until_quiet(*, most: int | None = None) -> int:
    """Claim and work sessions until none is runnable, or ``most`` were worked; return how many."""
    done = 0
    while most is None or done < most:
        held = claim()
        if held is None:
            break
        work_session(held)
        done += 1
    return done


def owner() -> str:
    """Return this worker's name, as leases and events show it."""
    return f"{socket.gethostname()}:{os.getpid()}:{threading.get_native_id()}"


def claim() -> Held | None:
    """Claim the most deserving runnable session, or return None. The lease runs on the database's clock.

    Sessions of a role that is not installed wait until it is again, without holding up the others.
    """
    with transaction.atomic():
        found = fetch_one(statements.CLAIM, {"roles": [role.name for role in roles.all_roles()]})
        if found is None:
            return None
        session = Session.objects.get(pk=found[0])
        name, planner = owner(), planner_for(get_role(session.role)).name
        row = append(
            stream=session.pk,
            tenant_id=session.tenant_id,
            position=session.position,
            events=[Event("session.claimed", f"worker:{name}", {"fence": session.fence + 1, "planner": planner})],
            advance=Statement(
                "head",
                statements.TAKE,
                {
                    "session": session.pk,
                    "position": session.position,
                    "owner": name,
                    "planner": planner,
                    "lease": settings.LEASE_SECONDS,
                },
            ),
        )
        session.fence = int(row[0])
        session.position += 1
    return load(session, owner=name)


def work_session(held: Held) -> None:
    """Work a claimed session until it parks or ends. Failures inside this program end in a hand-over, not a loop.

    A session that keeps losing workers although it is being stopped ends as it is.
    """
    try:
        if held.stop_code and held.attempts >= guards.MOST_LOST_WORKERS:
            abandon(held)
        else:
            run(_work(held))
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


def _stop_after_failure(held: Held) -> None:
    """Hand over to a person, from what is on record. When even that fails the sweep brings the session back."""
    row = Session.objects.filter(pk=held.id, fence=held.fence, status=SessionStatus.RUNNING).first()
    if row is None:
        return
    fresh = load(row, owner=held.owner)
    try:
        if not fresh.stop_code:
            begin_stopping(fresh, code=IncidentCode.INTERNAL, words=IncidentCode.INTERNAL.words)
            run(_work(fresh))
    except StaleStream:
        log.info("session %s went on elsewhere", held.id)
    except Exception:
        log.exception("session %s could not even be handed over", held.id)


def _work(held: Held) -> Work:
    version = AgentVersion.objects.select_related("agent").get(pk=held.agent_version_id)
    role = get_role(held.role)
    subject = role.load_subject(held.tenant_id, held.subject_id)
    if subject is None:
        raise LookupError(f"the subject {held.subject_id} of session {held.id} is gone")
    return Work(held, role, version, subject, planner_for(role))
