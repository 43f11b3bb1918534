"""What the embedded estate tells of itself: the simulation's state and its latest samples, as records."""

from collections.abc import Mapping
from statistics import median
from uuid import UUID

from sre_agent import models
from sre_agent.connectors.moving import Sight
from sre_agent.connectors.records import Figures, Node, Release, Replica, Service
from sre_agent.estate import values
from sre_agent.estate.values import WHOLE_PM, Estate

PLACE = "embedded/shop"
LATELY = 3
"""So many samples make the figures of a service."""
MOST_RELEASES = 10


def service_of(tenant_id: UUID, sight: Sight, ref: str) -> Service | None:
    """Return one service with its latest figures, None when there is no such service."""
    service = sight.estate.services.get(ref)
    return None if service is None else _service(sight, service, _figures(tenant_id, sight.estate, [ref]))


def services_of(tenant_id: UUID, sight: Sight) -> tuple[Service, ...]:
    """Return every service with its latest figures, by tier and name."""
    figures = _figures(tenant_id, sight.estate, list(sight.estate.services))
    ordered = sorted(sight.estate.services.values(), key=lambda each: (each.tier, each.ref))
    return tuple(_service(sight, each, figures) for each in ordered)


def node_of(sight: Sight, ref: str) -> Node | None:
    """Return one node with what runs on it, None when there is no such node."""
    node = sight.estate.nodes.get(ref)
    if node is None:
        return None
    counts: dict[str, int] = {}
    for service in sight.estate.services.values():
        for replica in service.replicas:
            if replica.node == ref:
                counts[service.ref] = counts.get(service.ref, 0) + 1
    return Node(ref, PLACE, node.cordoned, tuple(sorted(counts.items())), node.stolen_pm, node.generation)


def nodes_of(sight: Sight) -> tuple[Node, ...]:
    """Return every node, by name."""
    found = (node_of(sight, ref) for ref in sorted(sight.estate.nodes))
    return tuple(node for node in found if node is not None)


def _service(sight: Sight, service: values.Service, figures: Mapping[str, Figures]) -> Service:
    estate, ends, before = sight.estate, service.certificate_ends, service.certificate_before
    return Service(
        ref=service.ref,
        place=PLACE,
        tier=service.tier,
        depends_on=service.depends_on,
        dependants=estate.dependants(service.ref),
        releases=tuple(releases_of(sight, service)[-MOST_RELEASES:]),
        desired=service.desired,
        ready=len(service.ready(estate.tick)),
        rolling=service.is_rolling,
        version=service.generation,
        figures=figures.get(service.ref),
        certificate_ends=None if ends is None else sight.moment_of(ends),
        replicas=tuple(_replica(estate, service, replica) for replica in service.replicas),
        archived_pm=-(-service.archived_mib * WHOLE_PM // service.disk_limit_mib),
        certificate_before=None if before is None else sight.moment_of(before),
    )


def releases_of(sight: Sight, service: values.Service) -> list[Release]:
    """Return what was deployed of a service, in order."""
    return [Release(each.version, sight.moment_of(each.at), each.by, each.change) for each in service.releases]


def _replica(estate: Estate, service: values.Service, replica: values.Replica) -> Replica:
    used = replica.memory_mib * WHOLE_PM // service.memory_limit_mib
    return Replica(replica.name, replica.node, replica.ready_at <= estate.tick, used)


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
