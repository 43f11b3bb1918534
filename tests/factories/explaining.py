"""A scripted planner that can also be asked about its own calls."""

from collections.abc import Callable

from agentops.kernel.errors import FailureKind
from agentops.llm.scripted import Script, ScriptedPlanner
from agentops.registry.planner import Answer, PlanContext, PlannerUnavailable, ToolCall, Usage

Said = str | Exception | Callable[[], str]


class ExplainingPlanner(ScriptedPlanner):
    """Answers what its ``answers`` say, one a question; the last one again and again. Exceptions are raised."""

    def __init__(self, script: Script, *answers: Said, usage: Usage | None = None) -> None:
        super().__init__(script, usage=usage)
        self.asked: list[tuple[ToolCall, str]] = []
        self._answers = list(answers)
        self._cost = usage or Usage(model="script")

    def most_micro_to_explain(self, context: PlanContext, call: ToolCall, question: str) -> int:
        """Return the cost of an answer."""
        return self._cost.cost_micro

    def answer(self, context: PlanContext, call: ToolCall, question: str) -> Answer:
        """Give the next answer."""
        self.asked.append((call, question))
        said = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(said, Exception):
            raise said
        return Answer(said() if callable(said) else said, self._cost)


def away(kind: FailureKind = FailureKind.UNAVAILABLE) -> PlannerUnavailable:
    """Return what a planner raises that cannot be reached."""
    return PlannerUnavailable(kind, "The model is away.")
