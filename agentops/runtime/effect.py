"""Making an intended call and recording its outcome."""

import random
import time
from datetime import timedelta
from typing import Any

from agentops.gateway import execute as gateway
from agentops.gateway.execute import Done, NotDone, Outcome, Unknown
from agentops.gateway.prepare import Refusal
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind
from agentops.ledger.append import Event, Statement
from agentops.registry.planner import ObservationStatus
from agentops.registry.tool import Dial, ToolSpec
from agentops.runtime import guards, statements
from agentops.runtime.intent import Intended, window_id
from agentops.runtime.models import Invocation
from agentops.runtime.record import Took, conclude, observe, record, sleep
from agentops.runtime.states import InvocationState
from agentops.runtime.work import Work


def perform(work: Work, intended: Intended) -> bool:
    """Make the call whose intent was just recorded, and return whether the session is still held."""
    began = time.monotonic()
    context = work.call_context(key=intended.key, versions=dict(intended.preview.versions))
    outcome = gateway.write(intended.prepared.tool, context, intended.prepared.arguments)
    return _conclude(work, intended.invocation, intended.prepared.tool, outcome, began)


def recover(work: Work, invocation: Invocation, tool: ToolSpec, *, again: bool) -> bool:
    """Conclude a call whose worker did not come back: ask about its key, and make it only if it never was.

    It is not made when ``again`` is False, or when the agent may no longer use the tool.
    """
    began = time.monotonic()
    versions = {name: int(version) for name, version in invocation.preview["versions"].items()}
    context = work.call_context(key=invocation.idempotency_key or "", versions=versions)
    outcome = gateway.find_out(tool, context, words="The worker stopped during the call.")
    if isinstance(outcome, NotDone):
        if not again:
            # A worker that was given up may only be slow, and still at it.
            outcome = Unknown("Every worker that tried this stopped.")
        elif _withdrawn(work, tool):
            outcome = NotDone(_WITHDRAWN)
        else:
            outcome = gateway.write(tool, context, invocation.arguments)
    return _conclude(work, invocation, tool, outcome, began)


_WITHDRAWN = Refusal(
    "POLICY", "The agent may no longer use this tool. It certainly had no effect.", "Do something else, or hand over."
)


def _withdrawn(work: Work, tool: ToolSpec) -> bool:
    grant = work.grants().by_tool.get(tool.name)
    return grant is None or grant.dial in (Dial.OBSERVE, Dial.SUGGEST)


def leave_unknown(work: Work, invocation: Invocation) -> bool:
    """Conclude a call whose tool went away meanwhile: nobody can ask what became of it."""
    refusal = Refusal(
        FailureKind.UNKNOWN, "The tool was removed during the call.", "A person must check with the system of record."
    )
    _settle(work, invocation, InvocationState.UNKNOWN, refusal.as_json(), 0)
    return True


def _conclude(work: Work, invocation: Invocation, tool: ToolSpec, outcome: Outcome, began: float) -> bool:
    held, took_ms = work.held, round((time.monotonic() - began) * 1000)
    if isinstance(outcome, Done):
        _settle(work, invocation, InvocationState.SUCCEEDED, outcome.result, took_ms, outcome=tool.outcome)
        return True
    if not isinstance(outcome, NotDone):
        refusal = Refusal(FailureKind.UNKNOWN, outcome.words, "A person must check with the system of record.")
        _settle(work, invocation, InvocationState.UNKNOWN, refusal.as_json(), took_ms)
        return True
    attempt = held.attempts + 1
    if outcome.retryable and attempt < guards.MOST_ATTEMPTS:
        wait = guards.backoff_seconds(attempt, retry_after=outcome.retry_after, jitter=random.random())  # noqa: S311 - spreads load, guards nothing
        wake_at = utcnow() + timedelta(seconds=wait)
        sleep(held, code=outcome.refusal.code, words=outcome.refusal.message, wake_at=wake_at, worked_ms=took_ms)
        return False
    _settle(work, invocation, InvocationState.FAILED, outcome.refusal.as_json(), took_ms)
    return True


_STATUS = {
    InvocationState.SUCCEEDED: ("call.succeeded", ObservationStatus.OK),
    InvocationState.FAILED: ("call.failed", ObservationStatus.FAILED),
    InvocationState.UNKNOWN: ("call.unknown", ObservationStatus.UNKNOWN),
}


def _settle(
    work: Work,
    invocation: Invocation,
    state: InvocationState,
    result: dict[str, Any],
    took_ms: int,
    *,
    outcome: str = "",
) -> None:
    """Record how the call ended. A call that certainly had no effect gives back its key and its amount."""
    also = [conclude(invocation.pk, InvocationState.INTENDED, state)]
    if state is InvocationState.FAILED and invocation.window_day is not None:
        minor, currency = invocation.preview["money"]
        window = window_id(
            invocation.tenant_id,
            invocation.money_family,
            invocation.preview["target"],
            currency,
            invocation.window_day,
        )
        also.append(Statement("returned", statements.COUNT_MONEY, {"window": window, "window_minor": -minor}))
    name, status = _STATUS[state]
    facts = {"tool": invocation.tool, "tool_ms": took_ms, "outcome": outcome}
    if state is not InvocationState.SUCCEEDED:
        facts["code"] = result["code"]
    event = Event(name, work.actor, facts, {"invocation": str(invocation.pk)}, {"result": result})
    record(work.held, [event], Took(worked_ms=took_ms), also=also)
    observe(
        work.held,
        tool=invocation.tool,
        arguments=invocation.arguments,
        status=status,
        result=result,
        outcome=outcome,
    )
