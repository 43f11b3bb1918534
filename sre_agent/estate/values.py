"""What an estate is at one moment, as values. Pure.

Time is counted in ticks of TICK_S seconds since the estate began. All quantities are integers: requests a second,
milliseconds, MiB, and parts per thousand (``_pm``) of requests, of a processor or of a limit, so that a replay is
equal to the bit on any machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sre_agent.tiers import Tier

TICK_S = 10
WHOLE_PM = 1000


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a release: shares of requests that fail or are late, and memory lost by a replica a tick."""

    errors_pm: int = 0
    slower_pm: int = 0
    leak_mib: int = 0
    words: str = ""
    """The line that a failing request writes into the log."""


SOUND = Flaw()


@dataclass(frozen=True)
class Release:
    """A version of a service's program, deployed at a tick. ``flaw`` is known to nobody inside the estate."""

    version: str
    at: int
    by: str
    change: str
    flaw: Flaw = SOUND


@dataclass(frozen=True)
class Replica:
    """One running copy. It takes requests from ``ready_at`` on; one that is ``leaving`` is to run on another node."""

    name: str
    node: str
    version: str
    started_at: int
    ready_at: int
    memory_mib: int
    leaving: bool = False


@dataclass(frozen=True)
class Service:
    """One service.

    ``releases`` are in order, the last one is what is wanted; ``desired`` replicas of it. ``restart_at`` is the last
    tick at which a restart was asked for: older replicas are replaced. ``generation`` grows with every change that
    somebody makes, and is what a call is bound to. ``rate`` is the usual load in requests a second, ``capacity`` what
    one replica can serve, ``usual_ms`` the usual 95th percentile of latency. ``archived_mib`` of old logs were moved
    away from its disk; while logs are ``rotated`` they do not fill it. ``certificate_before`` is the end of the
    certificate that was replaced.
    """

    ref: str
    tier: Tier
    depends_on: tuple[str, ...]
    releases: tuple[Release, ...]
    desired: int
    replicas: tuple[Replica, ...]
    rate: int
    capacity: int
    usual_ms: int
    memory_mib: int
    memory_limit_mib: int
    disk_mib: int
    disk_limit_mib: int
    disk_grows_mib: int = 0
    archived_mib: int = 0
    rotated: bool = False
    certificate_ends: int | None = None
    certificate_before: int | None = None
    restart_at: int = 0
    generation: int = 1
    crashes: int = 0

    @property
    def wanted(self) -> Release:
        """The release that every replica should run."""
        return self.releases[-1]

    def release(self, version: str) -> Release | None:
        """Return the latest release of that version, or None."""
        return next((each for each in reversed(self.releases) if each.version == version), None)

    def ready(self, tick: int) -> tuple[Replica, ...]:
        """Return the replicas that take requests."""
        return tuple(each for each in self.replicas if each.ready_at <= tick)

    def stale(self) -> tuple[Replica, ...]:
        """Return the replicas that are to be replaced, the oldest first."""
        return tuple(sorted(filter(self._is_stale, self.replicas), key=lambda r: (r.started_at, r.name)))

    def _is_stale(self, replica: Replica) -> bool:
        return replica.leaving or replica.version != self.wanted.version or replica.started_at < self.restart_at

    @property
    def is_rolling(self) -> bool:
        """Whether a rollout is under way: something is stale, missing or left over."""
        return len(self.replicas) != self.desired or bool(self.stale())

    def is_settled(self, tick: int) -> bool:
        """Return whether all that is wanted runs and takes requests."""
        return not self.is_rolling and len(self.ready(tick)) == self.desired


@dataclass(frozen=True)
class Node:
    """A machine that replicas run on. ``stolen_pm`` of its processors are used by somebody else.

    Nothing new is placed on a cordoned one; from a drained one, what runs there moves away.
    """

    ref: str
    cordoned: bool = False
    drained: bool = False
    stolen_pm: int = 0
    generation: int = 1


class Trouble(StrEnum):
    """What can begin in an estate by itself."""

    BAD_DEPLOY = "bad_deploy"
    MEMORY_LEAK = "memory_leak"
    TRAFFIC_SPIKE = "traffic_spike"
    FULL_DISK = "full_disk"
    EXPIRED_CERTIFICATE = "expired_certificate"
    NOISY_NEIGHBOUR = "noisy_neighbour"


@dataclass(frozen=True)
class Happening:
    """Something that begins at a tick, and ends at ``until`` when it ends by itself.

    ``on`` is a service, or a node for a noisy neighbour. ``amount`` is more load in parts per thousand, MiB a tick that
    a disk fills by, or stolen parts per thousand. ``release`` is what is deployed. ``words`` are what a stranger sends
    meanwhile, which the service, or those on the node, write into their logs.
    """

    trouble: Trouble
    on: str
    at: int
    amount: int = 0
    until: int | None = None
    release: Release | None = None
    words: str = ""

    def lasts(self, tick: int) -> bool:
        """Return whether it is under way."""
        return self.at <= tick and (self.until is None or tick < self.until)


@dataclass(frozen=True)
class Estate:
    """Everything at the end of one tick. ``harm`` is what went wrong so far: failed requests, weighted by tier."""

    seed: int
    tick: int
    services: Mapping[str, Service]
    nodes: Mapping[str, Node]
    happenings: tuple[Happening, ...] = ()
    harm: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)

    def with_service(self, service: Service) -> "Estate":
        """Return the estate with this service instead of the one of the same name."""
        return replace(self, services={**self.services, service.ref: service})

    def with_node(self, node: Node) -> "Estate":
        """Return the estate with this node instead of the one of the same name."""
        return replace(self, nodes={**self.nodes, node.ref: node})

    def dependants(self, ref: str) -> tuple[str, ...]:
        """Return every service that cannot do its work without this one, directly or through others, by name."""
        found: set[str] = set()
        wave = {ref}
        while wave:
            wave = {s.ref for s in self.services.values() if wave & set(s.depends_on)} - found - {ref}
            found |= wave
        return tuple(sorted(found))


@dataclass(frozen=True)
class Sample:
    """How one service did in one tick."""

    service: str
    tick: int
    requests: int
    errors_pm: int
    latency_ms: int
    processor_pm: int
    memory_pm: int
    disk_pm: int
    ready: int


class Level(StrEnum):
    """How serious a log line is."""

    INFO = "info"
    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True)
class Line:
    """One line of a service's log."""

    service: str
    replica: str
    tick: int
    level: Level
    text: str
