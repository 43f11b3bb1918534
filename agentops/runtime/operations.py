"""Starting sessions, and bringing a parked one back to the queue."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict, Unpack
from uuid import UUID

from django.db import IntegrityError, transaction

from agentops.agents.models import Agent
from agentops.agents.operations import create_agent
from agentops.kernel.clock import utcnow
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.ids import new_id
from agentops.ledger.append import About, Event, Statement, append
from agentops.policy.operations import adopt_rules
from agentops.registry.planner import Subject
from agentops.registry.role import Intake, RoleSpec
from agentops.registry.roles import get_role
from agentops.runtime import doorbell, statements
from agentops.runtime.house import house_of
from agentops.runtime.models import Priority, Session
from agentops.runtime.ports import approval_gate
from agentops.runtime.spend import forfeit_parts
from agentops.runtime.states import ENDED, SessionStatus, require_transition
from agentops.tenancy.models import Tenant
from agentops.tenancy.switchboard import bump_epoch

log = logging.getLogger(__name__)


class CannotStart(AgentOpsError):
    """A session that cannot be started: unknown work, an inactive agent, or one that is already open."""

    code = "CANNOT_START"
    next_step = "Open the session that is already there, or choose another agent."


@transaction.atomic
def employ_agent(*, tenant_id: UUID, role: RoleSpec, name: str, actor: str) -> Agent:
    """Make an agent with the role's defaults, and the approval queues that the role's tools need.

    With the first agent of a role, its default rules come into the tenant's rule set. Raises BadRules when the tenant's
    own rules do not go together with them: an agent does not work without its rules.
    """
    is_first = not Agent.objects.filter(tenant_id=tenant_id, role=role.name).exists()
    agent = create_agent(tenant_id=tenant_id, role=role, name=name, actor=actor)
    approval_gate().ensure_queues(tenant_id, role.queues)
    if is_first and role.rules:
        note = f"The default rules of the role {role.title} are added."
        adopt_rules(tenant_id=tenant_id, rules=role.rules, note=note, house=house_of(tenant_id), actor=actor)
    return agent


def start_session(*, agent: Agent, subject_id: str, actor: str) -> Session:
    """Start a session of ``agent`` on a piece of its role's work. Raises CannotStart."""
    subject = get_role(agent.role).load_subject(agent.tenant_id, subject_id)
    if subject is None:
        raise CannotStart("There is no such work.")
    if starts_left(agent.tenant_id, most=1) == 0:
        raise CannotStart("As many sessions as this tenant may start in an hour have been started.", next_step="Wait.")
    try:
        with transaction.atomic():
            session = _insert(agent, subject, actor)
    except IntegrityError as error:
        if "one_open_session_a_subject" not in str(error):
            raise
        raise CannotStart("A session is already working on this.") from error
    reach(CrashPoint.SESSION_OPENED)
    return session


@transaction.atomic
def open_and_start(*, agent: Agent, intake: Intake, actor: str) -> Session:
    """Record a request typed in by staff as a new piece of work, and start a session on it."""
    subject_id = get_role(agent.role).open_subject(agent.tenant_id, intake)
    return start_session(agent=agent, subject_id=subject_id, actor=actor)


@transaction.atomic
def start_waiting(*, agent: Agent, limit: int) -> int:
    """Start sessions for work that waits for this agent's role, oldest first, and return how many.

    Taking the work and starting its session are one transaction, so work is neither lost nor begun twice.
    """
    limit = starts_left(agent.tenant_id, most=limit)
    role = get_role(agent.role)
    return sum(_insert_unless_begun(agent, subject) for subject in role.take_subjects(agent.tenant_id, limit))


def starts_left(tenant_id: UUID, *, most: int) -> int:
    """Return how many sessions the tenant may still start now, at most ``most``."""
    limit = Tenant.objects.values_list("max_starts_hour", flat=True).get(pk=tenant_id)
    if limit is None:
        return most
    since = utcnow() - timedelta(hours=1)
    # Session ids grow with time, and this reads no more of their index than the limit allows.
    recent = Session.objects.filter(tenant_id=tenant_id).order_by("-id").values_list("created_at", flat=True)[:limit]
    return max(0, min(most, limit - sum(at > since for at in recent)))


