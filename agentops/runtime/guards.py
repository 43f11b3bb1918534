"""When a session must stop before its planner is done (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentops.kernel.canonical import canonical_bytes
from agentops.kernel.errors import IncidentCode
from agentops.registry.planner import Observation, ObservationStatus

MOST_EQUAL_REFUSALS = 3
MOST_REFUSALS_IN_A_ROW = 6
MOST_MALFORMED_IN_A_ROW = 2
MOST_ATTEMPTS = 3
MOST_LOST_WORKERS = 5

_TURNED_DOWN = (ObservationStatus.REFUSED, ObservationStatus.REJECTED, ObservationStatus.EXPIRED)


@dataclass(frozen=True)
class Limits:
    """The budget of the agent's version: steps, seconds of the session's own work, micro-dollars."""

    max_steps: int
    max_seconds: int
    max_cost_micro: int


def over_budget(limits: Limits, *, steps: int, worked_ms: int, cost_micro: int) -> IncidentCode | None:
    """Return the budget that is used up, or None. Checked before each step, so one step may overrun."""
    if steps >= limits.max_steps:
        return IncidentCode.BUDGET_STEPS
    if worked_ms >= limits.max_seconds * 1000:
        return IncidentCode.BUDGET_TIME
    if cost_micro >= limits.max_cost_micro:
        return IncidentCode.BUDGET_COST
    return None


def going_in_circles(history: Sequence[Observation]) -> IncidentCode | None:
    """Return the code when the planner keeps proposing what was turned down, or cannot be read, or None."""
    tail = []
    for observation in reversed(history):
        if observation.status not in _TURNED_DOWN:
            break
        tail.append(observation)
    malformed = 0
    for observation in tail:
        if observation.tool:
            break
        malformed += 1
    if malformed >= MOST_MALFORMED_IN_A_ROW:
        return IncidentCode.MODEL_MALFORMED
    if len(tail) >= MOST_REFUSALS_IN_A_ROW:
        return IncidentCode.LOOP_REFUSED
    if any(o.status is ObservationStatus.UNKNOWN for o in history):
        return IncidentCode.OUTCOME_UNKNOWN
    counts: dict[bytes, int] = {}
    for observation in history:
        if observation.status in _TURNED_DOWN and observation.tool:
            print_ = canonical_bytes([observation.tool, _plain(observation.arguments)])
            counts[print_] = counts.get(print_, 0) + 1
    return IncidentCode.LOOP_REFUSED if max(counts.values(), default=0) >= MOST_EQUAL_REFUSALS else None


def _plain(arguments: object) -> object:
    """Arguments that could not be read stand as text."""
    return arguments if isinstance(arguments, dict) else str(arguments)


def backoff_seconds(attempt: int, *, retry_after: float | None, jitter: float) -> float:
    """Return how long to wait before attempt ``attempt + 1``: 2, 4, 8 … s, ± 25 % by ``jitter`` in [0, 1).

    ``retry_after`` of the other side counts when it is longer, up to ten minutes.
    """
    base = min(2.0**attempt, 60.0) * (0.75 + 0.5 * jitter)
    return min(max(base, retry_after or 0.0), 600.0)
