"""How a session ends that does not reach its own end: from what is on record, without planner and without a call."""

from uuid import UUID

from agentops.registry.planner import FinalAnswer
from agentops.runtime.answers import HANDED_OVER, honest_answer, outcome_of
from agentops.runtime.models import Invocation
from agentops.runtime.session import Folded
from agentops.runtime.states import InvocationState


def honest_end(session_id: UUID, folded: Folded, code: str) -> tuple[FinalAnswer, str]:
    """Return the answer that says what was done, what was blocked and what is left, and the outcome."""
    calls = Invocation.objects.filter(session_id=session_id, state=InvocationState.SUCCEEDED)
    writes = frozenset(calls.values_list("tool", flat=True))
    answer = honest_answer(folded.history, code, writes=writes, handed_over=HANDED_OVER in folded.achieved)
    return answer, outcome_of(folded.achieved)
