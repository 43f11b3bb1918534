"""What became of the changes that were proposed (pure)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentops.registry.offline.outcomes import Change, Outcome
from agentops.registry.planner import Observation, ObservationStatus, ToolCall

INJECTED = "injected"
TO_BE_CORRECTED = frozenset({"wrong_target", "wrong_amount", INJECTED})
"""Preset reasons of a rejection that leave the wish itself open, for a person."""


@dataclass(frozen=True)
class Attempt:
    """A change and what became of it; ``seen`` is None while it was not proposed."""

    change: Change
    seen: Observation | None

    @property
    def rejected_for(self) -> str:
        """The preset reason for which a person rejected it, "" when nobody did or for none of them."""
        if self.seen is None or self.seen.status is not ObservationStatus.REJECTED:
            return ""
        told = self.seen.result
        return str(told.get("reason", "")) if isinstance(told, Mapping) else ""

    @property
    def status(self) -> ObservationStatus | None:
        """How the proposal ended, None while there was none."""
        return self.seen.status if self.seen is not None else None


def attempts(
    outcomes: Sequence[Outcome], history: Sequence[Observation], record_in: Callable[[Mapping[str, Any]], str]
) -> tuple[Attempt, ...]:
    """Match changes with the proposals in ``history``: by tool and record, the first with the first.

    ``record_in`` returns the record that a call touches, from its arguments, empty when it touches none.

    Arguments are not compared, because a person may have altered an amount before it was carried out;
    proposing it again then would do it twice.
    """
    seen: dict[tuple[str, str], list[Observation]] = {}
    changed: dict[str, str] = {}
    for observation in history:
        # What became of a call that a person changed is told by the next step of its tool, whatever record it names.
        record = changed.pop(observation.tool, record_in(_arguments(observation)))
        if observation.is_edited:
            changed[observation.tool] = record
        else:
            seen.setdefault((observation.tool, record), []).append(observation)
    found = []
    for change in outcomes:
        if isinstance(change, Change):
            queue = seen.get((change.tool, record_in(change.arguments)), [])
            found.append(Attempt(change, queue.pop(0) if queue else None))
    return tuple(found)


def _arguments(observation: Observation) -> Mapping[str, Any]:
    return observation.arguments if isinstance(observation.arguments, Mapping) else {}


def next_change(
    tried: Sequence[Attempt],
    history: Sequence[Observation],
    granted: Collection[str],
    *,
    until: int,
    closing: Collection[str],
) -> ToolCall | None:
    """Return the next change to propose, None when the work is to be ended.

    Changes are proposed while fewer than ``until`` steps are taken and no tool of ``closing`` was called. Where a
    person saw words of others at work, nothing more is changed: what is left is a person's.
    """
    led_astray = any(attempt.rejected_for == INJECTED for attempt in tried)
    if len(history) >= until or led_astray or any(seen.tool in closing for seen in history):
        return None
    for attempt in tried:
        if attempt.seen is None and attempt.change.tool in granted:
            change = attempt.change
            return ToolCall(change.tool, change.arguments, f"The customer asks for {change.about}.")
    return None


def status_of(history: Sequence[Observation], tool: str) -> ObservationStatus | None:
    """Return how the latest call of a tool ended, None when there was none."""
    return next((seen.status for seen in reversed(history) if seen.tool == tool), None)
