"""What an estate's own systems know of it, as values: services, releases, nodes and figures at one moment. Pure.

Shares are parts per thousand, latencies milliseconds, moments UTC. A record's ``version`` moves with every change.
"""

from dataclasses import dataclass
from datetime import datetime

from sre_agent.tiers import Tier


@dataclass(frozen=True)
class Release:
    """A version of a service's program that was deployed: when, by whom, and what they said had changed."""

    version: str
    at: datetime
    by: str
    change: str


@dataclass(frozen=True)
class Figures:
    """How a service did lately: medians of its last samples. ``requests`` are a second's; -1 is what nobody knows."""

    requests: int
    errors_pm: int
    latency_ms: int
    processor_pm: int
    memory_pm: int
    disk_pm: int


@dataclass(frozen=True)
class Replica:
    """One running copy of a service. ``ready``: it takes requests."""

    ref: str
    node: str
    ready: bool
    memory_pm: int


@dataclass(frozen=True)
class Service:
    """A service as the platform tells. ``place`` is ``cluster/namespace``; the last of ``releases`` is wanted.

    ``depends_on`` are the services that it needs itself, ``dependants`` those that need it, directly or through others.
    ``archived_pm`` of its disk would be taken by the logs that were moved to the archive; ``certificate_before`` is
    when the certificate ends that was replaced, None when none was.
    """

    ref: str
    place: str
    tier: Tier
    depends_on: tuple[str, ...]
    dependants: tuple[str, ...]
    releases: tuple[Release, ...]
    desired: int
    ready: int
    rolling: bool
    version: int
    figures: Figures | None = None
    certificate_ends: datetime | None = None
    replicas: tuple[Replica, ...] = ()
    archived_pm: int = 0
    certificate_before: datetime | None = None

    @property
    def release(self) -> Release:
        """The release that is wanted."""
        return self.releases[-1]


@dataclass(frozen=True)
class Node:
    """A machine. ``runs`` are the services with replicas on it, and how many each. ``stolen_pm`` -1 is not known."""

    ref: str
    place: str
    cordoned: bool
    runs: tuple[tuple[str, int], ...]
    stolen_pm: int
    version: int


@dataclass(frozen=True)
class LogLine:
    """A line that a replica wrote. Anybody may be behind its text."""

    at: datetime
    level: str
    replica: str
    text: str


@dataclass(frozen=True)
class Point:
    """How a service did from ``at`` on for a while: medians, ``requests`` a second, ``ready`` the fewest replicas."""

    at: datetime
    requests: int
    errors_pm: int
    latency_ms: int
    processor_pm: int
    memory_pm: int
    disk_pm: int
    ready: int


@dataclass(frozen=True)
class Verified:
    """Whether what had to hold after a write does, and else why.

    ``action`` and ``key`` name the write, ``problems`` say in sentences what does not.
    """

    target: str
    action: str
    key: str
    sound: bool
    problems: tuple[str, ...]


@dataclass(frozen=True)
class OnCall:
    """Somebody who is on call. ``contact`` is their address at the system that calls them."""

    person: str
    contact: str
    level: int
    until: datetime
