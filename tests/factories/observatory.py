"""An observatory that tells what a test lets it tell, and remembers who asked with which credential."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, ToolFailure
from sre_agent.connectors.records import LogLine, Point

WELL: Mapping[str, int] = {
    "requests": 40, "errors_pm": 2, "latency_ms": 120, "processor_pm": 500, "memory_pm": 400, "disk_pm": 300,
}  # fmt: skip
"""The figures of a service that is well, and half of whose capacity is used."""


@dataclass
class FakeObservatory:
    """Implements ``Observatory``. ``told`` has what it knows by service, one mapping of figures for each minute.

    ``usual`` are the figures of every other service, None when no other one is known. ``failure`` is raised instead of
    any answer. ``asked`` are the service and the credential's value of each request, empty for none.
    """

    usual: Mapping[str, int] | None = field(default_factory=lambda: WELL)
    told: dict[str, Sequence[Mapping[str, int]]] = field(default_factory=dict)
    failure: ToolFailure | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)

    def logs(
        self, context: CallContext, service_ref: str, since: datetime, *, containing: str, limit: int
    ) -> Sequence[LogLine]:
        """Return one line for each minute that is known, the latest first."""
        minutes = self._minutes(context, service_ref)
        lines = [LogLine(since + timedelta(minutes=n), "info", "", f"minute {n}") for n in range(len(minutes))]
        return [line for line in reversed(lines) if containing.lower() in line.text][:limit]

    def metrics(self, context: CallContext, service_ref: str, since: datetime, *, points: int) -> Sequence[Point]:
        """Return what is known of a service, the earliest first, at most ``points``."""
        minutes = self._minutes(context, service_ref)[-points:]
        return tuple(
            Point(at=since + timedelta(minutes=number), ready=1, **{**WELL, **each})
            for number, each in enumerate(minutes)
        )

    def _minutes(self, context: CallContext, service_ref: str) -> Sequence[Mapping[str, int]]:
        self.asked.append((service_ref, "" if context.secret is None else context.secret.reveal()))
        if self.failure is not None:
            raise self.failure
        if service_ref in self.told:
            return self.told[service_ref]
        if self.usual is None:
            raise ToolFailure(FailureKind.NOT_FOUND, "There is no such service.", field="service")
        return [self.usual] * 3
