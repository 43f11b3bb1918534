"""Which tools a session is not shown yet, by the phases of its role.

Each observation is looked at once, so a step costs the same at the three hundredth as at the first, and nothing is
asked of the database.
"""

from collections.abc import Mapping, Sequence

from agentops.gateway.prepare import Refusal
from agentops.registry.phase import Phase, withheld_by
from agentops.registry.planner import Observation, ObservationStatus

NOT_YET = "NOT_YET"
"""The code of the refusal of a call whose time has not come: what it needs was not read, or its answer is not due."""

_NOTHING: Mapping[str, Refusal] = {}


class Exposure:
    """What a role's phases withhold after a history. Follows the history of one session, which only grows."""

    def __init__(self, phases: Sequence[Phase]) -> None:
        self._phases = phases
        self._needs = {need for phase in phases for need in phase.needs}
        self._succeeded: set[str] = set()
        self._followed = 0
        self._withheld = self._refusals() if phases else _NOTHING

    def follow(self, history: Sequence[Observation]) -> Mapping[str, Refusal]:
        """Return the tools that are withheld after ``history``, each with how a call of it is refused."""
        if not self._withheld:
            return self._withheld
        fresh = {seen.tool for seen in history[self._followed :] if seen.status is ObservationStatus.OK}
        self._followed = len(history)
        learned = (fresh & self._needs) - self._succeeded
        if learned:
            self._succeeded |= learned
            self._withheld = self._refusals()
        return self._withheld

    def _refusals(self) -> Mapping[str, Refusal]:
        return {
            tool: Refusal(NOT_YET, why.words, f"Call these first: {', '.join(why.missing)}.")
            for tool, why in withheld_by(self._phases, self._succeeded).items()
        }
