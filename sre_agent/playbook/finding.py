"""Where a trouble began: the failing service whose own dependencies are sound (pure)."""

from collections.abc import Collection, Mapping

from sre_agent.playbook.facts import Incident, Service


def roots(services: Mapping[str, Service]) -> list[Service]:
    """Return the bad services none of whose dependencies is bad, the most urgent first."""
    bad = {ref for ref, service in services.items() if service.is_bad}
    found = [services[ref] for ref in bad if not bad & set(services[ref].depends_on)]
    return sorted(found, key=lambda each: (each.tier, -each.errors_pm, each.ref))


def relevant(services: Mapping[str, Service], incident: Incident) -> list[Service]:
    """Return the roots that the incident can be about.

    Those are the services that it names and what they need. Where none of these is bad although an alert fires, or
    where it names nothing that exists, it may name the wrong service, and every root is returned.
    """
    needed = _with_needed(services, incident.named)
    found = roots(services)
    named = [root for root in found if root.ref in needed]
    return found if not named and (incident.fires or not needed) else named


def _with_needed(services: Mapping[str, Service], named: Collection[str]) -> frozenset[str]:
    found: set[str] = set()
    wave = {ref for ref in named if ref in services}
    while wave:
        found |= wave
        wave = {need for ref in wave for need in services[ref].depends_on if need in services} - found
    return frozenset(found)
