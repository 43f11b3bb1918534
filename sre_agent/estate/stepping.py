"""One tick of the estate: what happens by itself, what that does to the services, and what they tell of it. Pure."""

from dataclasses import dataclass, replace

from sre_agent.estate.load import Health, healths, under_way
from sre_agent.estate.running import fill, leave, roll
from sre_agent.estate.telling import lines_of
from sre_agent.estate.values import WHOLE_PM, Estate, Line, Replica, Sample, Service, Trouble
from sre_agent.tiers import Tier

WEIGHT = {Tier.P0: 100, Tier.P1: 40, Tier.P2: 10, Tier.P3: 1}
"""What a failed request of a service counts for in the harm of an incident."""


@dataclass(frozen=True)
class Moment:
    """The estate after a tick, and what could be seen in it."""

    estate: Estate
    samples: tuple[Sample, ...]
    lines: tuple[Line, ...]


def step(estate: Estate) -> Moment:
    """Return the next tick. The same estate has the same next tick."""
    now = _happened(replace(estate, tick=estate.tick + 1))
    killed: dict[str, tuple[Replica, ...]] = {}
    for ref in sorted(now.services):
        before = now.services[ref]
        service, killed[ref] = fill(_filled(now, before), now.tick)
        service = roll(leave(service, now), now)
        now = now if service is before else now.with_service(service)
    seen = healths(now)
    lines = tuple(line for ref in sorted(seen) for line in lines_of(now, now.services[ref], seen[ref], killed[ref]))
    return Moment(_harmed(now, seen), tuple(seen[ref].sample for ref in sorted(seen)), lines)


def run(estate: Estate, ticks: int) -> list[Moment]:
    """Return the next ``ticks`` moments."""
    moments: list[Moment] = []
    for _ in range(ticks):
        moments.append(step(moments[-1].estate if moments else estate))
    return moments


def harm_of(estate: Estate, ticks: int) -> int:
    """Return the harm that the estate will have come to ``ticks`` from now if nobody does anything more.

    Of an estate with an action and of the same one without it, the two numbers say whether the action was worth it.
    """
    for _ in range(ticks):
        estate = step(estate).estate
    return estate.harm


def _happened(estate: Estate) -> Estate:
    """Return the estate with what begins or ends in this tick: deployments, certificates, and noisy neighbours."""
    for happening in estate.happenings:
        if happening.trouble is Trouble.NOISY_NEIGHBOUR:
            node = estate.nodes[happening.on]
            stolen = sum(h.amount for h in under_way(estate, Trouble.NOISY_NEIGHBOUR, node.ref))
            if node.stolen_pm != min(stolen, 950):
                estate = estate.with_node(replace(node, stolen_pm=min(stolen, 950)))
        if happening.at != estate.tick:
            continue
        if happening.release is not None:
            service = estate.services[happening.on]
            released = replace(happening.release, at=estate.tick)
            estate = estate.with_service(
                replace(service, releases=(*service.releases, released), generation=service.generation + 1)
            )
        elif happening.trouble is Trouble.EXPIRED_CERTIFICATE:
            estate = estate.with_service(replace(estate.services[happening.on], certificate_ends=estate.tick))
    return estate


def _filled(estate: Estate, service: Service) -> Service:
    """Return the service with what its disk took up in this tick."""
    filling = () if service.rotated else under_way(estate, Trouble.FULL_DISK, service.ref)
    more = sum(h.amount for h in filling)
    used = min(service.disk_mib + service.disk_grows_mib + more, service.disk_limit_mib)
    return service if used == service.disk_mib else replace(service, disk_mib=used)


def _harmed(estate: Estate, seen: dict[str, Health]) -> Estate:
    """Return the estate with the failed requests of this tick added up, but for those that always fail.

    A service is harmed by what its own users see, whatever the cause was: failures that are passed on count there too.
    """
    failed = dict(estate.failed)
    harm = estate.harm
    for ref, health in seen.items():
        lost = health.sample.requests * max(0, health.sample.errors_pm - 1)
        failed[ref] = failed.get(ref, 0) + lost // WHOLE_PM
        harm += lost * WEIGHT[estate.services[ref].tier] // WHOLE_PM
    return replace(estate, harm=harm, failed=failed)
