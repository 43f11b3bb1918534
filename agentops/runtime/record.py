"""The durable points of a held session: each appends events and moves the row in one statement.

Every function here raises StaleStream when the session is no longer held, having written nothing. A point that
is ``as_decided`` also raises it when somebody stepped in since it was decided, see ``or_interrupted``; all others
report what has happened, and are recorded although an operator appended to the stream meanwhile.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from agentops.kernel.canonical import dumps
from agentops.kernel.clock import utcnow
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import About, Event, StaleStream, Statement, append
from agentops.ledger.sql import fetch_one
from agentops.registry.planner import Answer, Observation, ObservationStatus, Turn, Usage
from agentops.registry.tool import UndoCall
from agentops.runtime import statements
from agentops.runtime.guards import Used, backoff_seconds, warnings
from agentops.runtime.session import Held
from agentops.runtime.spend import settle_parts
from agentops.runtime.states import (
    ENDED,
    InvocationState,
    SessionStatus,
    require_invocation_transition,
    require_transition,
)

_NOTHING_USED = Usage(model="")


class Interrupted(AgentOpsError):
    """Somebody stepped in between the decision and its record: an operator, a freeze, a changed rule. Decide anew."""

    code = "INTERRUPTED"


@dataclass(frozen=True)
class Took:
    """What a durable point adds to the session's counters. Milliseconds are the worker's own, not waiting.

    ``attempts`` is not added: it is how often what comes next was tried, 0 after anything that worked.
    """

    steps: int = 0
    writes: int = 0
    gates: int = 0
    worked_ms: int = 0
    attempts: int = 0
    usage: Usage = _NOTHING_USED


@dataclass(frozen=True)
class Leaving:
    """How a session leaves its worker. ``taken_by`` None leaves it with whom it is."""

    status: SessionStatus
    stop_code: str = ""
    outcome: str = ""
    wake_at: datetime | None = None
    finished_at: datetime | None = None
    taken_by: str | None = None


def record(
    held: Held,
    events: Sequence[Event],
    took: Took,
    *,
    leaving: Leaving | None = None,
    also: Sequence[Statement] = (),
    at: datetime | None = None,
    as_decided: bool = False,
) -> None:
    """Append ``events`` and count what they ``took``; the session stays held unless ``leaving`` says otherwise."""
    if leaving is not None:
        require_transition(SessionStatus.RUNNING, leaving.status)
    if held.carried is not None:
        took = replace(took, usage=together(took.usage, held.carried))
    events = [*events, *_budget_warnings(held, took)]
    parts = list(also) if held.reservation is None else [*also, *settle_parts(held.reservation, took.usage)]
    while True:
        advance = _advance(held, took, leaving, as_decided=as_decided)
        try:
            row = append(
                stream=held.id,
                tenant_id=held.tenant_id,
                position=held.position,
                events=events,
                advance=advance,
                also=parts,
                at=at,
                about=About(held.data_subject, epoch=held.epoch),
            )
        except StaleStream:
            if as_decided or not stands_elsewhere(held):
                raise
        else:
            break
    held.epoch = row[1]
    held.position += len(events)
    held.steps += took.steps
    held.writes += took.writes
    held.attempts = took.attempts
    held.worked_ms += took.worked_ms
    held.tokens += took.usage.input_tokens + took.usage.output_tokens
    held.cost_micro += took.usage.cost_micro
    held.reservation = held.carried = None


def together(usage: Usage, carried: Usage) -> Usage:
    """Return ``usage`` with the tokens and the cost of another call as well."""
    return replace(
        usage,
        input_tokens=usage.input_tokens + carried.input_tokens,
        output_tokens=usage.output_tokens + carried.output_tokens,
        cost_micro=usage.cost_micro + carried.cost_micro,
    )


def _advance(held: Held, took: Took, leaving: Leaving | None, *, as_decided: bool) -> Statement:
    grows = {
        "steps": took.steps,
        "writes": took.writes,
        "gates": took.gates,
        "worked_ms": took.worked_ms,
        "input_tokens": took.usage.input_tokens,
        "output_tokens": took.usage.output_tokens,
        "cost_micro": took.usage.cost_micro,
    }
    params: dict[str, Any] = {column: more for column, more in grows.items() if more}
    sql = statements.step(tuple(params), leaving=leaving is not None, as_decided=as_decided)
    params.update(fence=held.fence, attempts=took.attempts)
    if as_decided:
        params["epoch"] = held.epoch
    if leaving is None:
        params["lease"] = settings.LEASE_SECONDS
        return Statement("head", sql, params)
    parked = leaving.status in (SessionStatus.PAUSED, *ENDED)
    params.update(
        status=leaving.status.value,
        stop_code=leaving.stop_code,
        outcome=leaving.outcome,
        # A wish that came too late for this point is carried out by whoever takes the session next, at once.
        wake_at=utcnow() if leaving.wake_at and held.wanted != held.heeded else leaving.wake_at,
        finished_at=leaving.finished_at,
        wanted="" if parked else held.wanted,
        taken_by=held.taken_by if leaving.taken_by is None else leaving.taken_by,
    )
    return Statement("head", sql, params)


@contextmanager
def or_interrupted(held: Held) -> Iterator[None]:
    """Turn StaleStream into Interrupted when the session is still held and somebody only stepped in."""
    try:
        yield
    except StaleStream as stale:
        if stands_elsewhere(held):
            raise Interrupted("somebody stepped in before this was recorded") from stale
        raise


def stands_elsewhere(held: Held) -> bool:
    """Follow an operator who moved the session on, and return whether anything had changed. Raises StaleStream.

    Not to be called in a transaction that a failed statement has ended.
    """
    found = fetch_one(statements.WHERE_IT_STANDS, {"session": held.id, "fence": held.fence})
    # An operator takes no steps: where some were taken a second worker acts under the same lease.
    if found is None or found[0] != held.steps:
        raise StaleStream(f"session {held.id} is held by somebody else")
    before = (held.position, held.epoch)
    _, held.position, held.wanted, held.taken_by, held.priority, held.epoch = found
    return before != (held.position, held.epoch)


def _budget_warnings(held: Held, took: Took) -> list[Event]:
    """The session is told of once when half, and once when four fifths, of a budget are used."""
    if held.limits is None or not (took.steps or took.worked_ms or took.usage.input_tokens or took.usage.cost_micro):
        return []
    tokens = took.usage.input_tokens + took.usage.output_tokens
    before = Used(held.steps, held.worked_ms, held.cost_micro, held.tokens)
    after = Used(
        held.steps + took.steps,
        held.worked_ms + took.worked_ms,
        held.cost_micro + took.usage.cost_micro,
        held.tokens + tokens,
    )
    return [
        Event("budget.warned", "runtime", {"kind": str(kind), "percent": percent})
        for kind, percent in warnings(held.limits, before, after)
    ]


def observe(
    held: Held,
    *,
    tool: str,
    arguments: Any,
    status: ObservationStatus,
    result: Any,
    outcome: str = "",
    sign: tuple[str, bool] = ("", False),
) -> None:
    """Add what ``session.fold`` would read back from the event just recorded. ``sign`` is as in ``Folded.signs``."""
    output, wrote = sign
    observation = Observation(len(held.history) + 1, tool, arguments, status, result)
    held.history.append(observation)
    held.progress.see(observation, output, wrote=wrote)
    held.proposed, held.proposer, held.edits, held.awaited = None, "", None, None
    if outcome and status is ObservationStatus.OK:
        held.achieved.add(outcome)


def conclude(
    invocation_id: UUID,
    before: InvocationState,
    after: InvocationState,
    *,
    undo: UndoCall | None = None,
    undo_until: datetime | None = None,
) -> Statement:
    """Return the part of a durable point that moves a call to its end.

    A call that certainly had no effect gives its idempotency key back; one that took effect keeps the call that
    would take it back.
    """
    require_invocation_transition(before, after)
    if after is InvocationState.SUCCEEDED and before is InvocationState.INTENDED and undo is None:
        return Statement("concluded", statements.SUCCEED, {"invocation": invocation_id}, required=True)
    params = {
        "invocation": invocation_id,
        "invocation_state": after.value,
        "invocation_before": before.value,
        "keeps_key": after in (InvocationState.SUCCEEDED, InvocationState.UNKNOWN),
        "undo": None if undo is None else dumps({"tool": undo[0], "arguments": undo[1]}),
        "undo_until": undo_until,
        "unknown_since": utcnow() if after is InvocationState.UNKNOWN else None,
    }
    return Statement("concluded", statements.SETTLE, params, required=True)


def usage_facts(turn: Turn | Answer) -> dict[str, Any]:
    """Return what a model call took, for the facts of the event of what it said; only its name when it took nothing."""
    usage = turn.usage
    facts: dict[str, Any] = {"model": usage.model}
    if usage.input_tokens or usage.output_tokens or usage.cost_micro or usage.latency_ms:
        facts |= {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_micro": usage.cost_micro,
            "model_ms": usage.latency_ms,
            "estimated": usage.estimated,
        }
    return facts


def back_off(attempt: int, *, retry_after: float | None) -> float:
    """Return for how many seconds to sleep before attempt ``attempt + 1``, see ``guards.backoff_seconds``."""
    return backoff_seconds(attempt, retry_after=retry_after, jitter=random.random())  # noqa: S311 - spreads load, guards nothing


def sleep(
    held: Held,
    *,
    code: str,
    words: str,
    seconds: float,
    took: Took,
    attempt: bool = True,
    without_effect: bool = True,
) -> None:
    """Park the session for ``seconds`` and try again then.

    ``attempt``: it counts against the attempts of what is being tried. ``without_effect``: an intended call
    certainly had none so far.
    """
    attempts = held.attempts + attempt
    facts = {"code": code, "words": words, "attempt": attempts, "without_effect": without_effect}
    fall_asleep(
        held, Event("session.sleeping", "runtime", facts), seconds=seconds, took=replace(took, attempts=attempts)
    )


def fall_asleep(held: Held, event: Event, *, seconds: float, took: Took) -> None:
    """Park the session for ``seconds``, of which ``event`` tells; the sweep wakes it. Nothing sleeps in a worker."""
    wake_at = utcnow() + timedelta(seconds=seconds)
    record(held, [event], took, leaving=Leaving(SessionStatus.SLEEPING, wake_at=wake_at))
    reach(CrashPoint.SLEEP_COMMITTED)


def begin_stopping(
    held: Held, *, code: str, words: str, events: Sequence[Event] = (), also: Sequence[Statement] = ()
) -> None:
    """Record why the planner is not asked any more. What follows is undoing, handing over and answering."""
    stopping = Event("session.stopping", "runtime", {"code": code, "words": words})
    record(held, [stopping, *events], Took(), also=also)
    held.stop_code, held.stopped_at = code, held.stopped_at or held.position


def end(held: Held, *, event: Event, took: Took, status: SessionStatus, stop_code: str, outcome: str) -> None:
    """End the session. Raises IllegalTransition when ``status`` is not an end."""
    if status not in ENDED:
        raise ValueError(f"{status} is not an end")
    reach(CrashPoint.SESSION_ENDING)
    leaving = Leaving(status, stop_code=stop_code, outcome=outcome, finished_at=utcnow(), taken_by="")
    record(held, [event], took, leaving=leaving)
    reach(CrashPoint.SESSION_ENDED)
