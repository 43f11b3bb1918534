"""Making an intended call and recording its outcome."""

import time
from datetime import datetime
from typing import Any
from uuid import UUID

from agentops.gateway import execute as gateway
from agentops.gateway.evidence import refused_while_behind
from agentops.gateway.execute import Done, NotAsked, NotDone, Outcome, Unknown
from agentops.gateway.prepare import Refusal
from agentops.kernel.clock import utcnow
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import FailureKind
from agentops.kernel.stopwatch import ms_since
from agentops.ledger.append import Event, Statement
from agentops.ledger.models import LedgerEvent
from agentops.registry.planner import ObservationStatus
from agentops.registry.tool import CallContext, Dial, ToolSpec
from agentops.runtime import guards, process, statements
from agentops.runtime.intent import Intended, IntendedCall
from agentops.runtime.record import Took, back_off, conclude, observe, or_interrupted, record, sleep
from agentops.runtime.states import InvocationState
from agentops.runtime.windows import Place
from agentops.runtime.work import Work


def perform(work: Work, intended: Intended) -> bool:
    """Make the call whose intent was just recorded, and return whether the session is still held."""
    began = time.monotonic()
    call = intended.call
    outcome = _call(work, call, intended.tool, work.call_context(key=call.key, versions=call.versions))
    return _conclude(work, call, intended.tool, outcome, began)


def _call(work: Work, invocation: IntendedCall, tool: ToolSpec, context: CallContext) -> Outcome:
    reach(CrashPoint.VENDOR_CALLING)
    outcome = gateway.write(tool, context, invocation.arguments, breakers=work.breakers)
    reach(CrashPoint.VENDOR_RETURNED if invocation.undoes is None else CrashPoint.UNDO_RETURNED)
    return outcome


def recover(work: Work, invocation: IntendedCall, tool: ToolSpec, *, again: bool) -> bool:
    """Conclude a call whose worker did not come back: ask about its key, and make it only if it never was.

    It is not made when ``again`` is False, or when the agent may no longer use the tool. A worker that was given up may
    only be slow, and still at it: what never was may then still be. Raises Interrupted when somebody stepped in
    meanwhile; nothing was called then.
    """
    began = time.monotonic()
    context = work.call_context(key=invocation.key, versions=invocation.versions)
    outcome = _find_out(work, invocation, tool, context)
    if isinstance(outcome, NotAsked):
        return _ask_later(work, outcome, began)
    reach(CrashPoint.RECOVERY_ASKED)
    if isinstance(outcome, NotDone):
        if not again:
            outcome = NotDone(_NOT_CONTINUED)
        elif _withdrawn(work, tool):
            outcome = NotDone(_WITHDRAWN)
        elif (stopped := refused_while_behind(tool, utcnow())) is not None:
            outcome = NotDone(stopped)
        else:
            _record_retry(work, invocation)
            outcome = _call(work, invocation, tool, context)
    return _conclude(work, invocation, tool, outcome, began)


def _ask_later(work: Work, outcome: NotAsked, began: float) -> bool:
    """The tool is switched off by its breaker: nothing was tried, which counts as no attempt."""
    sleep(
        work.held,
        code=FailureKind.UNAVAILABLE.value,
        words=outcome.words,
        seconds=outcome.retry_after,
        took=Took(worked_ms=ms_since(began)),
        attempt=False,
        without_effect=not work.held.in_doubt,
    )
    return False


def _find_out(work: Work, invocation: IntendedCall, tool: ToolSpec, context: CallContext) -> Outcome | NotAsked:
    """A key that the other side may have forgotten proves nothing any more."""
    if key_is_forgotten(tool, work.held.id, invocation.pk):
        return Unknown("The system of record no longer remembers whether this was done.")
    return gateway.find_out(tool, context, words="The worker stopped during the call.", breakers=work.breakers)


def key_is_forgotten(
    tool: ToolSpec, session_id: UUID, invocation_id: UUID, *, intended_at: datetime | None = None
) -> bool:
    """Return whether so much time has passed since the call was intended that its key proves nothing any more.

    ``intended_at`` is looked up when it is not given.
    """
    if tool.key_lifetime is None:
        return False
    if intended_at is None:
        intended_at = _intended_at(session_id, invocation_id)
    return intended_at is None or utcnow() - intended_at > tool.key_lifetime


def _intended_at(session_id: UUID, invocation_id: UUID) -> datetime | None:
    intents = LedgerEvent.objects.filter(stream=session_id, type="call.intended", refs__invocation=str(invocation_id))
    return intents.values_list("at", flat=True).first()


def _record_retry(work: Work, invocation: IntendedCall) -> None:
    """Say that the call is made again, under the rules and switches of this moment."""
    facts = {"tool": invocation.tool, "attempt": work.held.attempts + 1}
    event = Event("call.retried", "runtime", facts, {"invocation": str(invocation.pk)})
    with or_interrupted(work.held):
        record(work.held, [event], Took(attempts=work.held.attempts), as_decided=True)


_MAY_STILL = "An earlier attempt whose end nobody saw may still take effect."
_NOT_CONTINUED = Refusal("NOT_CONTINUED", "The session was stopped before it took effect.", "A person must do it.")
_WITHDRAWN = Refusal(
    "POLICY",
    "The agent may no longer do this by itself. It certainly had no effect.",
    "Do something else, or hand over.",
)


def _withdrawn(work: Work, tool: ToolSpec) -> bool:
    """The dial was lowered, or the tool frozen, since the call was intended."""
    grant = work.grants.by_tool.get(tool.name)
    lowered = grant is None or grant.dial in (Dial.OBSERVE, Dial.SUGGEST)
    return lowered or work.brief.freeze_of(tool.name) is not None


