"""What the estate and the desk say after a scenario: facts that an expectation can name, and figures to compare."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from sre_agent import models
from sre_agent.estate.stepping import harm_of
from sre_agent.estate.storing import from_json
from sre_agent.estate.values import Estate, Happening, Trouble
from sre_agent.scenarios.stage import KEY

LATER_TICKS = 30
"""Harm is compared this long after the end: what was broken goes on failing."""
_HELPS = {
    Trouble.BAD_DEPLOY: ("RollBack", ""),
    Trouble.MEMORY_LEAK: ("RollBack", ""),
    Trouble.TRAFFIC_SPIKE: ("Scale", ""),
    Trouble.FULL_DISK: ("RunBook", "archive_logs"),
    Trouble.EXPIRED_CERTIFICATE: ("RunBook", "renew_certificate"),
    Trouble.NOISY_NEIGHBOUR: ("Drain", ""),
}
_BACK = frozenset({"Uncordon", "HaltRestart"})
"""Actions that only ever take another one back."""


def facts_of(tenant_id: UUID, estate: Estate) -> Mapping[str, Any]:
    """Return how the incident and the estate stand. ``estate`` is what the scenario began with.

    ``writes`` are those on the platform that took effect, in order; ``worse`` whether more went wrong than if nobody
    had come.
    """
    incident = models.Incident.objects.get(tenant_id=tenant_id, source_key=KEY)
    now = _present(tenant_id)
    told = _figures(now, estate)
    return {
        "incident": incident.status,
        "writes": [operation.action for operation in _operations(tenant_id)],
        "releases": {ref: each.wanted.version for ref, each in now.services.items() if _is_new(each.wanted.version)},
        "stopped": sorted(ref for ref, each in now.services.items() if not each.desired),
        "cordoned": sorted(ref for ref, each in now.nodes.items() if each.cordoned),
        "pages": models.Page.objects.filter(tenant_id=tenant_id, withdrawn_at=None).count(),
        "drafts": models.StatusUpdate.objects.filter(tenant_id=tenant_id).count(),
        "published": models.StatusUpdate.objects.filter(tenant_id=tenant_id).exclude(state="draft").count(),
        "worse": told["harm"] > told["harm_if_nothing"],
    }


def figures_of(tenant_id: UUID, estate: Estate) -> Mapping[str, int]:
    """Return numbers of a scenario.

    ``mttr_s``: seconds from the incident's opening to its end, where it was resolved. ``harm`` and ``harm_if_nothing``
    as the simulator counts them, five minutes after the end. ``remediations`` are writes on the platform that do not
    take another one back, ``false_remediations`` those whose target was not at fault or that do not end what was.
    """
    now = _present(tenant_id)
    tried = list(_remediations(_operations(tenant_id)))
    false = [each for each in tried if not _helps(each, estate.happenings)]
    found = {"remediations": len(tried), "false_remediations": len(false), **_figures(now, estate)}
    incident = models.Incident.objects.get(tenant_id=tenant_id, source_key=KEY)
    if incident.resolved_at is not None:
        found["mttr_s"] = (incident.resolved_at - incident.opened_at) // timedelta(seconds=1)
    return found


def _figures(now: Estate, began: Estate) -> dict[str, int]:
    ticks = now.tick - began.tick + LATER_TICKS
    return {"harm": harm_of(now, LATER_TICKS), "harm_if_nothing": harm_of(began, ticks)}


def _present(tenant_id: UUID) -> Estate:
    return from_json(models.Landscape.objects.get(tenant_id=tenant_id).state)


def _operations(tenant_id: UUID) -> list[models.Operation]:
    """Return the writes on the platform that sessions made, in order."""
    made = models.Operation.objects.filter(tenant_id=tenant_id).exclude(target="").exclude(incident_ref="")
    return list(made.order_by("id"))


def _remediations(made: Iterable[models.Operation]) -> Iterable[models.Operation]:
    """Yield the writes that do not take an earlier one on the same target back."""
    seen: set[tuple[str, str]] = set()
    for operation in made:
        does = (operation.action, operation.target)
        if operation.action not in _BACK and does not in seen:
            yield operation
        seen.add(does)


def _helps(operation: models.Operation, happenings: Iterable[Happening]) -> bool:
    kind, _, name = operation.target.partition(":")
    did = (operation.action, str(operation.result.get("runbook", "")) if kind == "service" else "")
    return any(each.on == name and _HELPS[each.trouble] == did for each in happenings)


def _is_new(version: str) -> bool:
    """Whether it is another release than every service has at first."""
    return version != "1.9.0"
