"""Freezes: switching off a tool, an agent, a tenant or everything, and on again by two people."""

from contextlib import suppress
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from agentops.agents.models import Agent
from agentops.gateway.prepare import Refusal
from agentops.kernel.canonical import storable
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, append_to
from agentops.runtime import doorbell
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import move
from agentops.runtime.retiring import awaiting, withdrawal
from agentops.runtime.states import InvocationState, SessionStatus
from agentops.tenancy.models import EVERYBODY, Freeze

BATCH = 300
MOST_REASON = 300
_UNHELD = (SessionStatus.WAITING_APPROVAL, SessionStatus.QUEUED)


class CannotFreeze(AgentOpsError):
    """A freeze without a reason, or of an agent of nobody."""

    code = "CANNOT_FREEZE"
    next_step = "Say what to freeze, and why."


class CannotLift(AgentOpsError):
    """The freeze was lifted already, nobody asked to lift it, or the same person did."""

    code = "CANNOT_LIFT"
    next_step = "Lifting takes two people: one asks, another one lifts."


def freeze(*, tenant_id: UUID | None, agent_id: UUID | None, tool: str, actor: str, reason: str) -> Freeze:
    """Stop work: of every tenant or one, of every agent or one, of every tool or one. Raises CannotFreeze.

    From its commit on no worker records an intent that it covers. Requests that wait for a decision are withdrawn in
    the same transaction; when there are very many, the rest in further ones right after it.
    """
    words = storable(reason.strip(), most=MOST_REASON)[:MOST_REASON]
    if not words:
        raise CannotFreeze("A freeze needs a reason.")
    if agent_id is not None and (
        tenant_id is None or not Agent.objects.filter(pk=agent_id, tenant_id=tenant_id).exists()
    ):
        raise CannotFreeze("The tenant has no such agent.")
    with transaction.atomic():
        made = Freeze.objects.create(
            tenant_id=tenant_id, agent_id=agent_id, tool=tool, reason=words, frozen_by=actor, frozen_at=utcnow()
        )
        _tell(made, "freeze.set", actor, {"reason": words})
        _retire(made)
    while _retire_more(made):
        pass
    return made


@transaction.atomic
def _retire_more(made: Freeze) -> bool:
    return _retire(made)


def _retire(made: Freeze) -> bool:
    """Withdraw requests that the freeze covers, and return whether there may be more."""
    found = covered_requests(tenant_id=made.tenant_id, agent_id=made.agent_id, tool=made.tool)
    calls = list(found[:BATCH])
    for call in calls:
        _retire_one(made, call)
    return len(calls) == BATCH


def covered_requests(*, tenant_id: UUID | None, agent_id: UUID | None, tool: str) -> QuerySet[Invocation]:
    """Return the calls that wait for a decision and that a freeze of this scope withdraws, the oldest first."""
    calls = Invocation.objects.filter(state=InvocationState.AWAITING_APPROVAL).order_by("id")
    # A session that is being worked meets the freeze at its next step; its worker withdraws the request.
    sessions = Session.objects.filter(status__in=_UNHELD)
    if tenant_id is not None:
        calls, sessions = calls.filter(tenant_id=tenant_id), sessions.filter(tenant_id=tenant_id)
    if agent_id is not None:
        sessions = sessions.filter(agent_id=agent_id)
    if tool:
        calls = calls.filter(tool=tool)
    return calls.filter(session_id__in=sessions.values("pk"))


class _MovedOn(Exception):
    """The call was decided, or its session claimed, a moment ago: there is nothing to withdraw here any more."""


def _retire_one(made: Freeze, call: Invocation) -> None:
    words = f"Frozen by {made.frozen_by.removeprefix('user:')}: {made.reason}"
    refusal = Refusal("FROZEN", words, "Propose it again once it is no longer frozen, or hand over.")
    with suppress(_MovedOn), transaction.atomic():
        # The request is locked before the session, as in deciding; what was withdrawn in vain is undone.
        events, concluded = withdrawal(call, refusal, actor=made.frozen_by)
        session = Session.objects.select_for_update().get(pk=call.session_id)
        if session.status not in _UNHELD or awaiting(session.pk) != call:
            raise _MovedOn
        move(session, events, SessionStatus.QUEUED, also=[concluded])


@transaction.atomic
def ask_to_lift(*, freeze_id: UUID, actor: str, reason: str) -> Freeze:
    """Ask for a freeze to be lifted; another person then does. Raises CannotLift."""
    made = _active(freeze_id)
    words = storable(reason.strip(), most=MOST_REASON)[:MOST_REASON]
    if not words:
        raise CannotLift("Asking to lift a freeze needs a reason.", next_step="Say why it is safe now.")
    made.lift_asked_by, made.lift_asked_at, made.lift_reason = actor, utcnow(), words
    made.save(update_fields=["lift_asked_by", "lift_asked_at", "lift_reason"])
    _tell(made, "freeze.lift_asked", actor, {"reason": words})
    return made


@transaction.atomic
def lift(*, freeze_id: UUID, actor: str) -> Freeze:
    """Lift a freeze that somebody else asked to lift. Raises CannotLift."""
    made = _active(freeze_id)
    if not made.lift_asked_by:
        raise CannotLift("Nobody has asked to lift this freeze.")
    if made.lift_asked_by == actor:
        raise CannotLift("You asked to lift it, so another person has to do it.")
    made.lifted_by, made.lifted_at = actor, utcnow()
    made.save(update_fields=["lifted_by", "lifted_at"])
    _tell(made, "freeze.lifted", actor, {"asked_by": made.lift_asked_by, "reason": made.lift_reason})
    transaction.on_commit(doorbell.ring)
    return made


def _active(freeze_id: UUID) -> Freeze:
    made = Freeze.objects.select_for_update().get(pk=freeze_id)
    if made.lifted_at is not None:
        raise CannotLift("This freeze was already lifted.", next_step="Load the page again.")
    return made


def _tell(made: Freeze, event: str, actor: str, facts: dict[str, str]) -> None:
    what = {"tenant": str(made.tenant_id or ""), "agent": str(made.agent_id or ""), "tool": made.tool}
    told = Event(event, actor, {**what, **facts}, {"freeze": str(made.pk)})
    append_to(tenant_id=made.tenant_id or EVERYBODY, name="freezes", events=[told])
