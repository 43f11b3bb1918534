"""How much a write on the platform can break: the share of capacity that it takes away, and who depends on it. Pure."""

from collections.abc import Sequence

from agentops.registry.preview_parts import Fields
from sre_agent.connectors.effect import Snapshot, conflict, share
from sre_agent.connectors.records import Service

FULL_PM, MOST_USED_PM = 1000, 950
"""What is left must not be used more than this, as far as the figures tell."""
SECONDS_A_WAVE, SECONDS_TO_SHOW = 20, 50


def rollout_pm(service: Service) -> int:
    """Return the share of a service's capacity that is away while a rollout replaces a quarter of it at a time."""
    return max(1, service.desired // 4) * FULL_PM // service.desired if service.desired else 0


def waves(service: Service, count: int) -> int:
    """Return in how many steps a rollout replaces ``count`` replicas of a service."""
    return -(-count // max(1, service.desired // 4))


def settled_s(steps: int) -> int:
    """Return after how many seconds a rollout of so many steps is over and its effect shows in the figures."""
    return SECONDS_A_WAVE * steps + SECONDS_TO_SHOW


def require_room(service: Service, away_pm: int) -> None:
    """Require that what is left of a service carries its load. Raises ToolFailure CONFLICT.

    A service that is overloaded anyway, or does not serve at all, cannot become worse by it, so it is let through. So
    is one whose load nobody knows: then there is no measure, and whatever compares it asks.
    """
    figures = service.figures
    if figures is None or not is_load_known(service) or figures.processor_pm >= FULL_PM or away_pm >= FULL_PM:
        return
    used_pm = figures.processor_pm * FULL_PM // (FULL_PM - away_pm)
    if used_pm > MOST_USED_PM:
        raise conflict(
            f"{service.ref} uses {share(figures.processor_pm)} of its capacity; without {share(away_pm)} of it there is"
            " no room for its load. Scale it up first."
        )


def is_load_known(service: Service) -> bool:
    """Return whether there are figures that tell how much of its capacity a service uses."""
    return service.figures is not None and service.figures.processor_pm >= 0


def measures(snapshot: Snapshot, services: Sequence[Service], away_pm: int) -> dict[str, int]:
    """Return the integers that rules compare: the share in whole per cent, rounded up, and the priority.

    The priority is the most urgent of the incident's and of the tiers of the services that are touched. What a share
    comes to depends on the load of what is left, so there is no share of a service whose load nobody knows, unless
    nothing is taken away; rules that compare it then hold, as of everything that is not known.
    """
    urgent = [int(service.tier) for service in services]
    if snapshot.priority is not None:
        urgent.append(snapshot.priority)
    priority = {"incident_priority": min(urgent)} if urgent else {}
    known = not away_pm or all(map(is_load_known, services))
    return {**({"capacity_share_pct": -(-away_pm // 10)} if known else {}), **priority}


def radius(services: Sequence[Service], away_pm: int) -> Fields:
    """Return the part of a dry run that says what hangs on it."""
    names = ", ".join(f"{service.ref} (P{int(service.tier)})" for service in services) or "nothing"
    needing = sorted({ref for service in services for ref in service.dependants})
    known = all(map(is_load_known, services))
    load = () if known else (("Load of what is left", "", "not known: there are no figures"),)
    return Fields(
        "Blast radius",
        (
            ("Touches", "", names),
            ("Capacity away meanwhile", "", share(away_pm)),
            *load,
            ("Depend on it", "", ", ".join(needing) or "nothing"),
        ),
    )
