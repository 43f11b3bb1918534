"""Writes on one service: restart, scale, stop, delete a replica, roll back. Pure.

Before each stands a health gate: what would leave too little capacity for the load is refused. After each stands one:
what must hold when the rollout is over.
"""

import json

from agentops.registry.preview_parts import Command, Part
from agentops.registry.tool import Change, Preview, Result
from sre_agent.connectors.blast import FULL_PM, measures, radius, require_room, rollout_pm, settled_s, waves
from sre_agent.connectors.effect import Effect, Gate, Snapshot, Sound, conflict, invalid, missing
from sre_agent.connectors.port import DeleteReplica, HaltRestart, Restart, RollBack, Scale, Stop
from sre_agent.connectors.records import Service

MOST_REPLICAS = 50


def plan_restart(snapshot: Snapshot, write: Restart) -> Effect:
    """Plan that every replica starts anew. Raises ToolFailure."""
    service = service_in(snapshot)
    _require_rolled_out(service)
    if not service.desired:
        raise conflict(f"{service.ref} runs no replicas.", "service")
    away = rollout_pm(service)
    require_room(service, away)
    argv = ("rollout", "restart", f"deployment/{service.ref}")
    # A dry run is the same until something changes, so that it can be approved: the moment is that of the call.
    body = {"spec": {"template": {"metadata": {"annotations": {"restartedAt": "the moment of the call"}}}}}
    words = f"Restart all {service.desired} replicas of {service.ref}"
    after = settled_s(waves(service, service.desired))
    return _settled(snapshot, service, words, away, commands_for(service, argv, body), after)


def plan_halt(snapshot: Snapshot, write: HaltRestart) -> Effect:
    """Plan that a restart stops where it is. Raises ToolFailure."""
    service = service_in(snapshot)
    if not service.rolling:
        raise conflict(f"No rollout of {service.ref} is under way.", "service")
    argv, body = ("rollout", "pause", f"deployment/{service.ref}"), {"spec": {"paused": True}}
    words = f"Stop the restart of {service.ref} where it is"
    return _settled(snapshot, service, words, 0, commands_for(service, argv, body), settled_s(1))


def plan_scale(snapshot: Snapshot, write: Scale) -> Effect:
    """Plan another number of replicas. Raises ToolFailure."""
    service = service_in(snapshot)
    if not 1 <= write.replicas <= MOST_REPLICAS:
        raise invalid(f"A service is scaled to 1 to {MOST_REPLICAS} replicas; to none it is stopped.", "replicas")
    if write.replicas == service.desired:
        raise conflict(f"{service.ref} runs {write.replicas} replicas already.", "replicas")
    # What does not serve yet goes first, and takes nothing away.
    fewer = max(service.ready - write.replicas, 0)
    away = fewer * FULL_PM // service.ready if service.ready else 0
    require_room(service, away)
    words = f"Scale {service.ref} from {service.desired} to {write.replicas} replicas"
    return _scaled(snapshot, service, words, away, write.replicas)


def plan_stop(snapshot: Snapshot, write: Stop) -> Effect:
    """Plan that no replica runs any more. Raises ToolFailure.

    It is asked for on purpose: what it takes away is said, and not weighed against the load.
    """
    service = service_in(snapshot)
    if not service.desired:
        raise conflict(f"{service.ref} is stopped already.", "service")
    words = f"Stop {service.ref}: none of its {service.desired} replicas runs any more"
    return _scaled(snapshot, service, words, FULL_PM, 0)


def plan_delete(snapshot: Snapshot, write: DeleteReplica) -> Effect:
    """Plan that one replica ends and another one is started in its place. Raises ToolFailure."""
    service = service_in(snapshot)
    if all(replica.ref != write.replica for replica in service.replicas):
        raise missing("replica", "replica")
    _require_rolled_out(service)
    away = FULL_PM // service.desired if service.desired else 0
    require_room(service, away)
    _, _, namespace = service.place.partition("/")
    parts = (
        Command(service.place, argv=("kubectl", "-n", namespace, "delete", "pod", write.replica)),
        Command(service.place, api=f"DELETE /api/v1/namespaces/{namespace}/pods/{write.replica}"),
    )
    words = f"Delete the replica {write.replica} of {service.ref}, with whatever it alone knows"
    return _settled(snapshot, service, words, away, parts, settled_s(1))


