"""Taking back a request that people were asked to decide, or had decided, because the work does not go on."""

from uuid import UUID

from django.db import transaction

from agentops.gateway.prepare import Refusal
from agentops.kernel.errors import FailureKind
from agentops.ledger.append import Event, Statement
from agentops.registry.planner import ObservationStatus
from agentops.runtime.models import Invocation
from agentops.runtime.ports import approval_gate
from agentops.runtime.record import Took, conclude, observe, record
from agentops.runtime.session import Held
from agentops.runtime.states import InvocationState


def awaiting(session_id: UUID) -> Invocation | None:
    """Return the session's call that waits for a decision or for what follows from one, None when there is none."""
    return Invocation.objects.filter(session_id=session_id, state=InvocationState.AWAITING_APPROVAL).first()


def withdrawal(invocation: Invocation, refusal: Refusal, *, actor: str) -> tuple[list[Event], Statement]:
    """Withdraw the open request of a call, in the caller's transaction, and return how its stream is to tell it.

    Locks the request, and so belongs before the session's row is locked: deciding locks them in that order.
    """
    request_id = approval_gate().withdraw(invocation.pk, refusal.message)
    refs = {"invocation": str(invocation.pk)}
    events = [
        Event(
            "call.refused", actor, {"tool": invocation.tool, "code": refusal.code}, refs, {"result": refusal.as_json()}
        )
    ]
    if request_id is not None:
        refs = {**refs, "request": str(request_id)}
        voided = Event("approval.voided", actor, {"tool": invocation.tool, "reason": refusal.message}, refs)
        events.insert(0, voided)
    return events, conclude(invocation.pk, InvocationState.AWAITING_APPROVAL, InvocationState.REFUSED)


def left_unknown(call: Invocation, words: str) -> tuple[Event, Statement]:
    """Return how the stream is to tell that nobody goes on to find out what became of an intended call."""
    refusal = Refusal(FailureKind.UNKNOWN, words, "A person must check with the system of record.")
    facts = {"tool": call.tool, "tool_ms": 0, "outcome": "", "code": refusal.code}
    event = Event("call.unknown", "runtime", facts, {"invocation": str(call.pk)}, {"result": refusal.as_json()})
    return event, conclude(call.pk, InvocationState.INTENDED, InvocationState.UNKNOWN)


def retire(held: Held, invocation: Invocation, refusal: Refusal, *, actor: str = "runtime") -> None:
    """Withdraw the request of a held session's call and refuse the call."""
    with transaction.atomic():
        events, concluded = withdrawal(invocation, refusal, actor=actor)
        record(held, events, Took(), also=[concluded])
    observe(
        held,
        tool=invocation.tool,
        arguments=invocation.arguments,
        status=ObservationStatus.REFUSED,
        result=refusal.as_json(),
    )


def retire_pending(held: Held, reason: str) -> None:
    """Take back whatever of the session's people were asked to decide."""
    pending = awaiting(held.id)
    if pending is not None:
        retire(held, pending, Refusal("WITHDRAWN", reason, "Propose it again if it is still right."))
