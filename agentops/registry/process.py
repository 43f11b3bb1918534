"""Processes as explicit state charts: what a role declares, and which step may come next (pure).

A planner proposes calls; a call of a tool that stands on an edge of a process is let through only when the
session's instance of that process is in the edge's source state and the edge's guard holds.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentops.registry.planner import Observation, ObservationStatus

Guard = Callable[["ProcessFacts"], str]
"""Returns "" when the step may be taken, otherwise why not, as a sentence for the planner and for a person."""


@dataclass(frozen=True)
class ProcessFacts:
    """What a guard may look at: the proposed arguments, and the session's earlier steps."""

    arguments: Mapping[str, Any]
    history: Sequence[Observation]

    def told(self, tool: str) -> Iterator[Mapping[str, Any]]:
        """Yield what the successful calls of ``tool`` returned, the latest first."""
        for seen in reversed(self.history):
            if seen.tool == tool and seen.status is ObservationStatus.OK:
                yield seen.result


def outcomes_known(hand_over: str, work: str) -> Guard:
    """Return the guard that every write came to a known end, or that ``hand_over`` gave the ``work`` to a person."""

    def guard(facts: ProcessFacts) -> str:
        unknown = [seen.tool for seen in facts.history if seen.status is ObservationStatus.UNKNOWN]
        if unknown and next(facts.told(hand_over), None) is None:
            return f"Nobody knows yet what became of {unknown[-1]}; hand the {work} over before the customer is told."
        return ""

    return guard


@dataclass(frozen=True)
class Edge:
    """A step from one state to another: a successful call of ``tool``."""

    name: str
    source: str
    target: str
    tool: str
    guard: Guard | None = None
    guard_words: str = ""


@dataclass(frozen=True)
class ProcessSpec:
    """One process. It starts in ``initial`` with the session's first call of one of its tools.

    ``final`` are the states in which it may end: a session that stops there leaves nothing half done. A final state
    may have a way out, because a customer who was told can be told again.
    ``compensates``: when a step fails for good after others have taken effect, those are undone in reverse order.
    ``version`` grows with every change of states or edges; an instance keeps to the version it began with.
    """

    name: str
    version: int
    title: str
    initial: str
    final: frozenset[str]
    edges: tuple[Edge, ...]
    compensates: bool = True

    @property
    def tools(self) -> frozenset[str]:
        """The tools that this process governs."""
        return frozenset(edge.tool for edge in self.edges)

    @property
    def states(self) -> tuple[str, ...]:
        """Every state, in the order in which the edges name them."""
        named = [self.initial, *(state for edge in self.edges for state in (edge.source, edge.target))]
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True)
class Step:
    """An admissible step of a process that stands in ``edge.source``."""

    process: ProcessSpec
    edge: Edge


@dataclass(frozen=True)
class Inadmissible:
    """Why a call may not be made now, and what may: names of tools."""

    words: str
    possible: tuple[str, ...]


def next_step(process: ProcessSpec, state: str, tool: str, facts: ProcessFacts) -> Step | Inadmissible:
    """Return the step that a call of ``tool`` would be in ``state``. A guard that raises does not hold."""
    edges = [edge for edge in process.edges if edge.source == state]
    possible = tuple(dict.fromkeys(edge.tool for edge in edges))
    refusals = []
    for edge in edges:
        if edge.tool != tool:
            continue
        problem = _problem(edge, facts)
        if not problem:
            return Step(process, edge)
        refusals.append(problem)
    words = refusals[0] if refusals else f"{process.title} stands at {state!r}, where {tool} is no step."
    return Inadmissible(words, possible)


def _problem(edge: Edge, facts: ProcessFacts) -> str:
    if edge.guard is None:
        return ""
    try:
        return edge.guard(facts)
    except Exception as error:  # noqa: BLE001 - a guard of a role that fails must not let the step through
        return f"The guard of {edge.name!r} failed: {type(error).__name__}."


def problems_of_process(process: ProcessSpec) -> Iterator[str]:
    """Yield what is wrong with a state chart: states that lead nowhere, cannot be reached, or are named twice."""
    names = [edge.name for edge in process.edges]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two edges are named {name!r}"
    for state in sorted(process.final - set(process.states)):
        yield f"the final state {state!r} stands on no edge"
    reached, frontier = {process.initial}, [process.initial]
    while frontier:
        state = frontier.pop()
        for edge in process.edges:
            if edge.source == state and edge.target not in reached:
                reached.add(edge.target)
                frontier.append(edge.target)
    for state in process.states:
        if state not in reached:
            yield f"the state {state!r} cannot be reached"
        leads_on = any(edge.source == state for edge in process.edges)
        if state not in process.final and not leads_on:
            yield f"the state {state!r} has no way out and is not final"
