"""What people do about a call that waits for them, as the stream of its session tells it.

Everything here belongs in the transaction that locked the request and then the session
(``wakeup.waiting_session``), and takes what the approvals app records in that same durable point as ``also``.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentops.agents.models import ToolGrant
from agentops.gateway.prepare import Refusal, checked_arguments
from agentops.kernel.canonical import JSON, storable
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, Statement
from agentops.registry.planner import EDITED
from agentops.registry.roles import get_role
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import move, note
from agentops.runtime.record import conclude
from agentops.runtime.states import IllegalTransition, InvocationState, SessionStatus
from agentops.runtime.wakeup import Waiting

MOST_QUESTION = 1_000
MOST_REASON = 1_000


@dataclass(frozen=True)
class Decided:
    """What became of a request, as the session's stream will tell it. ``facts`` are the approval's own.

    ``reason_code`` is the preset reason of a rejection, "" for none. ``hand_over``: a session whose request expired
    stops and goes to a person, instead of letting the planner find another way.
    """

    invocation_id: UUID
    request_id: UUID
    verdict: str
    actor: str
    reason: str
    facts: dict[str, JSON]
    reason_code: str = ""
    hand_over: bool = False


class Frozen(IllegalTransition):
    """What was to be approved is frozen. Its request is withdrawn by the freeze, or was made while it began."""

    code = "FROZEN"
    next_step = "Decide again once it is no longer frozen."


class Answering(IllegalTransition):
    """The agent is answering a question about the call, so nobody decides about it yet."""

    code = "ANSWERING"
    next_step = "Wait for the answer: it comes to the request's page, and then the request can be decided."


class BadEdit(AgentOpsError):
    """A changed call that cannot be proposed: its arguments do not fit, nothing changed, or it may not be changed.

    ``field`` is the path of the argument that is wrong, "" when it is none in particular.
    """

    code = "BAD_EDIT"
    next_step = "Correct the arguments and send them again."

    def __init__(self, message: str, *, next_step: str | None = None, field: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.field = field


_REFUSALS = {
    "rejected": ("REJECTED", "A person rejected this.", "Do not propose it again; do what else is possible."),
    "expired": ("EXPIRED", "Nobody decided in time, so nothing was done.", "Say so, and hand over to a person."),
}
_ANSWERING = (SessionStatus.QUEUED, SessionStatus.RUNNING, SessionStatus.SLEEPING)


def resume(waiting: Waiting, decided: Decided, *, also: Sequence[Statement] = ()) -> None:
    """Record a decision in the stream of a session that is locked, and queue it, together with ``also``.

    ``verdict`` is ``approved``, ``rejected`` or ``expired``; the last two end the call here. Raises
    IllegalTransition when the session does not wait for a decision, Answering while the agent answers a question
    about the call, and Frozen for an approval of what is frozen.
    """
    # Time may run out while a question waits for a worker, not while one has the call before it.
    _require_waiting(waiting, but=(SessionStatus.RUNNING,) if decided.verdict == "expired" else _ANSWERING)
    if waiting.frozen and decided.verdict not in _REFUSALS:
        raise Frozen(waiting.frozen)
    parts = [*also]
    payload: dict[str, JSON] = {"reason": decided.reason}
    if decided.verdict in _REFUSALS:
        payload["result"] = _result_of(decided)
        parts.append(conclude(decided.invocation_id, InvocationState.AWAITING_APPROVAL, InvocationState.REFUSED))
    reach(CrashPoint.DECISION_COMMITTING)
    told = {"hand_over": True} if decided.hand_over else {}
    event = _decision(waiting, decided, f"approval.{decided.verdict}", payload, told)
    move(waiting.session, [event], SessionStatus.QUEUED, also=parts)


def note_vote(waiting: Waiting, decided: Decided, *, also: Sequence[Statement] = ()) -> None:
    """Record in the stream of a session that is locked that one of several people approved; it goes on waiting.

    Raises as ``resume`` does: nobody may vote for what cannot be approved.
    """
    _note_given(waiting, decided, "approval.voted", also)


def hold(waiting: Waiting, decided: Decided, *, also: Sequence[Statement] = ()) -> None:
    """Record an approval that may still be taken back; ``facts["until"]`` says until when. The session goes on waiting.

    ``resume`` with the same verdict then follows, once it may not be taken back any more. Raises as ``resume`` does.
    """
    _note_given(waiting, decided, "approval.given", also)


def take_back(waiting: Waiting, decided: Decided, *, also: Sequence[Statement] = ()) -> None:
    """Record that somebody takes an approval back that nothing followed from yet. Raises IllegalTransition.

    Not even a freeze stands against it: afterwards less is approved than before.
    """
    _require_waiting(waiting)
    payload: dict[str, JSON] | None = {"reason": decided.reason} if decided.reason else None
    note(waiting.session, [_decision(waiting, decided, "approval.taken_back", payload)], also=also)


def ask_agent(
    waiting: Waiting,
    *,
    invocation_id: UUID,
    request_id: UUID,
    actor: str,
    question: str,
    also: Sequence[Statement] = (),
) -> None:
    """Put a person's question about its own proposal to the agent; the session waits again once it has answered.

    Raises IllegalTransition, Answering when it is being asked already, and Frozen, since then nobody works.
    """
    _require_waiting(waiting)
    if waiting.frozen:
        raise Frozen(waiting.frozen)
    refs = {"invocation": str(invocation_id), "request": str(request_id)}
    words = storable(question, most=MOST_QUESTION)
    event = Event("approval.asked", actor, {"tool": waiting.tool}, refs, {"question": words})
    move(waiting.session, [event], SessionStatus.QUEUED, also=also)


def edit_call(
    waiting: Waiting,
    *,
    invocation_id: UUID,
    request_id: UUID,
    actor: str,
    arguments: Mapping[str, Any],
    reason: str,
    also: Sequence[Statement] = (),
) -> None:
    """End the agent's call, and propose it with a person's ``arguments`` instead: under the same checks and policy.

    Somebody else has to agree to it in any case. The planner is told what was changed, and goes on afterwards. The
    caller withdraws the request, with ``also`` or before. Raises IllegalTransition, Answering, Frozen and BadEdit.
    """
    _require_waiting(waiting)
    if waiting.frozen:
        raise Frozen(waiting.frozen)
    call = Invocation.objects.get(pk=invocation_id)
    given = _checked(waiting.session, call, arguments)
    words, name = storable(reason, most=MOST_REASON), actor.removeprefix("user:")
    result: dict[str, JSON] = {
        "code": EDITED,
        "message": f"{name} changed this call and proposed it in its changed form instead.",
        "next_step": "Do not propose it again in its first form; go on from what becomes of the changed one.",
        "by": name,
        "reason": words,
        "changed": [*changed_arguments(call.arguments, given)],
    }
    payload: dict[str, JSON] = {
        "reason": words,
        "result": result,
        "proposal": {"tool": call.tool, "arguments": given, "rationale": words},
    }
    refs = {"invocation": str(invocation_id), "request": str(request_id)}
    concluded = conclude(invocation_id, InvocationState.AWAITING_APPROVAL, InvocationState.REFUSED)
    reach(CrashPoint.DECISION_COMMITTING)
    event = Event("approval.edited", actor, {"tool": call.tool}, refs, payload)
    move(waiting.session, [event], SessionStatus.QUEUED, also=[*also, concluded])


def changed_arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, JSON]]:
    """Return which arguments differ, by name, as ``{"argument", "was", "now"}``; None stands for one that is absent."""
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return [{"argument": name, "was": before.get(name), "now": after.get(name)} for name in names]


def _checked(session: Session, call: Invocation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a person as they can be proposed. Raises BadEdit."""
    tool = get_role(session.role).tool(call.tool)
    granted = ToolGrant.objects.filter(version_id=session.agent_version_id, tool=call.tool).exists()
    if tool is None or not granted:
        raise BadEdit("The agent does not have this tool any more.", next_step="Reject the request.")
    if call.undoes is not None:
        words = "This takes an earlier call back, and so is exactly that call or none."
        raise BadEdit(words, next_step="Approve or reject it as it is.")
    checked = checked_arguments(tool, dict(arguments))
    if isinstance(checked, Refusal):
        raise BadEdit(checked.message, field=checked.field)
    if checked == call.arguments:
        raise BadEdit("Nothing was changed.", next_step="Change something, or decide the request as it is.")
    return checked


