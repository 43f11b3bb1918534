"""What ends a known trouble, what takes that back, and whether it helped (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agentops.registry.offline.outcomes import Change
from agentops.registry.planner import Observation
from sre_agent.playbook.diagnosing import Diagnosis, Evidence, Trouble
from sre_agent.playbook.facts import UNKNOWN, Service

ACTS = frozenset(
    {
        "restart_service",
        "halt_restart",
        "scale_service",
        "stop_service",
        "delete_replica",
        "roll_back",
        "drain_node",
        "uncordon_node",
        "run_runbook",
    }
)
"""Every write on the platform."""

ARCHIVE, RENEW = "archive_logs", "renew_certificate"
_LEFT = {
    "roll_back": "The release that was left has to be mended before it is deployed again.",
    "scale_service": "Scale back when the load is as usual.",
    "drain_node": "Use the node again when nobody else uses its processors.",
    ARCHIVE: "Find out what filled the disk, and how much more it needs.",
    RENEW: "Find out why nothing renewed the certificate before it ended.",
}


def remedy(diagnosis: Diagnosis, evidence: Evidence) -> Change:
    """Return the write that ends the trouble."""
    service = evidence.service
    reason = f"{diagnosis.trouble.value[:1].upper()}{diagnosis.trouble.value[1:]}: {'; '.join(diagnosis.because)}."
    bound = {"service": service.ref, "seen_version": service.version, "reason": reason[:300]}
    match diagnosis.trouble:
        case Trouble.BAD_DEPLOY | Trouble.MEMORY_LEAK:
            about = f"rolling {service.ref} back to {diagnosis.release}"
            done = f"{service.ref} was rolled back to {diagnosis.release}."
            return Change("roll_back", {**bound, "release": diagnosis.release}, about, done)
        case Trouble.TRAFFIC_SPIKE:
            about = f"scaling {service.ref} from {service.desired} to {diagnosis.replicas} replicas"
            done = f"{service.ref} was scaled up from {service.desired} replicas."
            return Change("scale_service", {**bound, "replicas": diagnosis.replicas}, about, done)
        case Trouble.NOISY_NEIGHBOUR:
            node = next(each for each in evidence.nodes if each.ref == diagnosis.node)
            arguments = {"node": node.ref, "seen_version": node.version, "reason": reason[:300]}
            return Change("drain_node", arguments, f"draining {node.ref}", f"{node.ref} was drained.")
        case Trouble.FULL_DISK | Trouble.EXPIRED_CERTIFICATE:
            book = ARCHIVE if diagnosis.trouble is Trouble.FULL_DISK else RENEW
            done = f"{book} was run on {service.ref}."
            return Change("run_runbook", {**bound, "runbook": book}, f"running {book} on {service.ref}", done)


def left_after(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return what people still have to do when a write has ended a trouble."""
    return _LEFT.get(str(arguments.get("runbook", tool)), "Find out how it came to that.")


def opposite(done: Observation) -> tuple[str, dict[str, Any]] | None:
    """Return the call that takes a write back, None for one that is not taken back by the playbook.

    An expired certificate that is put back, or logs that fill a disk again, can only harm.
    """
    result: Mapping[str, Any] = done.result
    if "version" not in result:
        return None
    bound = {"seen_version": result["version"], "reason": "What had to hold after the change does not."}
    match done.tool:
        case "scale_service":
            return done.tool, {"service": result["service"], "replicas": result["replicas_before"], **bound}
        case "roll_back":
            return done.tool, {"service": result["service"], "release": result["release_before"], **bound}
        case "drain_node":
            return "uncordon_node", {"node": result["node"], **bound}
    return None


def target_of(arguments: Mapping[str, Any]) -> str:
    """Return what a write on the platform is about, as ``verify_change`` names it."""
    return f"node:{arguments['node']}" if "node" in arguments else f"service:{arguments.get('service', '')}"


class Judgement(StrEnum):
    """How a service does after a write, compared with before."""

    BETTER = "better"
    SAME = "same"
    WORSE = "worse"


NOISE_PM, FIFTH = 20, 5


@dataclass(frozen=True)
class Compared:
    """What was compared, in words for a person, and what came of it."""

    judgement: Judgement
    words: str


def compared(before: Service | None, after: Service | None) -> Compared:
    """Return how a service does after a write. Nobody knows without figures: then it is the same."""
    if before is None or after is None or UNKNOWN in (before.errors_pm, after.errors_pm):
        return Compared(Judgement.SAME, "there are no figures to compare")
    words = f"before: {before.words}; after: {after.words}"
    if after.errors_pm > before.errors_pm + NOISE_PM:
        return Compared(Judgement.WORSE, words)
    pairs = [
        (before.errors_pm, after.errors_pm),
        (before.latency_ms, after.latency_ms),
        (before.memory_pm, after.memory_pm),
        (before.disk_pm, after.disk_pm),
    ]
    improved = any(was - now > max(was // FIFTH, NOISE_PM) for was, now in pairs)
    return Compared(Judgement.BETTER if improved else Judgement.SAME, words)
