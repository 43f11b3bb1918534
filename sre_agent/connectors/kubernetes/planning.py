"""A write on a cluster: what the rules make of it, and the request that carries it out."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, assert_never

from agentops.registry.preview_parts import Command, Part
from agentops.registry.tool import Preview, Result
from sre_agent.connectors.deciding import decided
from sre_agent.connectors.effect import Effect, conflict, missing
from sre_agent.connectors.kubernetes import evicting, mapping, objects, requests
from sre_agent.connectors.kubernetes.history import history_of
from sre_agent.connectors.kubernetes.objects import Obj, name_of, text, uid_of, whole
from sre_agent.connectors.kubernetes.reading import Sight
from sre_agent.connectors.kubernetes.requests import SHOWN, Request, Stamp
from sre_agent.connectors.port import (
    DeleteReplica,
    Drain,
    HaltRestart,
    PlatformWrite,
    Restart,
    RollBack,
    RunBook,
    Scale,
    ServiceWrite,
    Stop,
    Uncordon,
)


@dataclass(frozen=True)
class Planned:
    """A write that is not refused. ``carrier`` is the object that it changes, ``made`` the request for a stamp.

    ``kind`` says what became of it is found where: ``note`` on the object itself, ``gone`` when the pod is, ``job``
    when there is one.
    """

    effect: Effect
    carrier: Obj
    kind: str
    argv: tuple[str, ...]
    made: Callable[[Stamp], Request]
    shown: Request
    result: Result

    def request(self, key: str, now: datetime) -> Request:
        """Return the request of a call."""
        operations = history_of(self.carrier).plus(key, self.result, now).said()
        version = text(self.carrier, "metadata", "resourceVersion")
        return self.made(Stamp(version, operations, key, now.isoformat()))

    def told(self, request: Request) -> dict[str, Any]:
        """Return what is kept before the request is sent, to find out later what became of it."""
        return {
            "kind": self.kind,
            "path": request.path if self.kind != "job" else f"{request.path}/{request.body['metadata']['name']}",
            "resource": request.resource,
            "uid": uid_of(self.carrier),
            "generation": whole(self.carrier, "metadata", "generation"),
            "cordoned": mapping.is_cordoned(self.carrier),
            "result": self.result,
            "target": self.effect.preview.target,
            "disruptive": self.effect.disruptive,
            "gate": self.effect.gate.as_json(),
        }

    def preview(self, place: str) -> Preview:
        """Return the dry run, with the command and the request as they are at this cluster."""
        preview = self.effect.preview
        others: list[Part] = [each for each in preview.parts if not isinstance(each, Command)]
        commands = (
            Command(place, argv=self.argv),
            Command(
                place,
                api=f"{self.shown.method} {self.shown.path}",
                body=json.dumps(self.shown.body, sort_keys=True),
            ),
        )
        return replace(preview, parts=(*commands, *others))


def plan(sight: Sight, write: PlatformWrite) -> Planned:
    """Return how ``write`` is carried out. Raises ToolFailure when it is refused."""
    snapshot = sight.snapshot(write)
    if isinstance(write, Drain | Uncordon):
        machine = sight.machine(write.node_ref)
        if isinstance(write, Drain) and machine is not None and snapshot.node is not None and snapshot.node.cordoned:
            # Half of it was done before: it goes on. What is empty is refused by the rules.
            left = evicting.movable(sight.on_node(write.node_ref))
            view = replace(snapshot.node, cordoned=not left)
            snapshot = replace(snapshot, node=view, nodes=snapshot.nodes + (1 if left else 0))
        effect = decided(sight.context, snapshot, write)
        if machine is None:
            raise missing("node", "node")
        return _node_plan(sight, write, effect, machine)
    effect = decided(sight.context, snapshot, write)
    return _service_plan(sight, write, effect)


def _node_plan(sight: Sight, write: Drain | Uncordon, effect: Effect, machine: Obj) -> Planned:
    cordoned = isinstance(write, Drain)
    if cordoned:
        evicting.require_movable(sight.on_node(name_of(machine)))
    words = ("drain", name_of(machine), "--ignore-daemonsets", "--delete-emptydir-data") if cordoned else (
        "uncordon", name_of(machine)
    )  # fmt: skip
    return Planned(
        effect=effect,
        carrier=machine,
        kind="note",
        argv=("kubectl", "--context", sight.cluster.place, *words),
        made=lambda stamp: requests.cordon(machine, cordoned, stamp),
        shown=requests.cordon(machine, cordoned, SHOWN),
        result={**effect.result, "version": mapping.node_version(machine, cordoned=cordoned)},
    )


def _service_plan(sight: Sight, write: ServiceWrite, effect: Effect) -> Planned:
    deployment = sight.deployments[write.service_ref]
    version = whole(deployment, "metadata", "generation")
    changed = {**effect.result, "version": version + 1}
    match write:
        case DeleteReplica():
            pod = next((each for each in sight.pods_of(write.service_ref) if name_of(each) == write.replica), None)
            if pod is None:
                raise missing("replica", "replica")
            return Planned(
                effect,
                pod,
                "gone",
                _kubectl(sight, deployment, "delete", "pod", write.replica),
                lambda stamp: requests.delete_pod(pod, stamp),
                requests.delete_pod(pod, SHOWN),
                {**effect.result, "version": version},
            )
        case RunBook():
            return _book_plan(sight, write, effect, deployment)
        case Restart() | HaltRestart() | Scale() | Stop() | RollBack():
            made, shown, argv = _patch(sight, write, deployment)
            command = _kubectl(sight, deployment, *argv)
            return Planned(effect, deployment, "note", command, made, shown, changed)
        case _:
            assert_never(write)


_Made = tuple[Callable[[Stamp], Request], Request, tuple[str, ...]]


def _patch(sight: Sight, write: Restart | HaltRestart | Scale | Stop | RollBack, deployment: Obj) -> _Made:
    """Return the patch for a stamp, the one that is shown, and the command that does the same."""
    named = f"deployment/{name_of(deployment)}"
    match write:
        case Restart():
            argv: tuple[str, ...] = ("rollout", "restart", named)
            return lambda stamp: requests.restart(deployment, stamp), requests.restart(deployment, SHOWN), argv
        case RollBack():
            found = [each for each in sight.revisions(write.service_ref) if each.release.version == write.version]
            if not found:
                raise missing("release", "release")
            revision = found[-1]
            argv = ("rollout", "undo", named, f"--to-revision={revision.number}")
            shown = requests.roll_back(deployment, revision, SHOWN, shown=True)
            return lambda stamp: requests.roll_back(deployment, revision, stamp), shown, argv
        case HaltRestart():
            return _spec(deployment, {"paused": True}, ("rollout", "pause", named))
        case Scale():
            spec = {"replicas": write.replicas}
            return _spec(deployment, spec, ("scale", named, f"--replicas={write.replicas}"))
        case Stop():
            return _spec(deployment, {"replicas": 0}, ("scale", named, "--replicas=0"))
        case _:
            assert_never(write)


def _spec(deployment: Obj, spec: Mapping[str, Any], argv: tuple[str, ...]) -> _Made:
    shown = requests.spec_patch(deployment, spec, SHOWN)
    return lambda stamp: requests.spec_patch(deployment, spec, stamp), shown, argv


def _book_plan(sight: Sight, write: RunBook, effect: Effect, deployment: Obj) -> Planned:
    """Return the job of a runbook: its pattern is a CronJob with the runbook's name on a label."""
    namespace = text(deployment, "metadata", "namespace")
    chosen = f"{objects.RUNBOOK}={write.book}"
    found = sight.cluster.listed(f"/apis/batch/v1/namespaces/{namespace}/cronjobs", "cronjobs", labelSelector=chosen)
    if len(found) != 1:
        raise conflict(f"There are {len(found)} CronJobs in {namespace} with {chosen}; there has to be one.", "runbook")
    pattern = found[0]
    service, book = write.service_ref, write.book
    return Planned(
        effect,
        pattern,
        "job",
        _kubectl(
            sight, deployment, "create", "job", requests.job_name(book, SHOWN.key), f"--from=cronjob/{name_of(pattern)}"
        ),
        lambda stamp: requests.run_job(pattern, book, service, stamp, name=requests.job_name(book, stamp.key)),
        requests.run_job(pattern, book, service, SHOWN, name=requests.job_name(book, SHOWN.key)),
        {**effect.result, "version": whole(deployment, "metadata", "generation")},
    )


def _kubectl(sight: Sight, deployment: Obj, *argv: str) -> tuple[str, ...]:
    namespace = text(deployment, "metadata", "namespace")
    return ("kubectl", "--context", sight.cluster.place, "-n", namespace, *argv)
