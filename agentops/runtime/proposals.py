"""What becomes of one proposal: a call, a question, an end, or something that is none of these.

Each function here ends in one durable point (a write in two) and returns whether the session is still held.
"""

import time
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from agentops.gateway import execute as gateway
from agentops.gateway.execute import Done, Later
from agentops.gateway.prepare import Prepared, Refusal, prepare
from agentops.kernel.canonical import NotCanonical, canonical_bytes, digest, dumps, storable
from agentops.kernel.clock import utcnow
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.ids import new_id
from agentops.kernel.stopwatch import ms_since
from agentops.ledger.append import Event, Statement
from agentops.policy.rules import Effect
from agentops.registry.planner import (
    FinalAnswer,
    Malformed,
    ObservationStatus,
    Question,
    ToolCall,
    Turn,
)
from agentops.runtime import guards, process, statements
from agentops.runtime.anomalies import Halted
from agentops.runtime.answers import HANDED_OVER, outcome_of
from agentops.runtime.effect import perform
from agentops.runtime.exposure import NOT_YET
from agentops.runtime.intent import Intended, Parked, Write, decide_write
from agentops.runtime.judging import judge, judged, refusal_by
from agentops.runtime.record import Leaving, Took, end, fall_asleep, observe, or_interrupted, record, usage_facts
from agentops.runtime.states import SessionStatus
from agentops.runtime.work import Work

ANSWER_WITHIN = timedelta(hours=72)
_MOST_TEXT = 20_000


@dataclass(frozen=True)
class Proposed:
    """A turn, what the planner was shown, and when it was asked. ``undoes``: the call that this one takes back.

    ``trusted``: no planner proposes it, but a person of the house or the runtime itself. ``edits``: the request whose
    call a person changed into this one.
    """

    turn: Turn
    seen: dict[str, Any]
    began: float
    undoes: UUID | None = None
    trusted: bool = False
    edits: UUID | None = None

    def took(self, *, writes: int = 0) -> Took:
        """Return what the step took so far."""
        return Took(steps=1, writes=writes, worked_ms=ms_since(self.began), usage=self.turn.usage)


def carry_out(work: Work, proposed: Proposed) -> bool:
    """Do what the proposal says, as far as it may be done. Raises Interrupted when somebody stepped in."""
    proposal = proposed.turn.proposal
    if isinstance(proposal, ToolCall):
        return _call(work, proposed, proposal)
    if isinstance(proposal, FinalAnswer):
        return _finish(work, proposed, proposal)
    if isinstance(proposal, Question):
        return _ask(work, proposed, proposal)
    return _malformed(work, proposed, proposal)


def _call(work: Work, proposed: Proposed, call: ToolCall) -> bool:
    payload = {"rationale": text(call.rationale), **proposed.seen}
    facts = {"tool": text(call.tool[:80]), **usage_facts(proposed.turn)}
    checked = prepare(
        call=call,
        role=work.role,
        granted=work.grants.tools,
        context=work.call_context(),
        # What takes a call back is never withheld: it was exposed when that call was made.
        withheld={} if proposed.undoes else work.withheld,
        breakers=work.breakers,
    )
    if isinstance(checked, Refusal):
        return _refuse(work, facts, {**payload, "arguments": _recordable(call.arguments)}, checked, proposed.took())
    payload["arguments"] = checked.arguments
    refusal = _out_of_place(work, checked)
    if refusal is not None:
        return _refuse(work, facts, payload, refusal, proposed.took())
    if checked.preview is None:
        return _read(work, proposed, checked, facts, payload)
    write = Write(
        prepared=checked,
        preview=checked.preview,
        rationale=text(call.rationale),
        took=proposed.took(writes=1),
        facts=facts,
        payload=payload,
        at=utcnow(),
        undoes=proposed.undoes,
        trusted=proposed.trusted,
        edits=proposed.edits,
    )
    decided = decide_write(work, write)
    if isinstance(decided, Intended):
        return perform(work, decided)
    if isinstance(decided, Parked):
        reach(CrashPoint.REQUEST_COMMITTED)
        return False
    if isinstance(decided, Halted):
        return False
    return _refuse(work, facts, {**payload, **decided.judged}, decided.refusal, proposed.took())


