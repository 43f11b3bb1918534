"""What the look-ups of a session have told, as values (pure). Texts in them come from outside and steer nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

UNKNOWN = -1
SOUND_ERRORS_PM, SOUND_LATENCY_MS, SOUND_USE_PM = 50, 1_500, 900
"""More than this is bad: as the alerts and the gates have it."""


@dataclass(frozen=True)
class Alert:
    """An alert of the incident. It fires while ``ended_at`` is empty."""

    rule: str
    service: str
    ended_at: str

    @property
    def fires(self) -> bool:
        """Whether it has not ended."""
        return not self.ended_at


@dataclass(frozen=True)
class Incident:
    """The session's incident. ``priority`` 0 is the most urgent."""

    id: str
    priority: int
    status: str
    service: str
    opened_at: str
    alerts: tuple[Alert, ...]
    is_paged: bool
    has_draft: bool

    @property
    def is_urgent(self) -> bool:
        """Whether a person is called and words for customers are drafted."""
        return self.priority <= 1

    @property
    def fires(self) -> bool:
        """Whether an alert of it has not ended."""
        return any(alert.fires for alert in self.alerts)

    @property
    def named(self) -> frozenset[str]:
        """The services that it and its alerts name, whether or not they exist."""
        return frozenset({self.service, *(alert.service for alert in self.alerts)} - {""})


@dataclass(frozen=True)
class Service:
    """A service as it is now; figures that nobody knows are UNKNOWN."""

    ref: str
    tier: int
    ready: int
    desired: int
    rolling: bool
    release: str
    errors_pm: int
    latency_ms: int
    processor_pm: int
    memory_pm: int
    disk_pm: int
    requests: int
    depends_on: tuple[str, ...]
    version: int

    @property
    def is_known(self) -> bool:
        """Whether there are figures of it."""
        return self.errors_pm != UNKNOWN

    @property
    def is_bad(self) -> bool:
        """Whether what is known of it is worse than it may be."""
        used = max(self.processor_pm, self.memory_pm, self.disk_pm)
        short = self.ready < self.desired and not self.rolling
        return short or self.errors_pm > SOUND_ERRORS_PM or self.latency_ms > SOUND_LATENCY_MS or used > SOUND_USE_PM

    @property
    def words(self) -> str:
        """Its figures as a person reads them."""
        return (
            f"{self.ref}: {share(self.errors_pm)} of requests fail, {self.latency_ms} ms, processor"
            f" {share(self.processor_pm)}, memory {share(self.memory_pm)}, disk {share(self.disk_pm)},"
            f" {self.ready} of {self.desired} replicas ready"
        )


@dataclass(frozen=True)
class Point:
    """How a service did from ``at`` on."""

    at: datetime
    requests: int
    errors_pm: int
    processor_pm: int
    memory_pm: int
    ready: int


@dataclass(frozen=True)
class Deploy:
    """A release that was deployed."""

    release: str
    at: datetime
    by: str


@dataclass(frozen=True)
class Node:
    """A machine, and which services have replicas on it."""

    ref: str
    cordoned: bool
    stolen_pm: int
    runs: frozenset[str]
    version: int


@dataclass(frozen=True)
class Details:
    """What else is known of one service. ``claimed_by`` is another incident whose work on it is under way."""

    certificate_ends: datetime | None
    claimed_by: str
    frozen: bool
    version: int


@dataclass(frozen=True)
class Line:
    """A log line. Anybody may be behind its text."""

    at: datetime
    level: str
    text: str


def incident_of(told: Mapping[str, Any]) -> Incident:
    """Return the incident that ``read_incident`` told of."""
    return Incident(
        id=told["incident_id"],
        priority=told["priority"],
        status=told["status"],
        service=told["service"],
        opened_at=told["opened_at"],
        alerts=tuple(Alert(each["rule"], each["service"], each["ended_at"]) for each in told["alerts"]),
        is_paged=bool(told["pages"]),
        has_draft=bool(told["drafts"]),
    )


def service_of(told: Mapping[str, Any]) -> Service:
    """Return a service as ``list_services`` told of it."""
    return Service(
        ref=told["service"],
        tier=told["tier"],
        ready=told["ready"],
        desired=told["desired"],
        rolling=told["rolling"],
        release=told["release"],
        errors_pm=told["errors_pm"],
        latency_ms=told["latency_ms"],
        processor_pm=told["processor_pm"],
        memory_pm=told["memory_pm"],
        disk_pm=told["disk_pm"],
        requests=told["requests"],
        depends_on=tuple(told["depends_on"]),
        version=told["seen_version"],
    )


def point_of(told: Mapping[str, Any]) -> Point:
    """Return a piece of what ``read_metrics`` told."""
    names = ("requests", "errors_pm", "processor_pm", "memory_pm", "ready")
    return Point(at=moment(told["at"]), **{name: told[name] for name in names})


def node_of(told: Mapping[str, Any]) -> Node:
    """Return a node as ``list_nodes`` told of it."""
    runs = frozenset(each["service"] for each in told["runs"])
    return Node(told["node"], told["cordoned"], told["stolen_pm"], runs, told["seen_version"])


def details_of(told: Mapping[str, Any]) -> Details:
    """Return what ``describe_service`` told besides the figures."""
    ends = told["certificate_ends"]
    return Details(moment(ends) if ends else None, told["claimed_by"], told["frozen"], told["seen_version"])


def moment(told: str) -> datetime:
    """Return the moment that an ISO 8601 text names."""
    return datetime.fromisoformat(told)


def share(pm: int) -> str:
    """Return parts per thousand as people write them."""
    return "an unknown share" if pm == UNKNOWN else f"{pm // 10}.{pm % 10} %"
