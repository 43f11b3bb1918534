"""The writes on the platform that were proposed in a session, and what became of them (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agentops.registry.offline.attempts import Attempt
from agentops.registry.offline.outcomes import Change
from agentops.registry.planner import Observation, ObservationStatus
from sre_agent.playbook.remedies import ACTS, opposite, target_of


class End(StrEnum):
    """What became of a write."""

    DONE = "done"
    CHANGED = "changed"
    UNKNOWN = "unknown"
    NOT_DONE = "not done"


@dataclass(frozen=True)
class Move:
    """A write on the platform. ``after`` is how many steps had been taken when it ended."""

    seen: Observation
    after: int
    takes_back: bool

    @property
    def target(self) -> str:
        """What it is about, as ``verify_change`` names it."""
        return target_of(self.seen.arguments)

    @property
    def end(self) -> End:
        """What became of it. CHANGED: somebody else has changed what it is about."""
        match self.seen.status:
            case ObservationStatus.OK:
                return End.DONE
            case ObservationStatus.UNKNOWN:
                return End.UNKNOWN
        return End.CHANGED if _code(self.seen) == "CONFLICT" else End.NOT_DONE

    @property
    def words(self) -> str:
        """Why it was not done, for a person."""
        told = {
            ObservationStatus.REJECTED: "A person rejected it.",
            ObservationStatus.EXPIRED: "Nobody decided about it in time.",
            ObservationStatus.REFUSED: "It was refused.",
            ObservationStatus.FAILED: "It failed without effect.",
            ObservationStatus.UNKNOWN: "Nobody can say whether it took effect.",
        }
        return told.get(self.seen.status, "")


def moves_of(history: Sequence[Observation]) -> list[Move]:
    """Return the writes on the platform in their order; one that a person changed counts as what became of it."""
    found: list[Move] = []
    for number, seen in enumerate(history, start=1):
        if seen.tool not in ACTS or seen.is_edited or not isinstance(seen.arguments, Mapping):
            continue
        found.append(Move(seen, number, _takes_back(seen.tool, seen.arguments, found)))
    return found


def _takes_back(tool: str, arguments: Mapping[str, Any], earlier: Sequence[Move]) -> bool:
    if not earlier or earlier[-1].end is not End.DONE:
        return False
    back = opposite(earlier[-1].seen)
    return back is not None and (tool, dict(arguments)) == back


def attempt(move: Move) -> Attempt:
    """Return the write as the words at the end take it."""
    arguments = dict(move.seen.arguments)
    about = f"{move.seen.tool} of {move.target.partition(':')[2]}"
    return Attempt(Change(move.seen.tool, arguments, about, f"{about} was carried out"), move.seen)


def _code(seen: Observation) -> str:
    return str(seen.result.get("code", "")) if isinstance(seen.result, Mapping) else ""
