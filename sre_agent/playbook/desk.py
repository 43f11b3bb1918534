"""What the look-ups of a session have told since a step of it (pure)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agentops.kernel.errors import FailureKind
from agentops.registry.offline.looking import CannotKnow, Lookups, NotYetKnown
from agentops.registry.planner import Observation, ObservationStatus, ToolCall
from sre_agent.playbook.facts import (
    Deploy,
    Details,
    Incident,
    Line,
    Node,
    Point,
    Service,
    details_of,
    incident_of,
    moment,
    node_of,
    point_of,
    service_of,
)

LOOKUPS_UNTIL = 32
"""Look-ups are proposed while fewer than this many steps are taken, so that every session ends."""
MINUTES = 60
HOURS = 72

_LAPSES = frozenset(kind.value for kind in FailureKind if kind.retryable)

Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class Desk:
    """Answers from the history of a session after its first ``since`` steps. Raises NotYetKnown and CannotKnow."""

    history: Sequence[Observation]
    granted: frozenset[str]
    since: int = 0

    def after(self, step: int) -> "Desk":
        """Return the desk for which only what was told after ``step`` steps counts."""
        return Desk(self.history, self.granted, step)

    def incident(self) -> Incident:
        """Return the incident as it was read last, whenever that was."""
        seen = self.times("read_incident")
        if seen:
            return _parsed(incident_of, seen[-1].result)
        return self._told("read_incident", {}, incident_of)

    def read_again(self) -> None:
        """Ask for the incident once more."""
        raise NotYetKnown(ToolCall("read_incident", {}))

    def times(self, tool: str) -> list[Observation]:
        """Return the answers of a tool since then, the earliest first."""
        rows = self.history[self.since :]
        return [seen for seen in rows if seen.tool == tool and seen.status is ObservationStatus.OK]

    def services(self) -> dict[str, Service]:
        """Return every service by name."""
        told = self._told("list_services", {}, lambda result: [service_of(each) for each in result["services"]])
        return {service.ref: service for service in told}

    def lines(self, service: str) -> tuple[Line, ...]:
        """Return the latest lines of a service's log, the latest first."""
        asked = {"service": service, "minutes": 60}
        return self._told(
            "read_logs",
            asked,
            lambda told: tuple(Line(moment(each["at"]), each["level"], each["text"]) for each in told["lines"]),
        )

    def points(self, service: str) -> tuple[Point, ...]:
        """Return how a service did, the earliest first."""
        asked = {"service": service, "minutes": MINUTES}
        points = self._told("read_metrics", asked, lambda told: tuple(point_of(each) for each in told["points"]))
        if not points:
            raise CannotKnow(f"there are no metrics of {service}")
        return points

    def deploys(self, service: str) -> tuple[Deploy, ...]:
        """Return what was deployed of a service, the latest first."""
        return self._told(
            "list_deploys",
            {"service": service, "hours": HOURS},
            lambda told: tuple(Deploy(each["release"], moment(each["at"]), each["by"]) for each in told["deploys"]),
        )

    def releases(self, service: str) -> tuple[Deploy, ...]:
        """Return the releases that the platform keeps of a service, the latest first."""
        return self._told(
            "describe_service",
            {"service": service},
            lambda told: tuple(Deploy(each["release"], moment(each["at"]), each["by"]) for each in told["releases"]),
        )

    def details(self, service: str) -> Details:
        """Return what else is known of a service."""
        return self._told("describe_service", {"service": service}, details_of)

    def nodes(self) -> tuple[Node, ...]:
        """Return every node."""
        return self._told("list_nodes", {}, lambda told: tuple(node_of(each) for each in told["nodes"]))

    def verdict(self, target: str) -> tuple[bool, tuple[str, ...]]:
        """Return whether what had to hold after the last write on a target does, and else why it does not."""
        asked = {"target": target}
        return self._told("verify_change", asked, lambda told: (bool(told["sound"]), tuple(told["problems"])))

    def runbooks(self) -> frozenset[str]:
        """Return the names of the procedures that may be run."""
        return self._told("list_runbooks", {}, lambda told: frozenset(each["runbook"] for each in told["runbooks"]))

    def levels(self) -> tuple[int, ...]:
        """Return the levels at which somebody is on call, the first one first."""
        return self._told("list_on_call", {}, lambda told: tuple(sorted({each["level"] for each in told["people"]})))

    def _told(self, tool: str, asked: dict[str, Any], parse: Callable[[Any], Parsed]) -> Parsed:
        rows = _without_lapse(self.history[self.since :], tool, asked)
        lookups = Lookups(rows, self.granted, LOOKUPS_UNTIL - self.since)
        return _parsed(parse, lookups.told(tool, asked))


def _without_lapse(rows: Sequence[Observation], tool: str, asked: dict[str, Any]) -> Sequence[Observation]:
    """Return the rows without the first failure of a look-up that may succeed later: it is asked once more."""
    for number, seen in enumerate(rows):
        if seen.tool == tool and seen.arguments == asked and seen.status is ObservationStatus.FAILED:
            code = seen.result.get("code") if isinstance(seen.result, dict) else None
            return [*rows[:number], *rows[number + 1 :]] if code in _LAPSES else rows
    return rows


def _parsed(parse: Callable[[Any], Parsed], result: Any) -> Parsed:
    try:
        return parse(result)
    except (KeyError, TypeError, ValueError) as error:
        raise CannotKnow("an answer did not have the form that was agreed on") from error
