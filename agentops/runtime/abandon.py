"""The last resort: ending a session that loses its worker even while it is handed to a person."""

from django.db import transaction

from agentops.gateway.prepare import Refusal
from agentops.kernel.errors import FailureKind
from agentops.ledger.append import Event
from agentops.registry.planner import Turn, Usage
from agentops.runtime.answers import honest_answer, outcome_of
from agentops.runtime.models import Invocation
from agentops.runtime.pending import UNFINISHED
from agentops.runtime.ports import ApprovalState, approval_gate
from agentops.runtime.record import Took, conclude, end, record, usage_facts
from agentops.runtime.session import Held
from agentops.runtime.states import InvocationState

ACTOR = "runtime"


@transaction.atomic
def abandon(held: Held) -> None:
    """Stop the session from what is on record, without role, planner or tool. Raises StaleStream."""
    pending = Invocation.objects.filter(session_id=held.id, state__in=UNFINISHED).first()
    if pending is not None and pending.state == InvocationState.INTENDED:
        _leave_unknown(held, pending)
    elif pending is not None:
        _withdraw(held, pending)
    calls = Invocation.objects.filter(session_id=held.id, state=InvocationState.SUCCEEDED)
    writes = frozenset(calls.values_list("tool", flat=True))
    answer = honest_answer(held.history, held.stop_code, writes=writes, handed_over="escalated" in held.achieved)
    outcome = outcome_of(held.achieved)
    told = {name: list(getattr(answer, name)) for name in ("verified", "blocked", "left")}
    payload = {"answer": {"message": answer.message, **told}, "context": {"history": len(held.history)}}
    facts = {"outcome": outcome, "code": held.stop_code, **usage_facts(Turn(answer, Usage(model=ACTOR)))}
    end(held, event=Event("session.stopped", ACTOR, facts, {}, payload), took=Took(), outcome=outcome)


def _leave_unknown(held: Held, call: Invocation) -> None:
    refusal = Refusal(
        FailureKind.UNKNOWN,
        "The program stopped during the call, again and again.",
        "A person must check with the system of record.",
    )
    facts = {"tool": call.tool, "tool_ms": 0, "outcome": "", "code": refusal.code}
    event = Event("call.unknown", ACTOR, facts, {"invocation": str(call.pk)}, {"result": refusal.as_json()})
    record(held, [event], Took(), also=[conclude(call.pk, InvocationState.INTENDED, InvocationState.UNKNOWN)])


def _withdraw(held: Held, call: Invocation) -> None:
    refusal = Refusal("NOT_CONTINUED", "The session could not go on after the approval.", "A person must do it.")
    resolution = approval_gate().resolution(call.pk)
    if resolution.state is ApprovalState.APPROVED:
        approval_gate().void(resolution.request_id, refusal.message)
    refs = {"invocation": str(call.pk), "request": str(resolution.request_id)}
    events = [
        Event("approval.voided", ACTOR, {"tool": call.tool, "reason": refusal.message}, refs),
        Event("call.refused", ACTOR, {"tool": call.tool, "code": refusal.code}, refs, {"result": refusal.as_json()}),
    ]
    also = [conclude(call.pk, InvocationState.AWAITING_APPROVAL, InvocationState.REFUSED)]
    record(held, events, Took(), also=also)
