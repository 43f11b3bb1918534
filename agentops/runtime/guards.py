"""When a session must stop before its planner is done: budgets, circles and back-off (pure).

What happens to a planner that goes in circles, in this order:

1. The repetition is refused, with code ``REPEATED`` and the result that is already known (``Progress.repeats``).
2. The planner reads that refusal as it reads every result, and has the chance to try another strategy.
3. When it does not, the session stops (``Progress.problem``): the work is handed over to a person, and the
   answer says honestly what was done and what was not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from math import ceil
from typing import Any

from agentops.kernel.canonical import fingerprint_bytes
from agentops.kernel.errors import IncidentCode
from agentops.registry.planner import Observation, ObservationStatus

MAX_IDENTICAL = 3
MOST_EQUAL_REFUSALS = 3
MOST_REFUSALS_IN_A_ROW = 6
MOST_MALFORMED_IN_A_ROW = 2
MOST_EQUAL_OUTPUTS = 3
NO_PROGRESS_STEPS = 12
MOST_ATTEMPTS = 3
MOST_LOST_WORKERS = 5
WARN_AT = (50, 80)
JITTER = 0.25
MOST_WAIT_SECONDS = 10 * 60
MOST_WAITS_SECONDS = 30 * 60

REPEATED = "REPEATED"
"""The code of the refusal of a call that has already given the same result too often."""

_TURNED_DOWN = (ObservationStatus.REFUSED, ObservationStatus.REJECTED, ObservationStatus.EXPIRED)


@dataclass(frozen=True)
class Limits:
    """The budget of the agent's version: steps, seconds of the session's own work, micro-dollars, tokens in and out.

    ``max_identical`` is how often one call may give the same result.
    """

    max_steps: int
    max_seconds: int
    max_cost_micro: int
    max_tokens: int
    max_identical: int = MAX_IDENTICAL


class Budget(StrEnum):
    """What a session can run out of; the ``kind`` of a ``budget.warned`` event."""

    STEPS = "steps"
    TIME = "time"
    COST = "cost"
    TOKENS = "tokens"


@dataclass(frozen=True)
class Used:
    """The counters of a session at one moment. ``tokens`` are input and output together."""

    steps: int = 0
    worked_ms: int = 0
    cost_micro: int = 0
    tokens: int = 0


def over_budget(limits: Limits, *, steps: int, worked_ms: int, cost_micro: int, tokens: int) -> IncidentCode | None:
    """Return the budget that is used up, or None. Checked before each step, so one step may overrun."""
    if steps >= limits.max_steps:
        return IncidentCode.BUDGET_STEPS
    if worked_ms >= limits.max_seconds * 1000:
        return IncidentCode.BUDGET_TIME
    if cost_micro >= limits.max_cost_micro:
        return IncidentCode.BUDGET_COST
    if tokens >= limits.max_tokens:
        return IncidentCode.BUDGET_TOKENS
    return None


def warnings(limits: Limits, before: Used, after: Used) -> list[tuple[Budget, int]]:
    """Return which of 50 and 80 percent of which budget lie between two moments, each as (budget, percent)."""
    rows = (
        (Budget.STEPS, limits.max_steps, before.steps, after.steps),
        (Budget.TIME, limits.max_seconds * 1000, before.worked_ms, after.worked_ms),
        (Budget.COST, limits.max_cost_micro, before.cost_micro, after.cost_micro),
        (Budget.TOKENS, limits.max_tokens, before.tokens, after.tokens),
    )
    return [
        (budget, percent)
        for budget, limit, was, now in rows
        for percent in WARN_AT
        if was * 100 < limit * percent <= now * 100
    ]


class Progress:
    """Whether a session gets anywhere, one observation at a time.

    A step costs the same however long the session is: each observation is looked at once. Folding a stream's
    observations in order gives the same state as having seen them live.
    """

    def __init__(self, *, max_identical: int = MAX_IDENTICAL) -> None:
        self._max_identical = max_identical
        self._malformed = 0
        self._turned_down = 0
        self._unknown: set[bytes] = set()
        self._refused: dict[bytes, int] = {}
        self._most_refused = 0
        self._seen: dict[bytes, int] = {}
        self._most_seen: dict[bytes, int] = {}
        self._told: set[bytes] = set()
        self._ignored = False
        self._output = ""
        self._equal_outputs = 0
        self._results: set[bytes] = set()
        self._flat = 0

    def see(self, observation: Observation, output: str = "", *, wrote: bool = False) -> None:
        """Take in the next observation of the session.

        ``output`` is the hex digest of what the planner said for that step, "" when that is not known or a person
        proposed it. ``wrote`` says that the call took effect somewhere, which is progress whatever it returned.
        """
        call, result = (
            _fingerprint(observation.tool, observation.arguments),
            _digest(fingerprint_bytes(observation.result)),
        )
        turned_down = observation.status in _TURNED_DOWN
        self._turned_down = self._turned_down + 1 if turned_down else 0
        self._malformed = self._malformed + 1 if turned_down and not observation.tool else 0
        if turned_down:
            if observation.tool:
                self._see_refusal(call, observation.result)
        else:
            self._see_result(call, result, observation.status)
        self._equal_outputs = self._equal_outputs + 1 if output and output == self._output else int(bool(output))
        self._output = output
        is_new = observation.status is ObservationStatus.OK and (wrote or result not in self._results)
        self._flat = 0 if is_new else self._flat + 1
        if is_new:
            self._results.add(result)

    def _see_refusal(self, call: bytes, result: Any) -> None:
        count = self._refused[call] = self._refused.get(call, 0) + 1
        self._most_refused = max(self._most_refused, count)
        if isinstance(result, Mapping) and result.get("code") == REPEATED:
            self._ignored = self._ignored or call in self._told
            self._told.add(call)

    def _see_result(self, call: bytes, result: bytes, status: ObservationStatus) -> None:
        if status is ObservationStatus.UNKNOWN:
            self._unknown.add(call)
            return
        # The key of a call of unknown outcome is taken, so a second outcome is what was found out about the first.
        self._unknown.discard(call)
        count = self._seen[call + result] = self._seen.get(call + result, 0) + 1
        self._most_seen[call] = max(self._most_seen.get(call, 0), count)

    def repeats(self, tool: str, arguments: Any) -> bool:
        """Return True when this call has given one and the same result ``max_identical`` times already.

        ``arguments`` as they are recorded. The times need not follow one another.
        """
        return self._most_seen.get(_fingerprint(tool, arguments), 0) >= self._max_identical

    def problem(self) -> IncidentCode | None:
        """Return why the session has to stop now, or None."""
        if self._malformed >= MOST_MALFORMED_IN_A_ROW:
            return IncidentCode.MODEL_MALFORMED
        if self._ignored:
            return IncidentCode.LOOP_REPEATED
        if self._turned_down >= MOST_REFUSALS_IN_A_ROW:
            return IncidentCode.LOOP_REFUSED
        if self._unknown:
            return IncidentCode.OUTCOME_UNKNOWN
        if self._equal_outputs >= MOST_EQUAL_OUTPUTS:
            return IncidentCode.LOOP_SAME_OUTPUT
        if self._most_refused >= MOST_EQUAL_REFUSALS:
            return IncidentCode.LOOP_REFUSED
        if self._flat >= NO_PROGRESS_STEPS:
            return IncidentCode.NO_PROGRESS
        return None


def _fingerprint(tool: str, arguments: Any) -> bytes:
    return _digest(tool.encode("utf-8", "backslashreplace") + b"\x00" + fingerprint_bytes(arguments))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def wait_seconds(after: float, *, waited: int) -> int | None:
    """Return for how many whole seconds to wait for an answer that is due in ``after`` seconds, None for no longer.

    One wait takes at most ten minutes; ``waited`` are the seconds of the waits of the same call before, and all of them
    together take at most thirty minutes.
    """
    left = MOST_WAITS_SECONDS - waited
    return None if left <= 0 else min(max(1, ceil(after)), MOST_WAIT_SECONDS, left)


def backoff_seconds(attempt: int, *, retry_after: float | None, jitter: float) -> float:
    """Return how long to wait before attempt ``attempt + 1``: 2, 4, 8 … s, ± 25 % by ``jitter`` in [0, 1).

    ``retry_after`` of the other side counts when it is longer, up to ten minutes.
    """
    base = min(2.0**attempt, 60.0) * (1 - JITTER + 2 * JITTER * jitter)
    return min(max(base, retry_after or 0.0), 600.0)
