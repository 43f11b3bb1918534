"""What a session changed on the platform, what took what back, and what verification said of it (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentops.registry.planner import Observation, ObservationStatus
from sre_agent.undoing import takes_back

ON_SERVICE = (
    "restart_service",
    "halt_restart",
    "scale_service",
    "stop_service",
    "delete_replica",
    "roll_back",
    "run_runbook",
)
ON_NODE = ("drain_node", "uncordon_node")
PLATFORM = (*ON_SERVICE, *ON_NODE)
"""The writes on the platform."""

_SETTLED = (ObservationStatus.OK, ObservationStatus.FAILED)


@dataclass(frozen=True)
class Change:
    """A write on the platform that took effect, or may have: then ``known`` is False.

    ``sound`` is what verify_change said last of its target after it, None when it said nothing. ``takes_back``: it took
    an earlier change back. ``taken_back``: a later one did that with it.
    """

    seen: Observation
    known: bool
    sound: bool | None
    takes_back: bool
    taken_back: bool

    @property
    def tool(self) -> str:
        """The tool that made it."""
        return self.seen.tool

    @property
    def target(self) -> str:
        """What it changed, as verify_change names it."""
        return target_of(self.seen.arguments)

    def is_taken_back_by(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call would take it back: one that took something back itself is not taken back."""
        return self.known and not (self.takes_back or self.taken_back) and _undoes(tool, arguments, self.seen)


def changes_of(history: Sequence[Observation]) -> list[Change]:
    """Return the changes of a session in their order. An outcome that became known later counts as what it was."""
    made = [(at, seen) for at, seen in enumerate(history) if seen.tool in PLATFORM and _happened(history, at, seen)]
    backs, undone = _pairs([seen for _, seen in made])
    return [
        Change(
            seen=seen,
            known=seen.status is ObservationStatus.OK,
            sound=_sound(history[at + 1 :], target_of(seen.arguments)),
            takes_back=number in backs,
            taken_back=number in undone,
        )
        for number, (at, seen) in enumerate(made)
    ]


def target_of(arguments: Mapping[str, Any]) -> str:
    """Return what a call changes: ``service:NAME`` or ``node:NAME``."""
    return f"node:{arguments['node']}" if "node" in arguments else f"service:{arguments['service']}"


def _happened(history: Sequence[Observation], at: int, seen: Observation) -> bool:
    if seen.status is not ObservationStatus.UNKNOWN:
        return seen.status is ObservationStatus.OK
    later = (each for each in history[at + 1 :] if each.tool == seen.tool and each.status in _SETTLED)
    return all(each.arguments != seen.arguments for each in later)


def _pairs(made: Sequence[Observation]) -> tuple[frozenset[int], frozenset[int]]:
    """Return which changes took an earlier one back, and which were taken back, by their numbers."""
    backs, undone = set(), set()
    for number, seen in enumerate(made):
        for earlier in range(number - 1, -1, -1):
            free = earlier not in backs and earlier not in undone
            if free and _undoes(seen.tool, seen.arguments, made[earlier]):
                backs.add(number)
                undone.add(earlier)
                break
    return frozenset(backs), frozenset(undone)


def _undoes(tool: str, arguments: Mapping[str, Any], earlier: Observation) -> bool:
    if earlier.status is not ObservationStatus.OK:
        return False
    return takes_back(tool, arguments, of=earlier.tool, made=earlier.arguments, result=earlier.result)


def _sound(since: Sequence[Observation], target: str) -> bool | None:
    for seen in reversed(since):
        told = seen.tool == "verify_change" and seen.status is ObservationStatus.OK
        if told and seen.result["target"] == target:
            return bool(seen.result["sound"])
    return None
