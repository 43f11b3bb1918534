"""Writes on one service: restart, scale, roll back, run a procedure. Pure.

Before each stands a health gate: what would leave too little capacity for the load is refused. After each stands one:
what must hold when the rollout is over.
"""

import json

from agentops.registry.preview_parts import Command, Part
from agentops.registry.tool import Change, Preview, Result
from sre_agent.connectors.blast import FULL_PM, measures, radius, require_room, rollout_pm
from sre_agent.connectors.effect import Effect, Gate, Snapshot, conflict, invalid, missing
from sre_agent.connectors.port import HaltRestart, Restart, RollBack, RunBook, Scale
from sre_agent.connectors.records import Service

MOST_REPLICAS = 50
BOOKS = {
    "clear_disk": "deletes rotated logs and old temporary files of a service, and turns their rotation on",
    "renew_certificate": "issues and installs a new certificate for a service",
}
SOUND_ERRORS_PM, SOUND_LATENCY_MS = 50, 1_500
_SECONDS_A_WAVE, _WAVES = 20, 5


def plan_restart(snapshot: Snapshot, write: Restart) -> Effect:
    """Plan that every replica starts anew. Raises ToolFailure."""
    service = _service(snapshot)
    _require_rolled_out(service)
    if not service.desired:
        raise conflict(f"{service.ref} runs no replicas.", "service")
    away = rollout_pm(service)
    require_room(service, away)
    argv = ("rollout", "restart", f"deployment/{service.ref}")
    body = {"spec": {"template": {"metadata": {"annotations": {"restartedAt": snapshot.now.isoformat()}}}}}
    return _effect(
        snapshot,
        service,
        f"Restart all {service.desired} replicas of {service.ref}",
        away,
        _commands(service, argv, body),
    )


def plan_halt(snapshot: Snapshot, write: HaltRestart) -> Effect:
    """Plan that a restart stops where it is. Raises ToolFailure."""
    service = _service(snapshot)
    if not service.rolling:
        raise conflict(f"No rollout of {service.ref} is under way.", "service")
    argv, body = ("rollout", "pause", f"deployment/{service.ref}"), {"spec": {"paused": True}}
    return _effect(
        snapshot, service, f"Stop the restart of {service.ref} where it is", 0, _commands(service, argv, body)
    )


def plan_scale(snapshot: Snapshot, write: Scale) -> Effect:
    """Plan another number of replicas. Raises ToolFailure."""
    service = _service(snapshot)
    if not 0 <= write.replicas <= MOST_REPLICAS:
        raise invalid(f"A service runs 0 to {MOST_REPLICAS} replicas.", "replicas")
    if write.replicas == service.desired:
        raise conflict(f"{service.ref} runs {write.replicas} replicas already.", "replicas")
    fewer = max(service.desired - write.replicas, 0)
    away = fewer * FULL_PM // service.desired if service.desired else 0
    if write.replicas:
        # Scaling to nothing is asked for on purpose: what it takes away is said, and two people decide.
        require_room(service, away)
    argv = ("scale", f"deployment/{service.ref}", f"--replicas={write.replicas}")
    commands = _commands(service, argv, {"spec": {"replicas": write.replicas}}, path="/scale")
    change = Change("Replicas", str(service.desired), str(write.replicas))
    words = f"Scale {service.ref} from {service.desired} to {write.replicas} replicas"
    return _effect(snapshot, service, words, away, commands, change, ready=write.replicas, before=service.desired)


def plan_roll_back(snapshot: Snapshot, write: RollBack) -> Effect:
    """Plan that an earlier release runs again, also in the middle of a rollout. Raises ToolFailure."""
    service = _service(snapshot)
    if write.version == service.release.version:
        raise conflict(f"{service.ref} is at version {write.version} already.", "version")
    if all(write.version != release.version for release in service.releases):
        raise conflict(f"{service.ref} was never at version {write.version}.", "version")
    revision = next(n for n, each in enumerate(service.releases, start=1) if each.version == write.version)
    argv = ("rollout", "undo", f"deployment/{service.ref}", f"--to-revision={revision}")
    body = {
        "spec": {"template": {"spec": {"containers": [{"name": service.ref, "image": _image(service, write.version)}]}}}
    }
    change = Change("Version", service.release.version, write.version)
    words = f"Roll {service.ref} back from {service.release.version} to {write.version}"
    away = rollout_pm(service)
    return _effect(
        snapshot, service, words, away, _commands(service, argv, body), change, before_version=service.release.version
    )


def plan_book(snapshot: Snapshot, write: RunBook) -> Effect:
    """Plan a procedure of the allow-list. Raises ToolFailure."""
    service = _service(snapshot)
    if write.book not in BOOKS:
        raise invalid(f"The runbooks are {', '.join(sorted(BOOKS))}.", "runbook")
    if write.book == "renew_certificate" and service.certificate_ends is None:
        raise conflict(f"{service.ref} has no certificate.", "runbook")
    command = Command(service.place, argv=("runbook", write.book, f"--service={service.ref}"))
    return _effect(snapshot, service, f"Run {write.book} on {service.ref}: it {BOOKS[write.book]}", 0, (command,))


def _effect(
    snapshot: Snapshot,
    service: Service,
    words: str,
    away_pm: int,
    commands: tuple[Part, ...],
    *changes: Change,
    ready: int | None = None,
    **before: str | int,
) -> Effect:
    wanted = service.desired if ready is None else ready
    gate = Gate(service.ref, SOUND_ERRORS_PM, SOUND_LATENCY_MS, wanted, _SECONDS_A_WAVE * (_WAVES if away_pm else 1))
    result: Result = {"service": service.ref, "verify_after_s": gate.after_s, "ready_wanted": wanted, **before}
    return Effect(
        preview=Preview(
            effect=words,
            target=f"service:{service.ref}",
            changes=changes,
            versions=snapshot.versions(),
            measures=measures(snapshot, (service,), away_pm),
            parts=(*commands, radius((service,), away_pm)),
        ),
        result=result,
        gate=gate,
    )


def _commands(service: Service, argv: tuple[str, ...], body: object, path: str = "") -> tuple[Part, ...]:
    """Return the command that a person would type, and the request that is made."""
    _, _, namespace = service.place.partition("/")
    api = f"PATCH /apis/apps/v1/namespaces/{namespace}/deployments/{service.ref}{path}"
    return (
        Command(service.place, argv=("kubectl", "-n", namespace, *argv)),
        Command(service.place, api=api, body=json.dumps(body, sort_keys=True)),
    )


def _image(service: Service, version: str) -> str:
    return f"registry.internal/{service.ref}:{version}"


def _service(snapshot: Snapshot) -> Service:
    if snapshot.service is None:
        raise missing("service", "service")
    return snapshot.service


def _require_rolled_out(service: Service) -> None:
    if service.rolling:
        raise conflict(f"A rollout of {service.ref} is still under way.", "service")
