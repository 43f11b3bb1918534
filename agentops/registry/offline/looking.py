"""Look-ups of a session (pure): what they have told, which one is needed next, and what cannot be known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.registry.planner import Observation, ObservationStatus, ToolCall


class NotYetKnown(Exception):
    """``call`` has to be made before the work can go on."""

    def __init__(self, call: ToolCall) -> None:
        super().__init__(call.tool)
        self.call = call


class CannotKnow(Exception):
    """A look-up was made and told nothing, or none may be made any more. The message is for a person."""


class Unclear(Exception):
    """The words do not name exactly one thing. The message says why, to a person."""


class NotFound(CannotKnow):
    """A look-up was made, and the customer has no such record."""


@dataclass(frozen=True)
class Lookups:
    """Answers from the session's history alone. ``granted`` are the names of the tools that may be proposed.

    Look-ups are proposed while fewer than ``until`` steps are taken, so that what follows has room.
    """

    history: Sequence[Observation]
    granted: frozenset[str]
    until: int

    def told(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Return what a look-up told. Raises NotYetKnown when it has to be made, and CannotKnow."""
        for seen in self.history:
            if seen.tool == tool and seen.arguments == arguments:
                if seen.status is ObservationStatus.OK:
                    return seen.result
                raise _failure(tool, seen)
        if tool not in self.granted:
            raise CannotKnow(f"the agent may not use {tool}")
        if len(self.history) >= self.until:
            raise CannotKnow("there is too much to look up for one session")
        raise NotYetKnown(ToolCall(tool, arguments))


def _failure(tool: str, seen: Observation) -> CannotKnow:
    code = seen.result.get("code") if isinstance(seen.result, dict) else None
    return NotFound(f"{tool} found nothing") if code == FailureKind.NOT_FOUND else CannotKnow(f"{tool} gave no answer")