def _out_of_place(work: Work, checked: Prepared) -> Refusal | None:
    """Return why the call may not be made at this point: it goes in circles, or is no step of its process."""
    tool, arguments = checked.tool.name, checked.arguments
    if work.held.progress.repeats(tool, arguments):
        words = "This call has given the same result several times already."
        return Refusal(guards.REPEATED, words, "Try another way, ask a person, or hand over.")
    return process.refusal_of_step(work, tool, arguments)


def _read(work: Work, proposed: Proposed, checked: Prepared, facts: dict[str, Any], payload: dict[str, Any]) -> bool:
    """A read has nothing to intend: decided, performed and recorded in one durable point."""
    verdict, known = judge(work, checked, trusted=proposed.trusted)
    if verdict.effect is not Effect.ALLOW:
        return _refuse(work, facts, {**payload, **judged(verdict, known)}, refusal_by(verdict), proposed.took())
    called = time.monotonic()
    outcome = gateway.read(checked.tool, work.call_context(), checked.arguments, breakers=work.breakers)
    reach(CrashPoint.READ_RETURNED)
    facts = {**facts, "tool_ms": ms_since(called)}
    if isinstance(outcome, Later):
        return _wait(work, proposed, outcome, facts, payload)
    done = isinstance(outcome, Done)
    if isinstance(outcome, Done) and outcome.scrubbed:
        facts["scrubbed"] = outcome.scrubbed
    result = outcome.result if isinstance(outcome, Done) else outcome.refusal.as_json()
    tool = checked.tool.name
    events = [Event("call.read" if done else "call.read_failed", work.actor, facts, {}, {**payload, "result": result})]
    step = str(work.held.position)
    moved = process.moved_by(work, tool, checked.arguments, rationale=step) if done else None
    if moved is None:
        record(work.held, events, proposed.took())
    else:
        record(work.held, [*events, *moved.events], proposed.took(), also=[moved.statement])
        work.held.processes[moved.process] = moved.state
    reach(CrashPoint.READ_RECORDED)
    status = ObservationStatus.OK if done else ObservationStatus.FAILED
    observe(work.held, tool=tool, arguments=checked.arguments, status=status, result=result)
    return True


def _wait(work: Work, proposed: Proposed, later: Later, facts: dict[str, Any], payload: dict[str, Any]) -> bool:
    """The answer is not due: the session sleeps until it is, and makes the same call again. Nothing was tried."""
    before = work.held.awaited.waited if work.held.awaited else 0
    seconds = guards.wait_seconds(later.after.total_seconds(), waited=before)
    if seconds is None:
        refusal = Refusal(NOT_YET, later.words, "It was waited for long enough; do something else, or hand over.")
        return _refuse(work, facts, payload, refusal, proposed.took())
    told = {"code": NOT_YET, "words": later.words, "waits": seconds, "waited": before + seconds}
    event = Event("session.sleeping", "runtime", {**facts, **told}, {}, payload)
    took = replace(proposed.took(), steps=0, attempts=work.held.attempts)
    fall_asleep(work.held, event, seconds=seconds, took=took)
    return False


def _refuse(
    work: Work,
    facts: dict[str, Any],
    payload: dict[str, Any],
    refusal: Refusal,
    took: Took,
    output: str = "",
) -> bool:
    body = {**payload, "result": refusal.as_json()}
    facts = {**facts, "code": refusal.code, **({"output": output} if output else {})}
    record(work.held, [Event("call.refused", work.actor, facts, {}, body)], took)
    observe(
        work.held,
        tool=facts["tool"],
        arguments=payload["arguments"],
        status=ObservationStatus.REFUSED,
        result=refusal.as_json(),
        sign=(output, False),
    )
    return True


