"""A planner that follows a script, for tests and benchmarks. Pure."""

from collections.abc import Callable, Sequence
from functools import partial

from agentops.kernel.errors import AgentOpsError
from agentops.registry.planner import PlanContext, PlannerUnavailable, Proposal, Turn, Usage

Line = Proposal | Turn | PlannerUnavailable
Script = Sequence[Line] | Callable[[PlanContext], Line]


class ScriptEnded(AgentOpsError):
    """The session went on after the last line of its script."""

    code = "SCRIPT_ENDED"
    next_step = "End the script with a FinalAnswer."


class ScriptedPlanner:
    """Proposes what its script says.

    A sequence is read by the length of the history: line 0 while nothing has been observed, line 1 after
    one observation, and so on, so that a process that was killed goes on where it stood. A callable is
    given the whole context. A ``PlannerUnavailable`` is raised; a bare proposal costs ``usage``.
    """

    def __init__(self, script: Script, *, name: str = "script", usage: Usage | None = None) -> None:
        self._choose = script if callable(script) else partial(_line, tuple(script))
        self._name = name
        self._usage = usage or Usage(model=name)

    @property
    def name(self) -> str:
        """The name given, ``script`` if none was."""
        return self._name

    def most_micro(self, context: PlanContext) -> int:
        """Return the cost of a bare proposal."""
        return self._usage.cost_micro

    def propose(self, context: PlanContext) -> Turn:
        """Return the line for ``context``. Raises ScriptEnded after the last one."""
        line = self._choose(context)
        if isinstance(line, PlannerUnavailable):
            raise line
        return line if isinstance(line, Turn) else Turn(proposal=line, usage=self._usage)


def _line(script: tuple[Line, ...], context: PlanContext) -> Line:
    position = len(context.history)
    if position >= len(script):
        raise ScriptEnded(f"the script has no line {position}")
    return script[position]
