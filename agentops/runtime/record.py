"""The durable points of a held session: each appends events and moves the row in one statement.

Every function here raises StaleStream when the session is no longer held, having written nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from agentops.kernel.clock import utcnow
from agentops.ledger.append import Event, Statement, append
from agentops.registry.planner import Observation, ObservationStatus, Turn, Usage
from agentops.runtime import statements
from agentops.runtime.session import Held
from agentops.runtime.states import (
    InvocationState,
    SessionStatus,
    require_invocation_transition,
    require_transition,
)

_NOTHING_USED = Usage(model="")


@dataclass(frozen=True)
class Took:
    """What a durable point adds to the session's counters. Milliseconds are the worker's own, not waiting."""

    steps: int = 0
    writes: int = 0
    gates: int = 0
    worked_ms: int = 0
    usage: Usage = _NOTHING_USED


@dataclass(frozen=True)
class Leaving:
    """How a session leaves its worker."""

    status: SessionStatus
    stop_code: str = ""
    outcome: str = ""
    wake_at: datetime | None = None
    finished_at: datetime | None = None


def record(
    held: Held,
    events: Sequence[Event],
    took: Took,
    *,
    leaving: Leaving | None = None,
    also: Sequence[Statement] = (),
    attempts: int = 0,
    at: datetime | None = None,
) -> None:
    """Append ``events`` and count what they ``took``; the session stays held unless ``leaving`` says otherwise."""
    sql, extra = statements.STEP, {"lease": settings.LEASE_SECONDS}
    if leaving is not None:
        require_transition(SessionStatus.RUNNING, leaving.status)
        sql, extra = statements.LEAVE, vars(leaving) | {"status": leaving.status.value}
    params: dict[str, Any] = {
        "session": held.id,
        "position": held.position,
        "fence": held.fence,
        "count": len(events),
        "steps": took.steps,
        "writes": took.writes,
        "gates": took.gates,
        "attempts": attempts,
        "worked_ms": took.worked_ms,
        "input_tokens": took.usage.input_tokens,
        "output_tokens": took.usage.output_tokens,
        "cost_micro": took.usage.cost_micro,
        **extra,
    }
    append(
        stream=held.id,
        tenant_id=held.tenant_id,
        position=held.position,
        events=events,
        advance=Statement("head", sql, params),
        also=also,
        at=at,
    )
    held.position += len(events)
    held.steps += took.steps
    held.writes += took.writes
    held.attempts = attempts
    held.worked_ms += took.worked_ms
    held.cost_micro += took.usage.cost_micro


def observe(
    held: Held, *, tool: str, arguments: Any, status: ObservationStatus, result: Any, outcome: str = ""
) -> None:
    """Add what ``session.fold`` would read back from the event just recorded."""
    held.history.append(Observation(len(held.history) + 1, tool, arguments, status, result))
    if outcome and status is ObservationStatus.OK:
        held.achieved.add(outcome)


def conclude(invocation_id: UUID, before: InvocationState, after: InvocationState) -> Statement:
    """Return the part of a durable point that moves a call to its end.

    A call that certainly had no effect gives its idempotency key back.
    """
    require_invocation_transition(before, after)
    params = {
        "invocation": invocation_id,
        "invocation_state": after.value,
        "invocation_before": before.value,
        "keeps_key": after in (InvocationState.SUCCEEDED, InvocationState.UNKNOWN),
    }
    return Statement("concluded", statements.SETTLE, params, required=True)


def usage_facts(turn: Turn) -> dict[str, Any]:
    """Return what a model call took, for the facts of the event that its proposal led to."""
    usage = turn.usage
    return {
        "model": usage.model,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_micro": usage.cost_micro,
        "model_ms": usage.latency_ms,
        "estimated": usage.estimated,
    }


def sleep(held: Held, *, code: str, words: str, wake_at: datetime, worked_ms: int) -> None:
    """Park the session until ``wake_at``; the sweep wakes it. Nothing sleeps in a worker."""
    facts = {"code": code, "words": words, "attempt": held.attempts + 1}
    record(
        held,
        [Event("session.sleeping", "runtime", facts)],
        Took(worked_ms=worked_ms),
        leaving=Leaving(SessionStatus.SLEEPING, wake_at=wake_at),
        attempts=held.attempts + 1,
    )


def begin_stopping(held: Held, *, code: str, words: str) -> None:
    """Record why the planner is not asked any more. What follows is handing over and answering."""
    record(held, [Event("session.stopping", "runtime", {"code": code, "words": words})], Took())
    held.stop_code = code


def end(held: Held, *, event: Event, took: Took, outcome: str) -> None:
    """Finish the session, or stop it when a stop had begun."""
    status = SessionStatus.STOPPED if held.stop_code else SessionStatus.FINISHED
    record(
        held,
        [event],
        took,
        leaving=Leaving(status, stop_code=held.stop_code, outcome=outcome, finished_at=utcnow()),
    )