def _insert_unless_begun(agent: Agent, subject: Subject) -> bool:
    """Somebody may have started a session by hand on work that was still waiting; it needs no second one.

    Sessions that ended before the work was opened again are of another time.
    """
    begun = Session.objects.filter(tenant_id=agent.tenant_id, subject_kind=subject.kind, subject_id=subject.id)
    if subject.again_since is not None:
        begun = begun.exclude(status__in=ENDED, created_at__lt=subject.again_since)
    if begun.exists():
        return False
    _insert(agent, subject, "intake")
    return True


def _insert(agent: Agent, subject: Subject, actor: str) -> Session:
    if not agent.is_active or agent.current_version is None:
        raise CannotStart("The agent is not active.")
    at, role = utcnow(), get_role(agent.role)
    session = Session(
        id=new_id(),
        tenant_id=agent.tenant_id,
        agent_version=agent.current_version,
        agent_id=agent.pk,
        role=agent.role,
        role_version=role.version,
        workstream=subject.workstream or agent.role,
        priority=subject.priority,
        subject_kind=subject.kind,
        subject_id=subject.id,
        title=subject.title[:200],
        requester=subject.sender[:254],
        customer_id=subject.customer_id or "",
        status=SessionStatus.QUEUED,
        created_by=actor,
        created_at=at,
        rank_at=at - subject.priority * statements.CLASS_WORTH,
    )
    session.save(force_insert=True)
    opened = Event(
        "session.opened",
        actor,
        {"agent": str(agent.current_version), "role": agent.role},
        {"subject": subject.id, "customer": subject.customer_id or ""},
        {
            "title": session.title,
            "sender": subject.sender,
            "text": subject.text,
            "received_at": subject.received_at.isoformat(),
        },
    )
    reach(CrashPoint.SESSION_OPENING)
    move(session, [opened], SessionStatus.QUEUED)
    return session


class Columns(TypedDict, total=False):
    """Columns of a session that a move may set; the others stay as they are."""

    wanted: str
    taken_by: str
    stop_code: str
    outcome: str


def move(
    session: Session,
    events: Sequence[Event],
    status: SessionStatus,
    *,
    also: Sequence[Statement] = (),
    **changes: Unpack[Columns],
) -> None:
    """Append ``events`` to a session that nobody holds, and move it to ``status``, with further ``changes`` of its row.

    ``session`` is its row as it is now. Raises StaleStream when it is not any more, and IllegalTransition.
    """
    before = SessionStatus(session.status)
    if before is not status:
        require_transition(before, status)
    at = utcnow()
    params = {
        "before": before.value,
        "status": status.value,
        "lost": int(before is SessionStatus.RUNNING),
        "wanted": changes.get("wanted", session.wanted),
        "taken_by": changes.get("taken_by", session.taken_by),
        # Going on, it is not paused for anything unusual any more.
        "stop_code": changes.get("stop_code", "" if status is SessionStatus.QUEUED else session.stop_code),
        "outcome": changes.get("outcome", session.outcome),
        "finished_at": at if status in ENDED else None,
    }
    append(
        stream=session.id,
        tenant_id=session.tenant_id,
        position=session.position,
        events=events,
        advance=Statement("head", statements.MOVE, params),
        also=[*also, *forfeit_parts(session)],
        at=at,
        about=About(session.data_subject),
    )
    session.position += len(events)
    session.status = status.value
    if status is not SessionStatus.QUEUED:
        return
    if session.priority > Priority.NORMAL:
        # Workers look between two steps whether something more urgent waits, when the epoch tells them to. Nothing is
        # decided by it, so it need not hold the switchboard's row while this transaction waits for others.
        transaction.on_commit(bump_epoch)
    transaction.on_commit(doorbell.ring)


def note(session: Session, events: Sequence[Event], *, also: Sequence[Statement] = ()) -> None:
    """Append to the stream of a session, whose row is locked, wherever it stands and whoever holds it."""
    append(
        stream=session.pk,
        tenant_id=session.tenant_id,
        position=session.position,
        events=events,
        advance=Statement("head", statements.NOTE),
        also=also,
        about=About(session.data_subject),
    )
    session.position += len(events)
