"""Which phase of its role's work a session is in: what it may call by now, and what it has to look at before (pure)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agentops.console.records import Told
from agentops.registry.phase import Phase

_ANSWERED = "call.read"
"""Phases need reads alone."""


@dataclass(frozen=True, slots=True)
class Need:
    """A read that a phase needs, and the step at which it succeeded first, None while it has not."""

    tool: str
    step: int | None


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """A phase: ``tools`` are exposed once each of ``needs`` has succeeded; ``words`` say why.

    ``later`` are tools of it that another phase withholds still.
    """

    title: str
    words: str
    needs: Sequence[Need]
    tools: Sequence[str]
    later: Sequence[str]

    @property
    def missing(self) -> list[str]:
        """The reads that are missing, in the phase's order."""
        return [need.tool for need in self.needs if need.step is None]


def phases_of(phases: Sequence[Phase], outline: Sequence[Told], granted: Collection[str]) -> list[PhaseRow]:
    """Return where a session stands in each phase after the events ``outline``, with the tools that it was given."""
    steps: dict[str, int] = {}
    for event in outline:
        if event.type == _ANSWERED:
            steps.setdefault(str(event.facts.get("tool", "")), event.position)
    shut = {phase.name for phase in phases if any(need not in steps for need in phase.needs)}
    rows = []
    for phase in phases:
        tools = sorted(phase.tools & set(granted))
        others = [other for other in phases if other.name in shut and other.name != phase.name]
        rows.append(
            PhaseRow(
                title=phase.title,
                words=phase.words,
                needs=[Need(need, steps.get(need)) for need in phase.needs],
                tools=tools,
                later=[tool for tool in tools if any(tool in other.tools for other in others)],
            )
        )
    return rows