def plan_roll_back(snapshot: Snapshot, write: RollBack) -> Effect:
    """Plan that an earlier release runs again, also in the middle of a rollout. Raises ToolFailure."""
    service = service_in(snapshot)
    before = service.release.version
    if write.version == before:
        raise conflict(f"{service.ref} is at version {write.version} already.", "release")
    if all(write.version != release.version for release in service.releases):
        raise conflict(f"{service.ref} was never at version {write.version}.", "release")
    revision = next(n for n, each in enumerate(service.releases, start=1) if each.version == write.version)
    argv = ("rollout", "undo", f"deployment/{service.ref}", f"--to-revision={revision}")
    body = {
        "spec": {"template": {"spec": {"containers": [{"name": service.ref, "image": _image(service, write.version)}]}}}
    }
    return _settled(
        snapshot,
        service,
        f"Roll {service.ref} back from {before} to {write.version}",
        rollout_pm(service),
        commands_for(service, argv, body),
        settled_s(waves(service, service.desired)),
        Change("Version", before, write.version),
        release_before=before,
    )


def planned(
    snapshot: Snapshot,
    service: Service,
    words: str,
    away_pm: int,
    parts: tuple[Part, ...],
    gate: Gate,
    result: Result,
    *changes: Change,
) -> Effect:
    """Return the effect of a write on one service that takes ``away_pm`` of its capacity away, if only for a while."""
    return Effect(
        preview=Preview(
            effect=words,
            target=f"service:{service.ref}",
            changes=changes,
            versions=snapshot.versions(),
            measures=measures(snapshot, (service,), away_pm),
            parts=(*parts, radius((service,), away_pm)),
        ),
        result={"service": service.ref, "verify_after_s": gate.after_s, **result},
        gate=gate,
        disruptive=away_pm > 0,
    )


def commands_for(service: Service, argv: tuple[str, ...], body: object, path: str = "") -> tuple[Part, ...]:
    """Return the command that a person would type, and the request that is made."""
    _, _, namespace = service.place.partition("/")
    api = f"PATCH /apis/apps/v1/namespaces/{namespace}/deployments/{service.ref}{path}"
    return (
        Command(service.place, argv=("kubectl", "-n", namespace, *argv)),
        Command(service.place, api=api, body=json.dumps(body, sort_keys=True)),
    )


def service_in(snapshot: Snapshot) -> Service:
    """Return the service that a write is about. Raises ToolFailure NOT_FOUND."""
    if snapshot.service is None:
        raise missing("service", "service")
    return snapshot.service


def _scaled(snapshot: Snapshot, service: Service, words: str, away_pm: int, replicas: int) -> Effect:
    """Return the effect of another number of replicas; new ones start all at once."""
    argv = ("scale", f"deployment/{service.ref}", f"--replicas={replicas}")
    parts = commands_for(service, argv, {"spec": {"replicas": replicas}}, path="/scale")
    change = Change("Replicas", str(service.desired), str(replicas))
    gate = Gate(settled_s(1), (Sound.of(service, replicas),))
    result: Result = {"ready_wanted": replicas, "replicas_before": service.desired}
    return planned(snapshot, service, words, away_pm, parts, gate, result, change)


def _settled(
    snapshot: Snapshot,
    service: Service,
    words: str,
    away_pm: int,
    parts: tuple[Part, ...],
    after_s: int,
    *changes: Change,
    **result: str,
) -> Effect:
    """Return the effect of what leaves as many replicas as there are to be."""
    gate = Gate(after_s, (Sound.of(service, service.desired),))
    said: Result = {"ready_wanted": service.desired, **result}
    return planned(snapshot, service, words, away_pm, parts, gate, said, *changes)


def _image(service: Service, version: str) -> str:
    return f"registry.internal/{service.ref}:{version}"


def _require_rolled_out(service: Service) -> None:
    if service.rolling:
        raise conflict(f"A rollout of {service.ref} is still under way.", "service")
