"""Phases of a role's work: which tools are exposed only after others have answered (pure).

A process says which call is the next step; a phase says which tools are not even offered yet. A planner that has not
looked cannot propose to act, and is told what it has to look at when it tries.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """Tools that are withheld from a session until each read in ``needs`` has succeeded in it.

    ``words`` say why, as a sentence for the planner and for a person. A tool of several phases needs what all of them
    need.
    """

    name: str
    title: str
    tools: frozenset[str]
    needs: tuple[str, ...]
    words: str


@dataclass(frozen=True)
class Withheld:
    """Why a tool is not exposed yet, and the reads that are missing, in the order of the role's phases."""

    words: str
    missing: tuple[str, ...]


def withheld_by(phases: Sequence[Phase], succeeded: Collection[str]) -> dict[str, Withheld]:
    """Return the tools that are not exposed after successful calls of the tools ``succeeded``."""
    found: dict[str, Withheld] = {}
    for phase in phases:
        missing = tuple(need for need in phase.needs if need not in succeeded)
        if not missing:
            continue
        for tool in phase.tools:
            before = found.get(tool)
            if before is None:
                found[tool] = Withheld(phase.words, missing)
            else:
                found[tool] = Withheld(before.words, tuple(dict.fromkeys((*before.missing, *missing))))
    return found


def problems_of_phases(phases: Sequence[Phase], writes: Mapping[str, bool], *, hand_over: str) -> Iterator[str]:
    """Yield what is wrong with a role's phases.

    ``writes`` says of each of its tools whether it writes; ``hand_over`` is the one that must never be withheld.
    """
    names = [phase.name for phase in phases]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two phases are named {name!r}"
    withheld = {tool: phase.name for phase in phases for tool in phase.tools}
    for phase in phases:
        for tool in sorted(phase.tools - writes.keys()):
            yield f"the phase {phase.name!r} withholds {tool!r}, which is no tool"
        if hand_over in phase.tools:
            yield f"the phase {phase.name!r} withholds {hand_over!r}, with which a stopped session is handed over"
        if not (phase.tools and phase.needs and phase.words):
            yield f"the phase {phase.name!r} must name tools, what they need, and why"
        for need in phase.needs:
            if need not in writes:
                yield f"the phase {phase.name!r} needs {need!r}, which is no tool"
            elif writes[need]:
                yield f"the phase {phase.name!r} needs {need!r}, which is a write"
            if need in withheld:
                yield f"the phase {phase.name!r} needs {need!r}, which {withheld[need]!r} withholds"
