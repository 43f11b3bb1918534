"""Records of the estate as the JSON that lookups return, with their schemas.

Moments are ISO 8601 in UTC, empty when there is none; shares are parts per thousand, -1 when nobody knows.
"""

from datetime import datetime
from typing import Any

from agentops.kernel.clock import isoformat
from agentops.registry.declare import Schema, closed, integer, listed, text
from sre_agent.connectors.records import Figures, LogLine, Node, OnCall, Point, Release, Service, Verified
from sre_agent.tools.parts import FLAG, OUT_FIGURE, OUT_MAYBE, OUT_MOMENT, OUT_NAME, OUT_STATUS

MOST_SERVICES, MOST_NODES, MOST_REPLICAS = 200, 200, 50
MOST_RELEASES, MOST_LINES, MOST_POINTS = 50, 60, 24
MOST_ALERTS, MOST_NOTES, MOST_PAGES, MOST_DRAFTS, MOST_PEOPLE = 50, 50, 20, 20, 20
MOST_PROBLEMS, MOST_TEXT = 20, 1_000
NOT_KNOWN = -1

_TOOL_OF = {
    "Restart": "restart_service",
    "HaltRestart": "halt_restart",
    "Scale": "scale_service",
    "Stop": "stop_service",
    "DeleteReplica": "delete_replica",
    "RollBack": "roll_back",
    "RunBook": "run_runbook",
    "Drain": "drain_node",
    "Uncordon": "uncordon_node",
}
"""Operations are recorded under the names of the values of ``connectors.port``."""

_FIGURE_NAMES = ("errors_pm", "latency_ms", "processor_pm", "memory_pm", "disk_pm", "requests")
_FIGURES: dict[str, Schema] = dict.fromkeys(_FIGURE_NAMES, OUT_FIGURE)
_NAMES = listed(OUT_NAME, MOST_SERVICES)
_MAYBE_NAME = text(64, least=0)

RELEASE = closed(
    {
        "release": OUT_NAME,
        "at": OUT_MOMENT,
        "by": text(200, least=0),
        "change": text(MOST_TEXT, "What its author said had changed.", least=0),
    }
)
_SHORT: dict[str, Schema] = {
    "service": OUT_NAME,
    "tier": integer("0 is the most important.", most=9),
    "ready": integer("Replicas that take requests."),
    "desired": integer("Replicas that should run."),
    "rolling": FLAG,
}
_SEEN: dict[str, Schema] = {"seen_version": integer("Name it in a write: it is refused once this has changed.")}
SERVICE = closed({**_SHORT, "release": OUT_NAME, **_FIGURES, "depends_on": _NAMES, **_SEEN})
DESCRIBED = closed(
    {
        **_SHORT,
        "place": text(200, "Cluster and namespace."),
        "releases": listed(RELEASE, MOST_RELEASES, "The latest first."),
        "depends_on": _NAMES,
        "dependants": _NAMES,
        "certificate_ends": OUT_MAYBE,
        "claimed_by": text(64, "Another incident that works on it: nothing can be changed meanwhile.", least=0),
        "frozen": {**FLAG, "description": "Whether a change freeze covers it now: two people are asked."},
        "replicas": listed(
            closed({"replica": OUT_NAME, "node": _MAYBE_NAME, "ready": FLAG, "memory_pm": OUT_FIGURE}), MOST_REPLICAS
        ),
        **_FIGURES,
        **_SEEN,
    }
)
LINE = closed({"at": OUT_MOMENT, "level": text(20, least=0), "replica": _MAYBE_NAME, "text": text(MOST_TEXT, least=0)})
POINT = closed({"at": OUT_MOMENT, **_FIGURES, "ready": OUT_FIGURE})
NODE = closed(
    {
        "node": OUT_NAME,
        "cordoned": FLAG,
        "stolen_pm": integer("Processor time that something else takes; -1 when it is not known.", least=-1),
        "runs": listed(closed({"service": OUT_NAME, "replicas": integer()}), MOST_SERVICES),
        **_SEEN,
    }
)
VERIFIED = closed(
    {
        "target": text(80),
        "tool": text(40, "The write that was looked at."),
        "sound": FLAG,
        "problems": listed(text(500), MOST_PROBLEMS, "What does not hold, in sentences."),
    }
)
PERSON = closed({"person": text(150), "level": integer(least=1, most=3), "until": OUT_MOMENT})
ALERT = closed(
    {
        "alert_id": OUT_NAME,
        "rule": text(200),
        "service": _MAYBE_NAME,
        "priority": integer(most=9),
        "words": text(MOST_TEXT, least=0),
        "times": integer(),
        "began_at": OUT_MOMENT,
        "ended_at": OUT_MAYBE,
        "silenced_until": OUT_MAYBE,
    }
)
INCIDENT = closed(
    {
        "incident_id": OUT_NAME,
        "title": text(300),
        "priority": integer("0 is the most urgent.", most=9),
        "status": OUT_STATUS,
        "service": text(64, "The one that it seems to be about, empty when nobody knows.", least=0),
        "opened_at": OUT_MOMENT,
        "summary": text(2_000, least=0),
        "version": integer(),
        "alerts": listed(ALERT, MOST_ALERTS, "Those that fire first, then the latest."),
        "notes": listed(
            closed({"at": OUT_MOMENT, "actor": text(200), "kind": OUT_STATUS, "text": text(2_000, least=0)}),
            MOST_NOTES,
            "The latest, in the order in which they were written.",
        ),
        "pages": listed(
            closed({"page_id": OUT_NAME, "person": text(150), "words": text(500), "paged_at": OUT_MOMENT}), MOST_PAGES
        ),
        "drafts": listed(closed({"update_id": OUT_NAME, "text": text(MOST_TEXT), "state": OUT_STATUS}), MOST_DRAFTS),
    }
)


