"""What people do during a drill: begin work by hand, settle calls of unknown outcome, and close breakers."""

from contextlib import suppress

from django.db import connection

from agentops.agents.models import Agent
from agentops.chaos.drilled import SPEC
from agentops.chaos.gate import PERSON
from agentops.chaos.queries import unbegun
from agentops.gateway.breaker import BreakerState
from agentops.gateway.breakers import NothingToReset, reset_breaker
from agentops.gateway.models import Breaker
from agentops.kernel.clock import utcnow
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import start_session
from agentops.runtime.reconciling import CannotReconcile, ask_again, can_be_asked, settle_by_person
from agentops.runtime.states import InvocationState, SessionStatus

_AT_THE_DESK = 7_001
"""The advisory lock of whoever begins work by hand, which ends with its process: nobody begins the same twice."""


def begin_by_hand(limit: int) -> int:
    """Start sessions on work that no intake takes, as a web process would, and return how many."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_AT_THE_DESK])
        if not cursor.fetchone()[0]:
            return 0
        try:
            pieces = list(unbegun().filter(by_hand=True).order_by("ref")[:limit])
            for piece in pieces:
                agent = Agent.objects.get(tenant_id=piece.tenant_id)
                start_session(agent=agent, subject_id=piece.ref, actor=PERSON)
            return len(pieces)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_AT_THE_DESK])


def settle_unknown(limit: int) -> int:
    """Find out what became of every second call of unknown outcome, by asking or by looking, and return how many."""
    unknown = Invocation.objects.filter(state=InvocationState.UNKNOWN).order_by("id")
    return sum(_settle(call) for call in unknown[:limit] if call.pk.int % 2)


def _settle(call: Invocation) -> bool:
    with suppress(CannotReconcile):
        if can_be_asked(call):
            ask_again(invocation_id=call.pk, actor=PERSON)
        else:
            subject = Session.objects.values_list("subject_id", flat=True).get(pk=call.session_id)
            seen = SPEC.made(SPEC.action(call.tool, call.arguments, subject))
            evidence = "The other side's log has it." if seen else "The other side's log does not have it."
            settle_by_person(invocation_id=call.pk, actor=PERSON, happened=seen, evidence=evidence)
        return True
    return False


def hurry() -> None:
    """Close breakers that are open, as an operator does who knows that the other side is there, and wake who sleeps."""
    for breaker_id in Breaker.objects.filter(state=BreakerState.OPEN).values_list("pk", flat=True):
        with suppress(NothingToReset):
            reset_breaker(breaker_id=breaker_id, actor=PERSON)
    Session.objects.filter(status=SessionStatus.SLEEPING).update(wake_at=utcnow())
