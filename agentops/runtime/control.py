"""What operators do with a session: pause, resume, cancel, take over, act in its place, hand back, undo, rank.

A session that a worker holds is told what is wanted, and its worker does that between two steps; one that nobody holds
is moved at once. Whatever people were asked about it is withdrawn in the same transaction.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from agentops.agents.models import ToolGrant
from agentops.gateway.prepare import MAX_ARGUMENT_BYTES, Refusal
from agentops.kernel.canonical import NotCanonical, canonical_bytes, storable
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError, IncidentCode
from agentops.ledger.append import About, Event, StaleStream, Statement, append
from agentops.registry.planner import ASK_PERSON
from agentops.runtime import statements
from agentops.runtime.models import Invocation, Priority, Session
from agentops.runtime.operations import move
from agentops.runtime.questions import closing_of, open_question
from agentops.runtime.retiring import awaiting, withdrawal
from agentops.runtime.states import ENDED, InvocationState, SessionStatus, Wish
from agentops.runtime.stopping import stop_unheld
from agentops.tenancy.switchboard import bump_epoch

MOST_REASON = 300
_TRIES = 5


class CannotControl(AgentOpsError):
    """The session is not in a state in which this can be done."""

    code = "CANNOT_CONTROL"
    next_step = "Load the session again to see where it stands."


def pause_session(*, session_id: UUID, actor: str, reason: str) -> None:
    """Stop the session after its present step until somebody resumes it. Raises CannotControl."""
    _stop(session_id, Wish.PAUSE, actor, reason)


def take_over(*, session_id: UUID, actor: str, reason: str) -> None:
    """Let ``actor`` do the next steps instead of the planner, through the same checks. Raises CannotControl."""
    _stop(session_id, Wish.TAKE_OVER, actor, reason)


def cancel_session(*, session_id: UUID, actor: str, reason: str) -> None:
    """End the session after its present step, with an honest answer and no further call. Raises CannotControl."""
    _stop(session_id, Wish.CANCEL, actor, reason)


_REQUESTED = {
    Wish.PAUSE: "session.pause_requested",
    Wish.TAKE_OVER: "session.take_over_requested",
    Wish.CANCEL: "session.cancel_requested",
}


class _MovedOn(Exception):
    """The session is not as it was a moment ago; what was done is undone and tried again."""


def _stop(session_id: UUID, wish: Wish, actor: str, reason: str) -> None:
    reason = storable(reason.strip(), most=MOST_REASON)
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                _stop_once(session_id, wish, actor, reason)
        except (_MovedOn, StaleStream):
            continue
        return
    raise CannotControl("The session is changing too fast.", next_step="Try again.")


def _stop_once(session_id: UUID, wish: Wish, actor: str, reason: str) -> None:
    before = Session.objects.get(pk=session_id)
    events: list[Event] = []
    also: list[Statement] = []
    if before.status != SessionStatus.RUNNING:
        # The request is locked before the session, as in deciding.
        words = f"The session was {wish.done} by {actor.removeprefix('user:')}. {reason}".strip()
        events, also = withdrawn(session_id, actor, words)
    session = Session.objects.select_for_update().get(pk=session_id)
    if (session.status, session.position) != (before.status, before.position):
        raise _MovedOn
    _require_stoppable(session, wish, actor)
    wanted = Event(_REQUESTED[wish], actor, {"reason": reason})
    taken_by = actor if wish is Wish.TAKE_OVER else session.taken_by
    if session.status == SessionStatus.RUNNING:
        params = {"wanted": wish.value, "taken_by": taken_by}
        _append(session, [wanted], statements.WISH, params)
        bump_epoch()
        return
    if wish is not Wish.PAUSE and _unfinished_effect(session_id):
        # Somebody has to find out first what became of a call: a worker does, and then does what is wanted.
        move(session, [*events, wanted], SessionStatus.QUEUED, also=also, wanted=wish.value, taken_by=taken_by)
        return
    if wish is Wish.CANCEL:
        code, status = IncidentCode.CANCELLED, SessionStatus.CANCELLED
        stop_unheld(session, code=code, actor=actor, reason=reason, status=status, events=events, also=also)
        return
    name = "session.taken_over" if wish is Wish.TAKE_OVER else "session.paused"
    done = Event(name, actor, {"reason": reason})
    move(session, [*events, done], SessionStatus.PAUSED, also=also, wanted="", taken_by=taken_by, stop_code="")


def withdrawn(session_id: UUID, actor: str, words: str) -> tuple[list[Event], list[Statement]]:
    """Withdraw what people were asked: to decide a call, or to answer a question. Locks the request first."""
    events: list[Event] = []
    also: list[Statement] = []
    pending = awaiting(session_id)
    if pending is not None:
        refusal = Refusal("WITHDRAWN", words, "Propose it again if it is still right.")
        events, concluded = withdrawal(pending, refusal, actor=actor)
        also.append(concluded)
    question = open_question(session_id)
    if question is not None:
        also.append(closing_of(question, answered_by="", answer="", at=utcnow()))
    return events, also


def _require_stoppable(session: Session, wish: Wish, actor: str) -> None:
    status = SessionStatus(session.status)
    if status in ENDED:
        raise CannotControl(f"The session is already {status.value}.")
    if status is SessionStatus.PAUSED and wish is Wish.PAUSE:
        raise CannotControl("The session is already paused.")
    if session.wanted == Wish.CANCEL and (wish is not Wish.CANCEL or status is SessionStatus.RUNNING):
        raise CannotControl("The session is being cancelled already.")
    if wish is Wish.PAUSE and session.wanted:
        raise CannotControl("The session is being paused already.")
    if wish is Wish.TAKE_OVER and session.taken_by:
        name = session.taken_by.removeprefix("user:")
        raise CannotControl("It is yours already." if session.taken_by == actor else f"{name} has taken it over.")


def _unfinished_effect(session_id: UUID) -> bool:
    return Invocation.objects.filter(session_id=session_id, state=InvocationState.INTENDED).exists()


@transaction.atomic
def resume_session(*, session_id: UUID, actor: str) -> None:
    """Let the planner of a paused session go on. Raises CannotControl."""
    session = _paused(session_id)
    if session.taken_by:
        raise CannotControl("A person has taken the session over.", next_step="They hand it back.")
    move(session, [Event("session.resumed", actor)], SessionStatus.QUEUED)


@transaction.atomic
def hand_back(*, session_id: UUID, actor: str, note: str = "") -> None:
    """Let the planner go on where a person stopped; ``note`` is told to it. Raises CannotControl."""
    session = _paused(session_id)
    if not session.taken_by:
        raise CannotControl("Nobody has taken the session over.", next_step="Resume it.")
    words = storable(note.strip(), most=2_000)
    # The planner reads the note as the answer to a question that it might have asked.
    asked = {"question": "A person worked on this. What should be known?", "options": []}
    payload = {"arguments": asked, "result": {"answer": words, "by": actor}} if words else None
    event = Event("session.handed_back", actor, {"tool": ASK_PERSON, "from": session.taken_by}, {}, payload)
    move(session, [event], SessionStatus.QUEUED, taken_by="")


@transaction.atomic
def propose_call(*, session_id: UUID, actor: str, tool: str, arguments: Mapping[str, Any], rationale: str) -> None:
    """Do one step of a session that ``actor`` took over: the same checks, policy and record as for the planner.

    Raises CannotControl when the session is not theirs, the tool is not granted, or the arguments cannot be recorded.
    """
    session = _taken_by(session_id, actor)
    if not ToolGrant.objects.filter(version_id=session.agent_version_id, tool=tool).exists():
        raise CannotControl("The agent was not given this tool.", next_step="Choose one of its tools.")
    body = {"tool": tool, "arguments": _recordable(arguments), "rationale": storable(rationale, most=2_000)}
    move(session, [Event("person.proposed", actor, {"tool": tool}, {}, body)], SessionStatus.QUEUED)


@transaction.atomic
def finish_by_person(*, session_id: UUID, actor: str, message: str) -> None:
    """End a session that ``actor`` took over, with their words as its answer. Raises CannotControl."""
    session = _taken_by(session_id, actor)
    words = storable(message.strip(), most=8_000)
    if not words:
        raise CannotControl("An answer cannot be empty.", next_step="Say what was done.")
    move(session, [Event("person.proposed", actor, {"tool": ""}, {}, {"message": words})], SessionStatus.QUEUED)


def propose_undo(*, invocation_id: UUID, actor: str, reason: str) -> Session:
    """Propose to take a call back, under policy like any other call; an ended session is reopened for it.

    Raises CannotControl when it cannot be undone, not any more, or is being undone; Invocation.DoesNotExist.
    """
    try:
        with transaction.atomic():
            return _propose_undo(invocation_id, actor, storable(reason.strip(), most=MOST_REASON))
    except IntegrityError as error:
        if "one_open_session_a_subject" not in str(error):
            raise
        words = "Another session is at work on this."
        raise CannotControl(words, next_step="Wait for it to end, or cancel it.") from error


def _propose_undo(invocation_id: UUID, actor: str, reason: str) -> Session:
    session_id = Invocation.objects.values_list("session_id", flat=True).get(pk=invocation_id)
    session = Session.objects.select_for_update().get(pk=session_id)
    call = Invocation.objects.get(pk=invocation_id)
    problem = why_no_undo(call)
    if problem or call.undo is None:
        raise CannotControl(problem)
    tool = call.undo["tool"]
    body = {"tool": tool, "arguments": call.undo["arguments"], "rationale": reason or "Undone by a person."}
    refs = {"undoes": str(call.pk)}
    status = SessionStatus(session.status)
    if status in ENDED:
        was = {"was": status.value, "code": session.stop_code, "outcome": session.outcome}
        event = Event("session.reopened", actor, {**was, "tool": tool, "reason": reason}, refs, body)
        move(session, [event], SessionStatus.QUEUED, stop_code="", outcome="")
    elif status is SessionStatus.PAUSED and session.taken_by == actor:
        move(session, [Event("person.proposed", actor, {"tool": tool}, refs, body)], SessionStatus.QUEUED)
    else:
        raise CannotControl("The session is still at work.", next_step="Take it over first, or wait for its end.")
    return session


def why_no_undo(call: Invocation, *, siblings: Iterable[Invocation] | None = None) -> str:
    """Return why a call cannot be taken back now, empty when it can.

    ``siblings`` are the session's calls, for a caller that has them already and asks about many.
    """
    if call.state == InvocationState.COMPENSATED:
        return "This was already undone."
    if call.state != InvocationState.SUCCEEDED or call.undo is None:
        return "There is nothing to undo, or no call that undoes it."
    if call.is_too_late_to_undo(utcnow()):
        return "It is too late to undo this."
    if siblings is None:
        siblings = Invocation.objects.filter(undoes=call.pk)
    if any(one.undoes == call.pk and one.state in _UNDER_WAY for one in siblings):
        return "This is being undone already."
    return ""


_UNDER_WAY = (InvocationState.AWAITING_APPROVAL, InvocationState.INTENDED, InvocationState.UNKNOWN)


def set_priority(*, session_id: UUID, actor: str, priority: int) -> None:
    """Rank a session anew, as if it had waited with that priority all the time. Raises CannotControl."""
    wanted = Priority(priority)
    with transaction.atomic():
        session = Session.objects.select_for_update().get(pk=session_id)
        if SessionStatus(session.status) in ENDED:
            raise CannotControl("The session has ended.")
        facts = {"from": session.priority, "to": wanted.value}
        _append(session, [Event("session.priority_changed", actor, facts)], statements.RANK, {"priority": wanted.value})
        bump_epoch()


def _append(session: Session, events: list[Event], sql: str, params: dict[str, Any]) -> None:
    append(
        stream=session.pk,
        tenant_id=session.tenant_id,
        position=session.position,
        events=events,
        advance=Statement("head", sql, params),
        about=About(session.data_subject),
    )
    session.position += len(events)


def _paused(session_id: UUID) -> Session:
    session = Session.objects.select_for_update().get(pk=session_id)
    if session.status != SessionStatus.PAUSED:
        raise CannotControl(f"The session is {session.status.replace('_', ' ')}, not paused.")
    return session


def _taken_by(session_id: UUID, actor: str) -> Session:
    session = _paused(session_id)
    if session.taken_by != actor:
        raise CannotControl("You have not taken this session over.", next_step="Take it over first.")
    return session


def _recordable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        size = len(canonical_bytes(dict(arguments)))
    except NotCanonical as error:
        raise CannotControl(error.message, next_step=error.next_step) from error
    if size > MAX_ARGUMENT_BYTES:
        raise CannotControl(f"The arguments are larger than {MAX_ARGUMENT_BYTES} bytes.", next_step="Send less.")
    return dict(arguments)
