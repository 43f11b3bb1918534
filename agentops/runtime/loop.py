"""The loop of one held session: propose, check, decide, act, record; until it parks or ends.

Each pass ends in a durable point of ``record``; whatever happens between two of them may be lost and is then
done again by the next worker, without a second effect.
"""

import logging
import random
import time
from datetime import timedelta
from typing import Any

from agentops.agents.queries import Grants
from agentops.gateway import execute as gateway
from agentops.gateway.execute import Done
from agentops.gateway.prepare import Prepared, Refusal, prepare
from agentops.kernel.canonical import NotCanonical, canonical_bytes, storable
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import IncidentCode
from agentops.ledger.append import Event
from agentops.policy.engine import Verdict
from agentops.policy.rules import Effect
from agentops.registry.planner import (
    FinalAnswer,
    Malformed,
    ObservationStatus,
    PlanContext,
    PlannerUnavailable,
    ToolCall,
    Turn,
)
from agentops.runtime import guards
from agentops.runtime.answers import outcome_of
from agentops.runtime.effect import perform
from agentops.runtime.intent import Intended, Parked, TurnedDown, Write, decide_write, judge
from agentops.runtime.pending import continue_pending
from agentops.runtime.record import Took, begin_stopping, end, observe, record, sleep, usage_facts
from agentops.runtime.work import Work

log = logging.getLogger(__name__)


def run(work: Work) -> None:
    """Work the session until it is no longer held. Raises StaleStream when the lease went to somebody else."""
    held = work.held
    lost = held.attempts >= guards.MOST_LOST_WORKERS and not held.stop_code
    if lost:
        begin_stopping(held, code=IncidentCode.WORKER_LOST, words=IncidentCode.WORKER_LOST.words)
    if not continue_pending(work, again=not lost):
        return
    while step(work):
        pass


def step(work: Work) -> bool:
    """Do one step and return whether the session is still held."""
    held = work.held
    if not held.stop_code:
        code = guards.going_in_circles(held.history) or guards.over_budget(
            work.limits, steps=held.steps, worked_ms=held.worked_ms, cost_micro=held.cost_micro
        )
        if code is not None:
            begin_stopping(held, code=code, words=code.words)
    began = time.monotonic()
    grants = work.grants()
    context = work.plan_context(grants)
    try:
        turn = work.active_planner().propose(context)
    except PlannerUnavailable as error:
        return _planner_unavailable(work, error, began)
    seen = _shown(turn, context)
    proposal = turn.proposal
    if isinstance(proposal, ToolCall):
        return _call(work, grants, turn, proposal, seen, began)
    if isinstance(proposal, FinalAnswer):
        return _finish(work, turn, proposal, seen, began)
    return _malformed(work, turn, proposal, seen, began)


def _shown(turn: Turn, context: PlanContext) -> dict[str, Any]:
    """What the planner saw and said, beside its proposal: what a model was sent, or how much of the history."""
    seen: dict[str, Any] = {"context": turn.context or {"history": len(context.history)}}
    return {**seen, "output": _text(turn.raw)} if turn.raw else seen


def _took(turn: Turn, began: float, *, writes: int = 0) -> Took:
    return Took(steps=1, writes=writes, worked_ms=_ms_since(began), usage=turn.usage)


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _planner_unavailable(work: Work, error: PlannerUnavailable, began: float) -> bool:
    """Sleep and try again a few times, then hand over. A failure that no retry mends hands over at once."""
    held = work.held
    attempt = held.attempts + 1
    if not error.kind.retryable or attempt >= guards.MOST_ATTEMPTS:
        begin_stopping(held, code=IncidentCode.MODEL_UNAVAILABLE, words=error.message)
        return True
    wait = guards.backoff_seconds(attempt, retry_after=error.retry_after, jitter=random.random())  # noqa: S311 - spreads load, guards nothing
    sleep(
        held,
        code=error.kind.value,
        words=error.message,
        wake_at=utcnow() + timedelta(seconds=wait),
        worked_ms=_ms_since(began),
    )
    return False


def _call(work: Work, grants: Grants, turn: Turn, call: ToolCall, seen: dict[str, Any], began: float) -> bool:
    checked = prepare(call=call, role=work.role, granted=grants.tools, context=work.call_context())
    payload = {"arguments": _recordable(call.arguments), "rationale": _text(call.rationale), **seen}
    facts = {"tool": _text(call.tool[:80]), **usage_facts(turn)}
    if isinstance(checked, Refusal):
        return _refuse(work, facts, payload, checked, None, _took(turn, began))
    payload["arguments"] = checked.arguments
    if checked.preview is None:
        return _read(work, grants, turn, checked, facts, payload, began)
    write = Write(
        prepared=checked,
        preview=checked.preview,
        rationale=_text(call.rationale),
        took=_took(turn, began, writes=1),
        facts=facts,
        payload=payload,
        at=utcnow(),
    )
    decided = decide_write(work, grants, write)
    if isinstance(decided, TurnedDown):
        return _refuse(work, facts, payload, decided.refusal, decided.verdict, _took(turn, began))
    if isinstance(decided, Parked):
        return False
    assert isinstance(decided, Intended)  # noqa: S101 - the last of the three
    return perform(work, decided)