def _malformed(work: Work, proposed: Proposed, proposal: Malformed) -> bool:
    result = {
        "code": "MALFORMED",
        "message": text(proposal.problem),
        "next_step": "Answer with exactly one tool call, or the final answer.",
    }
    said = text(proposed.turn.raw)
    output = digest(said).hex()[:16]
    facts = {**usage_facts(proposed.turn), "output": output}
    event = Event("model.malformed", work.actor, facts, {}, {"arguments": said, "result": result, **proposed.seen})
    record(work.held, [event], proposed.took())
    observe(work.held, tool="", arguments=said, status=ObservationStatus.REFUSED, result=result, sign=(output, False))
    return True


def _ask(work: Work, proposed: Proposed, question: Question) -> bool:
    """The planner cannot know: the session waits for a person's answer, without a worker."""
    at, question_id = utcnow(), new_id()
    asked, options = text(question.text), [text(option) for option in question.options[:10]]
    params = {
        "question": question_id,
        "text": asked,
        "options": dumps(options),
        "asked_at": at,
        "expires_at": at + ANSWER_WITHIN,
    }
    event = Event(
        "person.asked",
        work.actor,
        usage_facts(proposed.turn),
        {"question": str(question_id)},
        {"text": asked, "options": options, **proposed.seen},
    )
    also = [Statement("asked", statements.ASK_PERSON, params)]
    took = proposed.took()
    leaving = Leaving(SessionStatus.WAITING_PERSON)
    with or_interrupted(work.held):
        record(work.held, [event], took, leaving=leaving, also=also, at=at, as_decided=True)
    return False


def _finish(work: Work, proposed: Proposed, answer: FinalAnswer) -> bool:
    held = work.held
    by_person = held.proposed is not None
    if not held.stop_code and not by_person:
        refusal = _no_end_yet(work)
        if refusal is not None:
            payload = {"arguments": {"message": text(answer.message)}, "rationale": "", **proposed.seen}
            facts = {"tool": "final_answer", **usage_facts(proposed.turn)}
            said = digest(payload["arguments"]).hex()[:16]
            return _refuse(work, facts, payload, refusal, proposed.took(), output=said)
    outcome = outcome_of(held.achieved)
    told = FinalAnswer(
        text(answer.message),
        tuple(text(line) for line in answer.verified),
        tuple(text(line) for line in answer.blocked),
        tuple(text(line) for line in answer.left),
    )
    payload = {"answer": told.as_json(), **proposed.seen}
    facts = {"outcome": outcome, "code": held.stop_code, **usage_facts(proposed.turn)}
    status = SessionStatus.STOPPED if held.stop_code else SessionStatus.FINISHED
    event = Event(f"session.{status.value}", work.actor, facts, {}, payload)
    end(held, event=event, took=proposed.took(), status=status, stop_code=held.stop_code, outcome=outcome)
    return False


def _no_end_yet(work: Work) -> Refusal | None:
    """Work may not end in silence, nor in the middle of a process that would then be half done."""
    if not work.held.achieved:
        return Refusal(
            "NO_OUTCOME",
            "Nothing was answered, changed or handed over yet.",
            "Send the reply or hand over to a person first, then finish.",
        )
    unfinished = process.unfinished(work)
    if not unfinished or HANDED_OVER in work.held.achieved:
        return None
    words = f"These processes are not at an end: {', '.join(unfinished)}."
    return Refusal("PROCESS", words, "Take the next step of the process, or hand over.")


def text(words: str) -> str:
    """A planner's words as they can be recorded."""
    return storable(words, most=_MOST_TEXT)


def _recordable(arguments: Any) -> Any:
    """Arguments that have no canonical form are recorded as the text they would be written as."""
    if isinstance(arguments, str):
        return text(arguments)
    try:
        if len(canonical_bytes(arguments)) <= _MOST_TEXT * 5:
            return arguments
    except NotCanonical:
        pass
    try:
        return text(repr(arguments))
    except RecursionError:
        return "arguments nested too deep to be written down"
