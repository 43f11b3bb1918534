"""What can be done to an estate: each action is checked and returns another estate, or refuses. Pure.

An action names the generation that it was decided on. What has changed since refuses it, so that nobody restarts
what somebody else has just rolled back.
"""

from dataclasses import replace
from enum import StrEnum

from sre_agent.estate.values import Estate, Node, Release, Service

MOST_REPLICAS = 50


class Refusal(StrEnum):
    """Why an action is not possible."""

    UNKNOWN = "unknown"
    CHANGED = "changed"
    ROLLING = "rolling"
    IMPOSSIBLE = "impossible"


class Refused(Exception):
    """The action changed nothing. ``why`` is for a program, the message for a person."""

    def __init__(self, why: Refusal, words: str) -> None:
        super().__init__(words)
        self.why = why


class Runbook(StrEnum):
    """The allow-listed procedures."""

    ARCHIVE_LOGS = "archive_logs"
    RESTORE_LOGS = "restore_logs"
    RENEW_CERTIFICATE = "renew_certificate"
    REINSTALL_CERTIFICATE = "reinstall_certificate"


KEPT_AFTER_ARCHIVING_PM = 350
CERTIFICATE_TICKS = 777_600
"""A new certificate is good for 90 days."""


def restart(estate: Estate, ref: str, generation: int) -> Estate:
    """Start every replica anew, a few at a time. Raises Refused."""
    service = _service(estate, ref, generation)
    _require_rolled_out(service)
    # From the next tick on, whatever runs now is older than that.
    return estate.with_service(_changed(service, restart_at=estate.tick + 1))


def halt_restart(estate: Estate, ref: str, generation: int) -> Estate:
    """Leave the replicas that a restart has not reached yet as they are. Raises Refused."""
    service = _service(estate, ref, generation)
    if any(replica.version != service.wanted.version for replica in service.replicas):
        raise Refused(Refusal.IMPOSSIBLE, f"{ref} is being deployed, not restarted: roll it back instead.")
    oldest = min((replica.started_at for replica in service.replicas), default=estate.tick)
    if oldest >= service.restart_at:
        raise Refused(Refusal.IMPOSSIBLE, f"{ref} is not being restarted.")
    return estate.with_service(_changed(service, restart_at=oldest))


def scale(estate: Estate, ref: str, generation: int, replicas: int) -> Estate:
    """Run another number of replicas. Raises Refused."""
    service = _service(estate, ref, generation)
    if not 1 <= replicas <= MOST_REPLICAS:
        raise Refused(Refusal.IMPOSSIBLE, f"A service is scaled to 1 to {MOST_REPLICAS} replicas.")
    if replicas == service.desired:
        raise Refused(Refusal.IMPOSSIBLE, f"{ref} runs {replicas} replicas already.")
    return estate.with_service(_changed(service, desired=replicas))


def stop(estate: Estate, ref: str, generation: int) -> Estate:
    """Run no replica any more. Scaling starts the service again. Raises Refused."""
    service = _service(estate, ref, generation)
    if not service.desired:
        raise Refused(Refusal.IMPOSSIBLE, f"{ref} is stopped already.")
    return estate.with_service(_changed(service, desired=0))


def delete_replica(estate: Estate, ref: str, generation: int, name: str) -> Estate:
    """End one replica; another one is started in its place. Raises Refused."""
    service = _service(estate, ref, generation)
    kept = tuple(replica for replica in service.replicas if replica.name != name)
    if len(kept) == len(service.replicas):
        raise Refused(Refusal.UNKNOWN, f"{ref} has no replica {name}.")
    _require_rolled_out(service)
    return estate.with_service(_changed(service, replicas=kept))


def roll_back(estate: Estate, ref: str, generation: int, version: str) -> Estate:
    """Deploy an earlier release once more, also in the middle of a rollout, which may be a bad one. Raises Refused."""
    service = _service(estate, ref, generation)
    if version == service.wanted.version:
        raise Refused(Refusal.IMPOSSIBLE, f"{ref} is at version {version} already.")
    earlier = service.release(version)
    if earlier is None:
        raise Refused(Refusal.UNKNOWN, f"{ref} was never at version {version}.")
    again = Release(version, estate.tick, "rollback", f"Back to {version}", earlier.flaw)
    return estate.with_service(_changed(service, releases=(*service.releases, again)))


