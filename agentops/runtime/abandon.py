"""The last resort: ending a session that loses its worker even while it is handed to a person."""

from django.db import transaction

from agentops.gateway.prepare import Refusal
from agentops.ledger.append import Event
from agentops.registry.planner import Turn, Usage
from agentops.runtime.ending import honest_end
from agentops.runtime.models import Invocation
from agentops.runtime.record import Took, end, record, usage_facts
from agentops.runtime.retiring import awaiting, left_unknown, retire
from agentops.runtime.session import Held
from agentops.runtime.states import InvocationState, SessionStatus

ACTOR = "runtime"


@transaction.atomic
def abandon(held: Held, code: str) -> None:
    """Stop the session with ``code``, from what is on record, without role, planner or tool. Raises StaleStream."""
    intended = Invocation.objects.filter(session_id=held.id, state=InvocationState.INTENDED).first()
    if intended is not None:
        event, concluded = left_unknown(intended, "The program stopped during the call, again and again.")
        record(held, [event], Took(), also=[concluded])
    pending = awaiting(held.id)
    if pending is not None:
        words = "The session could not go on after the approval."
        retire(held, pending, Refusal("NOT_CONTINUED", words, "A person must do it."))
    answer, outcome = honest_end(held.id, held, code)
    payload = {"answer": answer.as_json(), "context": {"history": len(held.history)}}
    facts = {"outcome": outcome, "code": code, **usage_facts(Turn(answer, Usage(model=ACTOR)))}
    event = Event("session.stopped", ACTOR, facts, {}, payload)
    end(held, event=event, took=Took(), status=SessionStatus.STOPPED, stop_code=code, outcome=outcome)