def _read(
    work: Work,
    grants: Grants,
    turn: Turn,
    checked: Prepared,
    facts: dict[str, Any],
    payload: dict[str, Any],
    began: float,
) -> bool:
    """A read has nothing to intend: decided, performed and recorded in one durable point."""
    verdict, _ = judge(work, grants, checked, None, moved=0)
    if verdict.effect is not Effect.ALLOW:
        refusal = Refusal("POLICY", verdict.reasons[0].words, "Do something else, or hand over.")
        return _refuse(work, facts, payload, refusal, verdict, _took(turn, began))
    called = time.monotonic()
    outcome = gateway.read(checked.tool, work.call_context(), checked.arguments)
    facts = {**facts, "tool_ms": _ms_since(called)}
    done = isinstance(outcome, Done)
    result = outcome.result if isinstance(outcome, Done) else outcome.refusal.as_json()
    event = Event("call.read" if done else "call.read_failed", work.actor, facts, {}, {**payload, "result": result})
    record(work.held, [event], _took(turn, began))
    status = ObservationStatus.OK if done else ObservationStatus.FAILED
    observe(work.held, tool=checked.tool.name, arguments=checked.arguments, status=status, result=result)
    return True


def _refuse(
    work: Work,
    facts: dict[str, Any],
    payload: dict[str, Any],
    refusal: Refusal,
    verdict: Verdict | None,
    took: Took,
) -> bool:
    body = {**payload, "result": refusal.as_json()}
    if verdict is not None:
        body["verdict"] = verdict.as_json()
    event = Event("call.refused", work.actor, {**facts, "code": refusal.code}, {}, body)
    record(work.held, [event], took)
    observe(
        work.held,
        tool=facts["tool"],
        arguments=payload["arguments"],
        status=ObservationStatus.REFUSED,
        result=refusal.as_json(),
    )
    return True


def _malformed(work: Work, turn: Turn, proposal: Malformed, seen: dict[str, Any], began: float) -> bool:
    result = {
        "code": "MALFORMED",
        "message": _text(proposal.problem),
        "next_step": "Answer with exactly one tool call, or the final answer.",
    }
    payload = {"arguments": _text(turn.raw), "result": result, **seen}
    event = Event("model.malformed", work.actor, usage_facts(turn), {}, payload)
    record(work.held, [event], _took(turn, began))
    observe(
        work.held,
        tool="",
        arguments=payload["arguments"],
        status=ObservationStatus.REFUSED,
        result=result,
    )
    return True


def _finish(work: Work, turn: Turn, answer: FinalAnswer, seen: dict[str, Any], began: float) -> bool:
    held = work.held
    if not held.achieved and not held.stop_code:
        return _send_back(work, turn, answer, seen, began)
    outcome = outcome_of(held.achieved)
    payload = {
        "answer": {
            "message": _text(answer.message),
            "verified": [_text(line) for line in answer.verified],
            "blocked": [_text(line) for line in answer.blocked],
            "left": [_text(line) for line in answer.left],
        },
        **seen,
    }
    facts = {"outcome": outcome, "code": held.stop_code, **usage_facts(turn)}
    name = "session.stopped" if held.stop_code else "session.finished"
    end(held, event=Event(name, work.actor, facts, {}, payload), took=_took(turn, began), outcome=outcome)
    return False


def _send_back(work: Work, turn: Turn, answer: FinalAnswer, seen: dict[str, Any], began: float) -> bool:
    """Work may not end in silence: an end before anything was answered, changed or handed over is refused."""
    refusal = Refusal(
        "NO_OUTCOME",
        "Nothing was answered, changed or handed over yet.",
        "Send the reply or hand over to a person first, then finish.",
    )
    payload = {"arguments": {"message": _text(answer.message)}, "rationale": "", **seen}
    return _refuse(work, {"tool": "final_answer", **usage_facts(turn)}, payload, refusal, None, _took(turn, began))


_MOST_TEXT = 20_000


def _text(text: str) -> str:
    """A planner's words as they can be recorded."""
    return storable(text, most=_MOST_TEXT)


def _recordable(arguments: Any) -> Any:
    """Arguments that have no canonical form are recorded as the text they would be written as."""
    if isinstance(arguments, str):
        return _text(arguments)
    try:
        if len(canonical_bytes(arguments)) <= _MOST_TEXT * 5:
            return arguments
    except NotCanonical:
        pass
    return _text(repr(arguments))