def drain(estate: Estate, node_ref: str, generation: int) -> Estate:
    """Place nothing more on a node, and move what runs there. Raises Refused."""
    node = _node(estate, node_ref, generation)
    if node.drained:
        raise Refused(Refusal.IMPOSSIBLE, f"{node_ref} is drained already.")
    if all(each.cordoned for each in estate.nodes.values() if each.ref != node_ref):
        raise Refused(Refusal.IMPOSSIBLE, f"There is no other node to move to from {node_ref}.")
    return estate.with_node(replace(node, cordoned=True, drained=True, generation=node.generation + 1))


def uncordon(estate: Estate, node_ref: str, generation: int) -> Estate:
    """Use a node again. Raises Refused."""
    node = _node(estate, node_ref, generation)
    if not node.cordoned:
        raise Refused(Refusal.IMPOSSIBLE, f"{node_ref} is in use.")
    return estate.with_node(replace(node, cordoned=False, drained=False, generation=node.generation + 1))


def run_book(estate: Estate, ref: str, generation: int, book: Runbook) -> Estate:
    """Run an allow-listed procedure on a service. Each keeps what its opposite needs. Raises Refused."""
    service = _service(estate, ref, generation)
    match book:
        case Runbook.ARCHIVE_LOGS:
            changed = _archived(service)
        case Runbook.RESTORE_LOGS:
            changed = _restored(service)
        case Runbook.RENEW_CERTIFICATE:
            changed = _renewed(service, estate.tick)
        case Runbook.REINSTALL_CERTIFICATE:
            changed = _reinstalled(service)
    return estate.with_service(changed)


def _archived(service: Service) -> Service:
    """Move old logs to the archive, and rotate from now on, so that what filled the disk does not go on filling it."""
    kept = service.disk_limit_mib * KEPT_AFTER_ARCHIVING_PM // 1000
    moved = service.disk_mib - kept
    if moved <= 0:
        raise Refused(Refusal.IMPOSSIBLE, f"There is nothing to archive on the disk of {service.ref}.")
    return _changed(service, disk_mib=kept, archived_mib=service.archived_mib + moved, rotated=True)


def _restored(service: Service) -> Service:
    """Move back from the archive what the disk has room for, and rotate no more."""
    moved = min(service.archived_mib, service.disk_limit_mib - service.disk_mib)
    if moved <= 0:
        raise Refused(Refusal.IMPOSSIBLE, f"There is nothing in the archive that {service.ref} has room for.")
    left = service.archived_mib - moved
    return _changed(service, disk_mib=service.disk_mib + moved, archived_mib=left, rotated=False)


def _renewed(service: Service, tick: int) -> Service:
    if service.certificate_ends is None:
        raise Refused(Refusal.IMPOSSIBLE, f"{service.ref} has no certificate.")
    ends = tick + CERTIFICATE_TICKS
    return _changed(service, certificate_ends=ends, certificate_before=service.certificate_ends)


def _reinstalled(service: Service) -> Service:
    if service.certificate_before is None:
        raise Refused(Refusal.IMPOSSIBLE, f"No certificate of {service.ref} was replaced.")
    return _changed(service, certificate_ends=service.certificate_before, certificate_before=None)


def _changed(service: Service, **fields: object) -> Service:
    return replace(service, generation=service.generation + 1, **fields)  # type: ignore[arg-type] # names of fields


def _service(estate: Estate, ref: str, generation: int) -> Service:
    service = estate.services.get(ref)
    if service is None:
        raise Refused(Refusal.UNKNOWN, f"There is no service {ref}.")
    if service.generation != generation:
        raise Refused(Refusal.CHANGED, f"{ref} has changed since: it is at generation {service.generation} now.")
    return service


def _node(estate: Estate, ref: str, generation: int) -> Node:
    node = estate.nodes.get(ref)
    if node is None:
        raise Refused(Refusal.UNKNOWN, f"There is no node {ref}.")
    if node.generation != generation:
        raise Refused(Refusal.CHANGED, f"{ref} has changed since: it is at generation {node.generation} now.")
    return node


def _require_rolled_out(service: Service) -> None:
    if service.is_rolling:
        raise Refused(Refusal.ROLLING, f"A rollout of {service.ref} is still under way.")
