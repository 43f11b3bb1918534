"""What the embedded estate tells of itself: the simulation's state and its latest samples, as records."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from statistics import median
from uuid import UUID

from sre_agent import models
from sre_agent.connectors.records import Figures, Node, Release, Service
from sre_agent.estate import values
from sre_agent.estate.values import TICK_S, Estate

PLACE = "embedded/shop"
LATELY = 3
"""So many samples make the figures of a service."""
MOST_RELEASES = 10


def service_of(tenant_id: UUID, estate: Estate, ref: str, now: datetime) -> Service | None:
    """Return one service with its latest figures, None when there is no such service."""
    service = estate.services.get(ref)
    return None if service is None else _service(estate, service, _figures(tenant_id, estate, [ref]), now)


def services_of(tenant_id: UUID, estate: Estate, now: datetime) -> tuple[Service, ...]:
    """Return every service with its latest figures, by tier and name."""
    figures = _figures(tenant_id, estate, list(estate.services))
    ordered = sorted(estate.services.values(), key=lambda each: (each.tier, each.ref))
    return tuple(_service(estate, each, figures, now) for each in ordered)


def node_of(estate: Estate, ref: str) -> Node | None:
    """Return one node with what runs on it, None when there is no such node."""
    node = estate.nodes.get(ref)
    if node is None:
        return None
    counts: dict[str, int] = {}
    for service in estate.services.values():
        for replica in service.replicas:
            if replica.node == ref:
                counts[service.ref] = counts.get(service.ref, 0) + 1
    return Node(ref, PLACE, node.cordoned, tuple(sorted(counts.items())), node.stolen_pm, node.generation)


def moment_of(estate: Estate, tick: int, now: datetime) -> datetime:
    """Return when a tick was, of an estate whose latest one is ``now``."""
    return now - timedelta(seconds=(estate.tick - tick) * TICK_S)


def _service(estate: Estate, service: values.Service, figures: Mapping[str, Figures], now: datetime) -> Service:
    ends = service.certificate_ends
    return Service(
        ref=service.ref,
        place=PLACE,
        tier=service.tier,
        depends_on=service.depends_on,
        dependants=estate.dependants(service.ref),
        releases=tuple(
            Release(each.version, moment_of(estate, each.at, now), each.by, each.change)
            for each in service.releases[-MOST_RELEASES:]
        ),
        desired=service.desired,
        ready=len(service.ready(estate.tick)),
        rolling=service.is_rolling,
        version=service.generation,
        figures=figures.get(service.ref),
        certificate_ends=None if ends is None else moment_of(estate, ends, now),
    )


def _figures(tenant_id: UUID, estate: Estate, refs: list[str]) -> dict[str, Figures]:
    """Return the medians of the latest samples of each of these services that has any."""
    rows = models.Sample.objects.filter(tenant_id=tenant_id, service__in=refs, tick__gt=estate.tick - LATELY)
    seen: dict[str, list[models.Sample]] = {}
    for row in rows:
        seen.setdefault(row.service, []).append(row)
    names = ("requests", "errors_pm", "latency_ms", "processor_pm", "memory_pm", "disk_pm")
    return {
        ref: Figures(**{name: int(median(getattr(row, name) for row in found)) for name in names})
        for ref, found in seen.items()
    }
