"""What a write on the platform comes to: computed once from a snapshot, shown as a dry run or carried out. Pure."""

from dataclasses import dataclass
from datetime import datetime

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import Preview, Result, ToolFailure
from sre_agent.connectors.records import Node, Service


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
class Gate:
    """What must hold of a service when ``after_s`` seconds are over; else what takes the write back is proposed.

    At most ``errors_pm`` of its requests fail, ``latency_ms`` is not exceeded, ``ready`` replicas take requests.
    """

    service_ref: str
    errors_pm: int
    latency_ms: int
    ready: int
    after_s: int

    def problems(self, service: Service) -> tuple[str, ...]:
        """Return in sentences what does not hold of the service as it is now."""
        figures = service.figures
        found = []
        if service.rolling:
            found.append(f"A rollout of {service.ref} is still under way.")
        if service.ready < self.ready:
            found.append(f"{service.ready} of {self.ready} replicas take requests.")
        if figures is None:
            found.append(f"There are no figures of {service.ref}.")
        elif figures.errors_pm > self.errors_pm:
            found.append(f"{share(figures.errors_pm)} of its requests fail, more than {share(self.errors_pm)}.")
        if figures is not None and figures.latency_ms > self.latency_ms:
            found.append(f"Requests take {figures.latency_ms} ms, more than {self.latency_ms} ms.")
        return tuple(found)


@dataclass(frozen=True)
class Effect:
    """What a write shows and returns, and what must hold after it."""

    preview: Preview
    result: Result
    gate: Gate | None = None


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