def service_json(service: Service) -> dict[str, Any]:
    """Return a service as it stands in a list."""
    return {
        **_short(service),
        "release": service.release.version,
        **_figures(service.figures),
        "depends_on": list(service.depends_on)[:MOST_SERVICES],
        "seen_version": service.version,
    }


def described_json(service: Service, *, claimed_by: str, frozen: bool) -> dict[str, Any]:
    """Return everything that is known of a service. ``claimed_by`` is another incident, empty for none."""
    return {
        **_short(service),
        "place": service.place,
        "releases": [release_json(each) for each in reversed(service.releases[-MOST_RELEASES:])],
        "depends_on": list(service.depends_on)[:MOST_SERVICES],
        "dependants": list(service.dependants)[:MOST_SERVICES],
        "certificate_ends": moment_or_nothing(service.certificate_ends),
        "claimed_by": claimed_by,
        "frozen": frozen,
        "replicas": [
            {"replica": each.ref, "node": each.node, "ready": each.ready, "memory_pm": each.memory_pm}
            for each in service.replicas[:MOST_REPLICAS]
        ],
        **_figures(service.figures),
        "seen_version": service.version,
    }


def release_json(release: Release) -> dict[str, Any]:
    """Return a release."""
    return {
        "release": release.version,
        "at": isoformat(release.at),
        "by": release.by[:200],
        "change": release.change[:MOST_TEXT],
    }


def line_json(line: LogLine) -> dict[str, Any]:
    """Return a log line, as far as it is shown."""
    return {
        "at": isoformat(line.at),
        "level": line.level[:20],
        "replica": line.replica[:64],
        "text": line.text[:MOST_TEXT],
    }


def point_json(point: Point) -> dict[str, Any]:
    """Return how a service did for a while."""
    return {"at": isoformat(point.at), **{name: getattr(point, name) for name in (*_FIGURE_NAMES, "ready")}}


def node_json(node: Node) -> dict[str, Any]:
    """Return a node with what runs on it."""
    return {
        "node": node.ref,
        "cordoned": node.cordoned,
        "stolen_pm": node.stolen_pm,
        "runs": [{"service": service, "replicas": count} for service, count in node.runs[:MOST_SERVICES]],
        "seen_version": node.version,
    }


def verified_json(verified: Verified) -> dict[str, Any]:
    """Return whether what had to hold after a write does."""
    return {
        "target": verified.target,
        "tool": _TOOL_OF.get(verified.action, verified.action),
        "sound": verified.sound,
        "problems": [problem[:500] for problem in verified.problems[:MOST_PROBLEMS]],
    }


def person_json(person: OnCall) -> dict[str, Any]:
    """Return somebody who is on call, without the address that they are called at."""
    return {"person": person.person, "level": person.level, "until": isoformat(person.until)}


def moment_or_nothing(at: datetime | None) -> str:
    """Return a moment as text, empty when there is none."""
    return "" if at is None else isoformat(at)


def _short(service: Service) -> dict[str, Any]:
    return {
        "service": service.ref,
        "tier": int(service.tier),
        "ready": service.ready,
        "desired": service.desired,
        "rolling": service.rolling,
    }


def _figures(figures: Figures | None) -> dict[str, int]:
    return {name: NOT_KNOWN if figures is None else getattr(figures, name) for name in _FIGURE_NAMES}
