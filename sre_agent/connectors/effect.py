"""What a write on the platform comes to: computed once from a snapshot, shown as a dry run or carried out. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import Preview, Result, ToolFailure
from sre_agent.connectors.records import Node, Service

SOUND_ERRORS_PM, SOUND_LATENCY_MS, SOUND_DISK_PM = 50, 1_500, 900


@dataclass(frozen=True)
class Snapshot:
    """The records that a write is about. ``priority`` is that of the session's incident, 0 the most urgent.

    ``on_node`` are the services with replicas on ``node``, ``nodes`` how many nodes take replicas.
    """

    now: datetime
    service: Service | None = None
    node: Node | None = None
    on_node: tuple[Service, ...] = ()
    nodes: int = 0
    priority: int | None = None

    def versions(self) -> dict[str, int]:
        """Return the versions of the records that the write is about, by kind and name."""
        found = {"service": self.service, "node": self.node}
        return {f"{kind}:{each.ref}": each.version for kind, each in found.items() if each is not None}


@dataclass(frozen=True)
class Sound:
    """What must hold of one service; None where anything will do.

    At most ``errors_pm`` of its requests fail, ``latency_ms`` and ``disk_pm`` are not exceeded, ``ready`` replicas take
    requests, its certificate is good until ``certificate_until``. What nobody knows does not hold.
    """

    service_ref: str
    ready: int
    errors_pm: int | None = SOUND_ERRORS_PM
    latency_ms: int | None = SOUND_LATENCY_MS
    disk_pm: int | None = None
    certificate_until: datetime | None = None

    @classmethod
    def of(
        cls, service: Service, ready: int, *, disk_pm: int | None = None, certificate_until: datetime | None = None
    ) -> "Sound":
        """Return what must hold of a service that is to run ``ready`` replicas; one that runs none serves nobody."""
        if not ready:
            return cls(service.ref, 0, None, None, disk_pm, certificate_until)
        return cls(service.ref, ready, disk_pm=disk_pm, certificate_until=certificate_until)

    def problems(self, service: Service) -> Iterator[str]:
        """Yield in sentences what does not hold of the service as it is now."""
        if service.rolling:
            yield f"A rollout of {service.ref} is still under way."
        if service.ready < self.ready:
            yield f"{service.ready} of {self.ready} replicas of {service.ref} take requests."
        if self.certificate_until is not None and not _is_good(service.certificate_ends, self.certificate_until):
            yield f"The certificate of {service.ref} ends before {self.certificate_until:%Y-%m-%d %H:%M} UTC."
        yield from self._figure_problems(service)

    def _figure_problems(self, service: Service) -> Iterator[str]:
        ref, figures = service.ref, service.figures
        errors, latency, disk = self.errors_pm, self.latency_ms, self.disk_pm
        if figures is None:
            if (errors, latency, disk) != (None, None, None):
                yield f"There are no figures of {ref}."
            return
        if errors is not None and not 0 <= figures.errors_pm <= errors:
            yield _said(figures.errors_pm, f"how many requests of {ref} fail") or (
                f"{share(figures.errors_pm)} of requests of {ref} fail, more than {share(errors)}."
            )
        if latency is not None and not 0 <= figures.latency_ms <= latency:
            yield _said(figures.latency_ms, f"how long requests of {ref} take") or (
                f"Requests of {ref} take {figures.latency_ms} ms, more than {latency} ms."
            )
        if disk is not None and not 0 <= figures.disk_pm <= disk:
            yield _said(figures.disk_pm, f"how full the disk of {ref} is") or (
                f"The disk of {ref} is {share(figures.disk_pm)} full, more than {share(disk)}."
            )


def _said(figure: int, what: str) -> str:
    """Return that nobody knows a figure, empty when somebody does."""
    return f"Nobody knows {what}." if figure < 0 else ""


def _is_good(ends: datetime | None, until: datetime) -> bool:
    return ends is not None and ends >= until


@dataclass(frozen=True)
class Gate:
    """What must hold when ``after_s`` seconds are over; else what takes the write back is proposed.

    ``services`` say it of services. With ``node_ref``, that node is in use, or ``cordoned`` and nothing runs on it.
    """

    after_s: int
    services: tuple[Sound, ...] = ()
    node_ref: str = ""
    cordoned: bool = False

    def problems(self, services: Iterable[Service], nodes: Iterable[Node] = ()) -> tuple[str, ...]:
        """Return in sentences what does not hold of the services and nodes as they are now."""
        known, machines = {each.ref: each for each in services}, {each.ref: each for each in nodes}
        found: list[str] = []
        for sound in self.services:
            service = known.get(sound.service_ref)
            found += [f"There is no service {sound.service_ref}."] if service is None else sound.problems(service)
        if self.node_ref:
            found += self._node_problems(machines.get(self.node_ref))
        return tuple(found)

    def _node_problems(self, node: Node | None) -> Iterator[str]:
        if node is None:
            yield f"There is no node {self.node_ref}."
            return
        if node.cordoned != self.cordoned:
            yield f"{node.ref} is {'in use' if self.cordoned else 'cordoned'}."
        left = sum(count for _, count in node.runs)
        if self.cordoned and left:
            yield f"{left} replicas still run on {node.ref}."

    def as_json(self) -> dict[str, Any]:
        """Return the gate as plain values, the names are those of the fields."""
        services = [
            {**asdict(each), "certificate_until": each.certificate_until and each.certificate_until.isoformat()}
            for each in self.services
        ]
        return {**asdict(self), "services": services}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Gate":
        """Return the gate that ``as_json`` made the values of. Raises KeyError, TypeError or ValueError for others."""
        services = []
        for each in data["services"]:
            until = each["certificate_until"]
            services.append(Sound(**{**each, "certificate_until": until and datetime.fromisoformat(until)}))
        return cls(data["after_s"], tuple(services), data["node_ref"], data["cordoned"])


@dataclass(frozen=True)
class Effect:
    """What a write shows and returns, and what must hold after it.

    ``disruptive``: it takes capacity away, if only for a while. The result lacks ``version``, that of the target after
    the write, which only whoever carries it out knows.
    """

    preview: Preview
    result: Result
    gate: Gate
    disruptive: bool


def share(pm: int) -> str:
    """Return parts per thousand as people write them: ``12.5 %``."""
    return f"{pm // 10} %" if pm % 10 == 0 else f"{pm // 10}.{pm % 10} %"


def missing(what: str, name: str) -> ToolFailure:
    """Return the refusal for a record that does not exist; ``name`` is the argument."""
    return ToolFailure(FailureKind.NOT_FOUND, f"There is no such {what}.", field=name)


def conflict(message: str, name: str | None = None) -> ToolFailure:
    """Return the refusal for what the estate does not allow now."""
    return ToolFailure(FailureKind.CONFLICT, message, field=name)


def invalid(message: str, name: str | None = None) -> ToolFailure:
    """Return the refusal for a value that can never be right."""
    return ToolFailure(FailureKind.VALIDATION, message, field=name)