def _result_of(decided: Decided) -> dict[str, JSON]:
    """What the planner is told of a call that people did not let through: a sentence, and the same as data."""
    code, message, next_step = _REFUSALS[decided.verdict]
    result: dict[str, JSON] = {
        "code": code,
        "message": f"{message} {decided.reason}".strip(),
        "next_step": next_step,
    }
    if decided.verdict == "rejected":
        by = decided.actor.removeprefix("user:")
        result |= {"reason": decided.reason_code, "words": decided.reason, "by": by}
    return result


def _note_given(waiting: Waiting, decided: Decided, kind: str, also: Sequence[Statement]) -> None:
    _require_waiting(waiting)
    if waiting.frozen:
        raise Frozen(waiting.frozen)
    note(waiting.session, [_decision(waiting, decided, kind, None)], also=also)


def _decision(
    waiting: Waiting, decided: Decided, kind: str, payload: JSON, told: Mapping[str, JSON] | None = None
) -> Event:
    refs = {"invocation": str(decided.invocation_id), "request": str(decided.request_id)}
    return Event(kind, decided.actor, {**decided.facts, "tool": waiting.tool, **(told or {})}, refs, payload)


def _require_waiting(waiting: Waiting, *, but: Collection[SessionStatus] = _ANSWERING) -> None:
    """Raise unless people may decide now; ``but``: where the agent's answer has to be waited for."""
    status = waiting.session.status
    if status in but:
        raise Answering("The agent is answering a question about this call.")
    if status not in (SessionStatus.WAITING_APPROVAL, *_ANSWERING):
        raise IllegalTransition(f"the session is {status} and does not wait")
