"""How a fault drill works the role: by a planner of scripts, in charts that take back, on a way that fails."""

from collections.abc import Callable
from dataclasses import replace

from agentops.kernel.errors import FailureKind
from agentops.registry.planner import (
    FinalAnswer,
    ObservationStatus,
    OfflinePlaybook,
    PlanContext,
    Proposal,
    ToolCall,
)
from agentops.registry.tool import Arguments, CallContext, OutcomeUnknown, Result, ToolFailure, ToolSpec
from billing_agent.drill.scripts import SCRIPTS, steps_of
from billing_agent.models import Case
from billing_agent.processes import COLLECTION, PLAN_CHANGE, REFUND

HAND_OVER = "escalate_case"
_FAILURES = {
    "busy": FailureKind.RATE_LIMIT,
    "down": FailureKind.UNAVAILABLE,
    "refused": FailureKind.VALIDATION,
}

# A billing desk takes nothing back by itself: each wish stands alone. Here a case is one wish, so that taking back is
# drilled as well: what was given is told, what was billed is charged, what was changed is ended.
PROCESSES = (
    replace(REFUND, final=frozenset({"told"}), compensates=True),
    replace(COLLECTION, final=frozenset({"tried"}), compensates=True),
    replace(PLAN_CHANGE, final=frozenset({"ended"}), compensates=True),
)
_STEPS = frozenset(tool for process in PROCESSES for tool in process.tools)


class ScriptPlanner(OfflinePlaybook):
    """Proposes the steps of the case's script, then ends. After anything went wrong it hands over.

    It does not when a step has taken effect: then it just ends, so that what was done has to be taken back.
    """

    def next_of(self, context: PlanContext) -> Proposal:
        """Return what follows from the history alone, so that another worker proposes the same."""
        # A step that a person changed is told of twice: that it was changed, and what became of it.
        history = [seen for seen in context.history if not seen.is_edited]
        steps = list(steps_of(context.subject.title, context.subject.id))
        done = {seen.tool for seen in history if seen.status is ObservationStatus.OK}
        failed = any(seen.status is not ObservationStatus.OK for seen in history)
        if HAND_OVER in done or (len(history) >= len(steps) and not failed):
            return FinalAnswer("Done.")
        if failed and done & _STEPS:
            return FinalAnswer("The case cannot be finished.")
        if failed:
            words = {"reason": "A step did not work.", "summary": "Nothing was done."}
            return ToolCall(HAND_OVER, words, "A step did not work.")
        tool, arguments = steps[len(history)]
        return ToolCall(tool, arguments, "The next step of the script.")

    def explained(self, context: PlanContext, call: ToolCall) -> str:
        """Return that it is the script's."""
        return call.rationale


def failing(tool: ToolSpec, attempts: Callable[[str], int]) -> ToolSpec:
    """Return the tool on a way that fails as the case's script says. ``attempts`` counts how often it was tried."""
    if not tool.is_write:
        return tool

    def run(context: CallContext, arguments: Arguments) -> Result:
        word = _word(context, tool.name, attempts)
        if word in _FAILURES:
            raise ToolFailure(_FAILURES[word], "The call did not come through.", retry_after=0.1)
        if word == "broken_before":
            raise OutcomeUnknown("There was no answer.")
        result = tool.run(context, arguments)
        if word == "broken_after":
            raise OutcomeUnknown("There was no answer.")
        return result

    return replace(tool, run=run)


def _word(context: CallContext, tool: str, attempts: Callable[[str], int]) -> str:
    """Return how this attempt fails, empty when it does not."""
    case = Case.objects.values_list("subject", flat=True).get(tenant_id=context.tenant_id, ref=context.subject_id)
    words = SCRIPTS[case].faults.get(tool, "").split()
    attempt = attempts(f"{context.subject_id}:{tool}") if words else 0
    return words[attempt - 1] if 1 <= attempt <= len(words) else ""
