"""The loop of one held session: heed, propose, carry out; until it parks or ends.

Each pass ends in a durable point of ``record``; whatever happens between two of them may be lost and is then
done again by the next worker, without a second effect.
"""

import time
from collections.abc import Callable
from typing import Any

from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import IncidentCode
from agentops.kernel.stopwatch import ms_since
from agentops.ledger.append import Event
from agentops.registry.planner import FinalAnswer, PlanContext, PlannerUnavailable, Turn, Usage
from agentops.runtime import compensation, guards
from agentops.runtime.answers import Closing
from agentops.runtime.interrupts import Interrupt, interrupt_of, park_for_person
from agentops.runtime.pending import continue_pending
from agentops.runtime.proposals import Proposed, carry_out, text
from agentops.runtime.providers import ask_planner, set_aside
from agentops.runtime.record import Interrupted, Took, back_off, end, sleep, together
from agentops.runtime.session import Awaited, Held
from agentops.runtime.states import SessionStatus
from agentops.runtime.work import Work

PERSON = "a person"
RUNTIME = "runtime"


def run(work: Work, *, give_up: Callable[[Work], Held | None] | None = None) -> Held | None:
    """Work the session until it is no longer held. Raises StaleStream when the lease went to somebody else.

    ``give_up`` is asked between two steps: it gives the session up for more urgent work, if there is some, and returns
    that, claimed; it is then returned here.
    """
    held = work.held
    # A question that workers are lost at is answered without the planner: the call still waits for its decision.
    lost = held.attempts >= guards.MOST_LOST_WORKERS and not held.stop_code and held.asked is None
    if lost:
        compensation.stop(work, code=IncidentCode.WORKER_LOST, words=IncidentCode.WORKER_LOST.words)
    elif held.erased and not held.stop_code:
        # What is left of the history is no ground to act on.
        compensation.stop(work, code=IncidentCode.SUBJECT_ERASED, words=IncidentCode.SUBJECT_ERASED.words)
    if not _take_up(work, again=not lost):
        return None
    while True:
        successor = give_up(work) if give_up is not None else None
        if successor is not None or not step(work):
            return successor


def _take_up(work: Work, *, again: bool) -> bool:
    """Conclude what the session left unfinished, unless it is taken away; return whether it is still held."""
    while True:
        interrupt = interrupt_of(work)
        if interrupt is not None and not interrupt.final:
            return _leave(work, interrupt)
        work.held.heeded = work.held.wanted
        try:
            return continue_pending(work, again=again and interrupt is None)
        except Interrupted:
            continue


def _leave(work: Work, interrupt: Interrupt) -> bool:
    interrupt.leave(work)
    return False


def step(work: Work) -> bool:
    """Do one step and return whether the session is still held."""
    interrupt = interrupt_of(work)
    if interrupt is not None:
        return _leave(work, interrupt)
    held = work.held
    if held.proposed is not None:
        return _carry_out(work, _by_person(work))
    if held.reopened is not None:
        return _end_again(work)
    if held.taken_by:
        park_for_person(work)
        return False
    if held.stop_code:
        return _close(work)
    if held.overdue:
        compensation.stop(work, code=IncidentCode.APPROVAL_EXPIRED, words=IncidentCode.APPROVAL_EXPIRED.words)
        return True
    if held.awaited is not None:
        return _carry_out(work, _again(held.awaited))
    return _next(work)


def _next(work: Work) -> bool:
    """Ask the planner for the next step, if there may be one."""
    held, limits = work.held, work.limits
    code = held.progress.problem() or guards.over_budget(
        limits, steps=held.steps, worked_ms=held.worked_ms, cost_micro=held.cost_micro, tokens=held.tokens
    )
    began = time.monotonic()
    context = work.plan_context()
    code = code or set_aside(work, work.planner.most_micro(context))
    if code is not None:
        compensation.stop(work, code=code, words=code.words)
        return True
    try:
        turn = ask_planner(work.planner, context, tenant_id=held.tenant_id, breakers=work.breakers)
    except PlannerUnavailable as error:
        return _planner_unavailable(work, error, began)
    reach(CrashPoint.STEP_PLANNED)
    return _carry_out(work, Proposed(turn, _shown(turn, context), began))


def _carry_out(work: Work, proposed: Proposed) -> bool:
    """Carry a proposal out. One that somebody stepped in front of is dropped; what it took is counted all the same."""
    try:
        return carry_out(work, proposed)
    except Interrupted:
        carried = work.held.carried
        work.held.carried = together(proposed.turn.usage, carried) if carried else proposed.turn.usage
        return True


def _by_person(work: Work) -> Proposed:
    """The step that a person does instead of the planner: through the same checks, policy and record."""
    given = work.held.proposed
    assert given is not None  # noqa: S101 - asked by the only caller
    proposal = given.call or FinalAnswer(given.message)
    turn = Turn(proposal, Usage(model=PERSON))
    # What a person only changed still comes from the agent: it is judged as strictly as the agent's own call.
    return Proposed(
        turn,
        {"by": given.actor},
        time.monotonic(),
        given.undoes,
        trusted=given.edits is None,
        edits=given.edits,
    )


def _again(awaited: Awaited) -> Proposed:
    """The read whose answer was not due when it was proposed: the same call, through the same checks."""
    return Proposed(Turn(awaited.call, Usage(model=awaited.model)), awaited.seen, time.monotonic())


def _close(work: Work) -> bool:
    """A stopped session takes back what a failed process did, hands over, and answers honestly."""
    held = work.held
    undo = compensation.next_undo(work)
    context = work.plan_context()
    if undo is not None:
        turn = Turn(undo.call, Usage(model=RUNTIME))
        return _carry_out(work, Proposed(turn, {}, time.monotonic(), undo.undoes, trusted=True))
    turn = Closing(held.stop_code, work.role.fallback(held.stop_code)).propose(context)
    return _carry_out(work, Proposed(turn, _shown(turn, context), time.monotonic(), trusted=True))


def _end_again(work: Work) -> bool:
    """The one thing that an ended session was reopened for is done, or was refused: it ends as it had ended before."""
    held = work.held
    was = held.reopened
    assert was is not None  # noqa: S101 - asked by the only caller
    status = SessionStatus(was.status)
    facts: dict[str, Any] = {"outcome": was.outcome, "code": was.stop_code, "again": True}
    event = Event(f"session.{status.value}", RUNTIME, facts)
    end(held, event=event, took=Took(), status=status, stop_code=was.stop_code, outcome=was.outcome)
    return False


def _shown(turn: Turn, context: PlanContext) -> dict[str, Any]:
    """What the planner saw and said, beside its proposal: what a model was sent, or how much of the history."""
    seen: dict[str, Any] = {"context": turn.context or {"history": len(context.history)}}
    return {**seen, "output": text(turn.raw)} if turn.raw else seen


def _planner_unavailable(work: Work, error: PlannerUnavailable, began: float) -> bool:
    """Sleep and try again a few times, then hand over. A failure that no retry mends hands over at once.

    Waiting for one's turn at the provider is no failed attempt.
    """
    held = work.held
    attempt = held.attempts + 1
    if not error.kind.retryable or (error.counts and attempt >= guards.MOST_ATTEMPTS):
        compensation.stop(work, code=IncidentCode.MODEL_UNAVAILABLE, words=error.message)
        return True
    sleep(
        held,
        code=error.kind.value,
        words=error.message,
        seconds=back_off(attempt, retry_after=error.retry_after),
        took=Took(worked_ms=ms_since(began)),
        attempt=error.counts,
    )
    return False