def leave_unknown(work: Work, invocation: IntendedCall) -> bool:
    """Conclude a call whose tool went away meanwhile: nobody can ask what became of it."""
    refusal = Refusal(
        FailureKind.UNKNOWN, "The tool was removed during the call.", "A person must check with the system of record."
    )
    _settle(work, invocation, None, InvocationState.UNKNOWN, refusal.as_json(), 0)
    return True


def _conclude(work: Work, invocation: IntendedCall, tool: ToolSpec, outcome: Outcome, began: float) -> bool:
    held, took_ms = work.held, ms_since(began)
    if isinstance(outcome, Done):
        _settle(work, invocation, tool, InvocationState.SUCCEEDED, outcome.result, took_ms, outcome.scrubbed)
        return True
    attempt = held.attempts + 1
    certain = isinstance(outcome, NotDone) and outcome.definite and not held.in_doubt
    retryable = (isinstance(outcome, Unknown) and outcome.worth_asking) or (
        isinstance(outcome, NotDone) and outcome.retryable
    )
    if retryable and attempt < guards.MOST_ATTEMPTS:
        retry_after = outcome.retry_after if isinstance(outcome, NotDone) else None
        seconds = back_off(attempt, retry_after=retry_after)
        code = outcome.refusal.code if isinstance(outcome, NotDone) else FailureKind.UNKNOWN.value
        words = outcome.refusal.message if isinstance(outcome, NotDone) else outcome.words
        sleep(held, code=code, words=words, seconds=seconds, took=Took(worked_ms=took_ms), without_effect=certain)
        return False
    if isinstance(outcome, NotDone) and certain:
        _settle(work, invocation, tool, InvocationState.FAILED, outcome.refusal.as_json(), took_ms)
        return True
    words = outcome.words if isinstance(outcome, Unknown) else f"{outcome.refusal.message} {_MAY_STILL}"
    refusal = Refusal(FailureKind.UNKNOWN, words, "A person must check with the system of record.")
    _settle(work, invocation, tool, InvocationState.UNKNOWN, refusal.as_json(), took_ms)
    return True


_STATUS = {
    InvocationState.SUCCEEDED: ("call.succeeded", ObservationStatus.OK),
    InvocationState.FAILED: ("call.failed", ObservationStatus.FAILED),
    InvocationState.UNKNOWN: ("call.unknown", ObservationStatus.UNKNOWN),
}


def _settle(
    work: Work,
    invocation: IntendedCall,
    tool: ToolSpec | None,
    state: InvocationState,
    result: dict[str, Any],
    took_ms: int,
    scrubbed: int = 0,
) -> None:
    """Record how the call ended, and what follows: a process moves on, another call is undone, money is free again."""
    done = state is InvocationState.SUCCEEDED
    undo = undo_until = None
    if done and tool is not None:
        undo, undo_until = undo_of(tool, invocation.arguments, result)
    also = [conclude(invocation.pk, InvocationState.INTENDED, state, undo=undo, undo_until=undo_until)]
    if state is InvocationState.FAILED:
        also += amount_returned(invocation, work.held.agent_id)
    name, status = _STATUS[state]
    outcome = tool.outcome if done and tool is not None else ""
    facts = {"tool": invocation.tool, "tool_ms": took_ms, "outcome": outcome}
    if scrubbed:
        facts["scrubbed"] = scrubbed
    if not done:
        facts["code"] = result["code"]
    refs = {"invocation": str(invocation.pk)}
    events = [Event(name, work.actor, facts, refs, {"result": result})]
    if done and invocation.undoes is not None:
        compensated, undone = compensation_of(invocation.undoes, by=invocation.pk, actor=work.actor)
        events.append(compensated)
        also.append(undone)
    moved = (
        process.moved_by(work, invocation.tool, invocation.arguments, rationale=str(invocation.pk)) if done else None
    )
    if moved is not None:
        events += moved.events
        also.append(moved.statement)
    record(work.held, events, Took(worked_ms=took_ms), also=also)
    if moved is not None:
        work.held.processes[moved.process] = moved.state
    reach(CrashPoint.RESULT_COMMITTED if invocation.undoes is None else CrashPoint.UNDO_RECORDED)
    observe(
        work.held,
        tool=invocation.tool,
        arguments=invocation.arguments,
        status=status,
        result=result,
        outcome=outcome,
        sign=("", done),
    )


def compensation_of(undone: UUID, *, by: UUID, actor: str) -> tuple[Event, Statement]:
    """Return how it is recorded that the call ``undone`` was taken back by another one, in the statement of that."""
    event = Event("call.compensated", actor, {"by": str(by)}, {"invocation": str(undone)})
    return event, Statement("undone", statements.UNDONE, {"undone": undone})


def undo_of(tool: ToolSpec, arguments: dict[str, Any], result: dict[str, Any]) -> tuple[Any, Any]:
    """Return the call that takes a successful one back and until when, (None, None) when there is none."""
    if tool.undo_call is None or result.get("unreadable_answer"):
        return None, None
    try:
        undo = tool.undo_call(arguments, result)
    except Exception:  # noqa: BLE001 - the call took effect; that its undo is not known must not lose that
        return None, None
    return undo, None if undo is None or tool.undo_within is None else utcnow() + tool.undo_within


def amount_returned(invocation: IntendedCall, agent_id: UUID) -> list[Statement]:
    """Return the part that takes a call without effect out of the sums again; empty when it moved no money."""
    if invocation.window_day is None:
        return []
    minor, currency = invocation.preview["money"]
    place = Place(invocation.tenant_id, invocation.money_family, currency, invocation.window_day)
    rows = place.rows(invocation.preview["target"], agent_id)
    return [Statement("returned", statements.COUNT_MONEY, {"windows": rows, "window_minor": -minor})]
