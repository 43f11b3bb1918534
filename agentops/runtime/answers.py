"""What a session says at its end, from what is on record rather than from what a planner claims (pure)."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentops.kernel.errors import IncidentCode
from agentops.registry.planner import FinalAnswer, Observation, ObservationStatus, PlanContext, ToolCall, Turn, Usage

HANDED_OVER = "escalated"
OUTCOMES = (HANDED_OVER, "resolved", "refunded", "changed", "answered")
"""What a session can have achieved; the first that holds is shown, since it is what somebody must act on."""


def outcome_of(achieved: set[str]) -> str:
    """Return the outcome of a session whose successful calls had these outcomes."""
    return next((outcome for outcome in OUTCOMES if outcome in achieved), "no action")


def honest_answer(
    history: Sequence[Observation], code: str, *, writes: frozenset[str], handed_over: bool
) -> FinalAnswer:
    """Return the answer of a session that was stopped: what was done, what was blocked, what is left.

    ``writes`` names the tools that change something.
    """
    ending = "The work was handed to a person." if handed_over else "The work could not be handed over."
    done = tuple(f"{o.tool} was done." for o in history if o.status is ObservationStatus.OK and o.tool in writes)
    blocked = tuple(
        f"{o.tool or 'a proposal'}: {_words(o.result)}" for o in history if o.status is not ObservationStatus.OK
    )
    return FinalAnswer(
        message=f"{IncidentCode(code).words} {ending}",
        verified=done,
        blocked=blocked[-5:],
        left=("A person has to look at this and finish it.",),
    )


def _words(result: Any) -> str:
    return str(result.get("message", "")) if isinstance(result, Mapping) else str(result)


class Closing:
    """The planner of a session that is being stopped: hand over to a person once, then answer."""

    name = "runtime"

    def __init__(self, code: str, handover: tuple[str, Mapping[str, Any]]) -> None:
        self._code = code
        self._tool, self._arguments = handover

    def most_micro(self, context: PlanContext) -> int:
        """Return 0: nothing is paid for."""
        return 0

    def propose(self, context: PlanContext) -> Turn:
        """Propose the role's handover if it was not tried yet, then the honest answer."""
        usage = Usage(model=self.name)
        tried = any(o.tool == self._tool and o.arguments == dict(self._arguments) for o in context.history)
        if not tried and any(tool.name == self._tool for tool in context.tools):
            words = IncidentCode(self._code).words
            return Turn(ToolCall(self._tool, dict(self._arguments), f"Stopped: {words}"), usage)
        writes = frozenset(tool.name for tool in context.tools if tool.is_write)
        handed_over = any(o.tool == self._tool and o.status is ObservationStatus.OK for o in context.history)
        return Turn(honest_answer(context.history, self._code, writes=writes, handed_over=handed_over), usage)
