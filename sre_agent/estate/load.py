"""How well each service serves in one tick, from what runs and what it depends on. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sre_agent.estate.chance import around
from sre_agent.estate.values import WHOLE_PM, Estate, Happening, Replica, Sample, Service, Trouble

COUPLING_PM = 800
"""The share of a service's requests that need what it depends on."""
FULL_PM, USUAL_ERRORS_PM = 600, 1
CERTIFICATE_PM = 970
BUSY_PM = 750
"""From this use of its processors on, a service becomes slow."""
GARBAGE_PM = 850
"""From this use of its memory on, a replica spends time on collecting garbage."""
LATE_MS = 10_000
"""Nobody waits longer."""


@dataclass(frozen=True)
class Health:
    """One service in one tick: its figures, and why requests of it fail, by cause and parts per thousand."""

    sample: Sample
    causes: Mapping[str, int]


def healths(estate: Estate) -> dict[str, Health]:
    """Return how every service does, each after those that it depends on. Raises ValueError for a circle."""
    found: dict[str, Health] = {}
    for ref in in_order(estate):
        found[ref] = _health(estate, estate.services[ref], found)
    return found


def in_order(estate: Estate) -> list[str]:
    """Return the services so that each stands behind those that it depends on. Raises ValueError for a circle."""
    order: list[str] = []
    left = dict(estate.services)
    while left:
        ready = sorted(ref for ref, service in left.items() if not any(d in left for d in service.depends_on))
        if not ready:
            raise ValueError(f"the services {sorted(left)} depend on each other in a circle")
        order += ready
        for ref in ready:
            del left[ref]
    return order


def requests_of(estate: Estate, service: Service) -> int:
    """Return the requests a second that come in."""
    more = sum(h.amount for h in under_way(estate, Trouble.TRAFFIC_SPIKE, service.ref))
    return around(service.rate * (WHOLE_PM + more) // WHOLE_PM, 40, estate.seed, "load", service.ref, estate.tick)


def under_way(estate: Estate, trouble: Trouble, on: str) -> list[Happening]:
    """Return what of this kind is going on with a service or node."""
    return [h for h in estate.happenings if h.trouble is trouble and h.on == on and h.lasts(estate.tick)]


def _health(estate: Estate, service: Service, found: Mapping[str, Health]) -> Health:
    tick, requests = estate.tick, requests_of(estate, service)
    ready = service.ready(tick)
    capacities = [_capacity(estate, service, replica) for replica in ready]
    causes = _causes(estate, service, _rejected_pm(requests, capacities), found)
    errors = together(causes.values())
    sample = Sample(
        service=service.ref,
        tick=tick,
        requests=requests,
        errors_pm=errors,
        latency_ms=_latency(estate, service, _busiest_pm(requests, capacities), found),
        processor_pm=min(_busiest_pm(requests, capacities), WHOLE_PM),
        memory_pm=max((r.memory_mib * WHOLE_PM // service.memory_limit_mib for r in service.replicas), default=0),
        disk_pm=service.disk_mib * WHOLE_PM // service.disk_limit_mib,
        ready=len(ready),
    )
    return Health(sample, {cause: share for cause, share in causes.items() if share})


def _capacity(estate: Estate, service: Service, replica: Replica) -> int:
    """Return the requests a second that one replica can serve.

    That is less on a node that somebody else uses, and while it collects garbage because its memory is nearly full.
    """
    used = replica.memory_mib * WHOLE_PM // service.memory_limit_mib
    collecting = min(max(0, used - GARBAGE_PM) * 4, 700)
    return service.capacity * (WHOLE_PM - estate.nodes[replica.node].stolen_pm) * (WHOLE_PM - collecting) // 1_000_000


def _rejected_pm(requests: int, capacities: Sequence[int]) -> int:
    """Return the share of requests that found no room. Each replica gets an equal part, whatever it can do."""
    if not requests or not capacities:
        return WHOLE_PM if requests else 0
    lost = sum(max(0, requests - capacity * len(capacities)) for capacity in capacities)
    return lost * WHOLE_PM // (requests * len(capacities))


def _busiest_pm(requests: int, capacities: Sequence[int]) -> int:
    """Return how much of the busiest replica is used, 9 times all of it at most."""
    least = min(capacities, default=0)
    return min(requests * WHOLE_PM // (least * len(capacities)), 9 * WHOLE_PM) if least else 9 * WHOLE_PM


def _causes(estate: Estate, service: Service, rejected_pm: int, found: Mapping[str, Health]) -> dict[str, int]:
    causes = {"usual": USUAL_ERRORS_PM, "flaw": _flaw_pm(estate, service, "errors_pm"), "overload": rejected_pm}
    if service.disk_mib >= service.disk_limit_mib:
        causes["disk"] = FULL_PM
    if service.certificate_ends is not None and service.certificate_ends <= estate.tick:
        causes["certificate"] = CERTIFICATE_PM
    for ref in service.depends_on:
        below = found[ref].sample.errors_pm
        if below > USUAL_ERRORS_PM:
            causes[f"upstream {ref}"] = below * COUPLING_PM // WHOLE_PM
    return causes


def together(shares: Iterable[int]) -> int:
    """Return the share of requests that fail when each of these independent causes fails its share."""
    sound = WHOLE_PM * WHOLE_PM
    for share in shares:
        sound = sound * (WHOLE_PM - min(share, WHOLE_PM)) // WHOLE_PM
    return WHOLE_PM - sound // WHOLE_PM


def _flaw_pm(estate: Estate, service: Service, what: str) -> int:
    """Return the flaw's share over all ready replicas, some of which may run another release."""
    ready = service.ready(estate.tick)
    if not ready:
        return 0
    total = 0
    for replica in ready:
        release = service.release(replica.version)
        total += getattr(release.flaw, what) if release is not None else 0
    return total // len(ready)


def _latency(estate: Estate, service: Service, used_pm: int, found: Mapping[str, Health]) -> int:
    usual = around(service.usual_ms, 60, estate.seed, "latency", service.ref, estate.tick)
    queued = usual * max(0, used_pm - BUSY_PM) * 6 // WHOLE_PM
    slower = usual * _flaw_pm(estate, service, "slower_pm") // WHOLE_PM
    upstream = sum(max(0, found[ref].sample.latency_ms - estate.services[ref].usual_ms) for ref in service.depends_on)
    return min(usual + queued + slower + upstream * COUPLING_PM // WHOLE_PM, LATE_MS)
