"""Deployments, replica sets, pods and nodes as services, releases, replicas and nodes. Pure."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sre_agent.connectors.kubernetes import objects
from sre_agent.connectors.kubernetes.objects import Obj, items, moment, name_of, table, text, uid_of, whole
from sre_agent.connectors.records import Figures, Node, Release, Replica, Service
from sre_agent.tiers import Tier

MOST_RELEASES = 10
UNKNOWN = -1
LONGEST_CHANGE, LONGEST_NAME = 300, 63
_UNDER_WAY = {"NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Revision:
    """A release as it lies in the cluster: the replica set that has its template, and which revision that is."""

    release: Release
    replica_set: Obj
    number: int


def service_from(
    deployment: Obj,
    place: str,
    revisions: Sequence[Revision],
    pods: Sequence[Obj],
    dependants: tuple[str, ...],
    figures: Figures | None,
) -> Service:
    """Return a deployment as a service. ``revisions`` are its own, the current one last; ``pods`` those it selects."""
    meta = deployment.get("metadata")
    return Service(
        ref=ref_of(deployment),
        place=place,
        tier=tier_of(deployment),
        depends_on=needs_of(deployment),
        dependants=dependants,
        releases=tuple(each.release for each in revisions[-MOST_RELEASES:]),
        desired=desired_of(deployment),
        ready=whole(deployment, "status", "readyReplicas"),
        rolling=is_rolling(deployment),
        version=whole(meta, "generation"),
        figures=figures,
        certificate_ends=moment(meta, "annotations", objects.CERTIFICATE),
        replicas=tuple(replica_from(pod) for pod in pods),
        archived_pm=whole(meta, "annotations", objects.ARCHIVED),
        certificate_before=moment(meta, "annotations", objects.CERTIFICATE_BEFORE),
    )


def ref_of(deployment: Obj) -> str:
    """Return what the service is called."""
    return text(deployment, "metadata", "labels", objects.SERVICE, most=LONGEST_NAME)


def tier_of(deployment: Obj) -> Tier:
    """Return the tier on the label. A service that does not say is taken for the most urgent, so that people decide."""
    said = text(deployment, "metadata", "labels", objects.TIER)
    return Tier[said] if said in Tier.__members__ else Tier.P0


def needs_of(deployment: Obj) -> tuple[str, ...]:
    """Return the services that a service says it needs, by name."""
    said = text(deployment, "metadata", "annotations", objects.NEEDS, most=2_000).split(",")
    return tuple(sorted({each.strip()[:LONGEST_NAME] for each in said if each.strip()}))


def dependants_of(needs: Mapping[str, Sequence[str]], ref: str) -> tuple[str, ...]:
    """Return the services that need one, directly or through others, by name. ``needs`` says what each needs itself."""
    found: set[str] = set()
    todo = [ref]
    while todo:
        needed = todo.pop()
        more = {each for each, wants in needs.items() if needed in wants} - found - {ref}
        found |= more
        todo.extend(more)
    return tuple(sorted(found))


def desired_of(deployment: Obj) -> int:
    """Return how many replicas are to run; Kubernetes takes what is not said for one."""
    return whole(deployment, "spec", "replicas", default=1)


def is_paused(deployment: Obj) -> bool:
    """Return whether rollouts of a deployment are held."""
    return objects.part(deployment, "spec", "paused") is True


def is_rolling(deployment: Obj) -> bool:
    """Return whether a rollout is under way, as ``kubectl rollout status`` sees it.

    A replica that fails later on is no rollout: then what was once complete says so. A held rollout does not move.
    https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status
    """
    if is_paused(deployment):
        return False
    status, desired = table(deployment, "status"), desired_of(deployment)
    if whole(status, "observedGeneration") < whole(deployment, "metadata", "generation"):
        return True
    updated = whole(status, "updatedReplicas")
    if updated < desired or whole(status, "replicas") > updated:
        return True
    reasons = {text(each, "reason") for each in items(status, "conditions") if text(each, "type") == "Progressing"}
    return whole(status, "readyReplicas") < desired and bool(reasons & _UNDER_WAY)


def revisions_of(deployment: Obj, replica_sets: Iterable[Obj]) -> list[Revision]:
    """Return what was deployed, as far as the replica sets still tell, by revision, and what is wanted now last.

    A restart is no release: what differs in nothing but that is one. A release is called by the tag of its image, and
    by its revision besides where several have the same tag.
    """
    owned = [each for each in replica_sets if objects.is_owned(each, uid_of(deployment)) and _number(each)]
    owned.sort(key=_number)
    runs: list[list[Obj]] = []
    for each in owned:
        if runs and plain_template(runs[-1][-1]) == plain_template(each):
            runs[-1].append(each)
        else:
            runs.append([each])
    runs = _wanted_last(runs, deployment)
    tags = [tag_of(run[-1]) for run in runs]
    return [
        Revision(
            Release(
                tag if tags.count(tag) == 1 else f"{tag}#{_number(run[-1])}",
                _deployed_at(run[0], deployment),
                text(run[-1], "metadata", "annotations", objects.BY, most=LONGEST_NAME),
                text(run[0], "metadata", "annotations", objects.CAUSE, most=LONGEST_CHANGE),
            ),
            run[-1],
            _number(run[-1]),
        )
        for run, tag in zip(runs, tags, strict=True)
    ]


def template_of(replica_set: Obj) -> dict[str, Any]:
    """Return the template of a replica set as its deployment had it."""
    template = dict(table(replica_set, "spec", "template"))
    meta = {name: value for name, value in table(template, "metadata").items() if value is not None}
    meta["labels"] = {name: value for name, value in table(meta, "labels").items() if name != objects.TEMPLATE_HASH}
    return {**template, "metadata": meta}


def plain_template(replica_set: Obj) -> dict[str, Any]:
    """Return a template without what a restart writes there."""
    template = template_of(replica_set)
    meta = dict(template["metadata"])
    told = {name: value for name, value in table(meta, "annotations").items() if name != objects.RESTARTED}
    meta.pop("annotations", None)
    return {**template, "metadata": {**meta, **({"annotations": told} if told else {})}}


def tag_of(obj: Obj) -> str:
    """Return the tag of the image that a template runs, or the beginning of its digest."""
    images = [text(each, "image", most=500) for each in items(obj, "spec", "template", "spec", "containers")]
    if not images or not images[0]:
        return "unknown"
    named, at, digest = images[0].partition("@")
    last = named.rpartition("/")[2]
    _, colon, tag = last.partition(":")
    if colon and tag:
        return tag[:128]
    return digest[:19] if at else "latest"


def replica_from(pod: Obj) -> Replica:
    """Return a pod as a replica. How much memory it takes is not the platform's to tell."""
    return Replica(name_of(pod), text(pod, "spec", "nodeName"), objects.is_ready(pod), UNKNOWN)


def node_from(node: Obj, place: str, runs: Mapping[str, int]) -> Node:
    """Return a node. ``runs`` are the services on it, and how many replicas each."""
    return Node(name_of(node), place, is_cordoned(node), tuple(sorted(runs.items())), UNKNOWN, node_version(node))


def is_cordoned(node: Obj) -> bool:
    """Return whether nothing new is placed on a node."""
    return objects.part(node, "spec", "unschedulable") is True


def node_version(node: Obj, *, cordoned: bool | None = None) -> int:
    """Return a number for which machine it is and whether it is in use.

    A node has no generation, and its resource version moves with every heartbeat. ``cordoned`` asks what the number
    would be.
    """
    state = is_cordoned(node) if cordoned is None else cordoned
    return zlib.crc32(f"{uid_of(node)}/{state}".encode()) >> 1


def _number(replica_set: Obj) -> int:
    return whole(replica_set, "metadata", "annotations", objects.REVISION)


def _deployed_at(replica_set: Obj, deployment: Obj) -> datetime:
    """Return when a release was deployed. One that was deployed again is as old as the rollout that did it."""
    made = moment(replica_set, "metadata", "creationTimestamp") or _EPOCH
    annotations = table(replica_set, "metadata", "annotations")
    current = whole(deployment, "metadata", "annotations", objects.REVISION)
    if objects.REVISIONS_BEFORE in annotations and _number(replica_set) == current:
        conditions = items(deployment, "status", "conditions")
        moved = [moment(each, "lastUpdateTime") for each in conditions if text(each, "type") == "Progressing"]
        return max([made, *(each for each in moved if each is not None)])
    return made


def _wanted_last(runs: list[list[Obj]], deployment: Obj) -> list[list[Obj]]:
    """Put what the deployment is to run behind the rest, before its controller has seen to it.

    What has no replica set yet stands for itself: a deployment has its template where a replica set has it.
    """
    wanted = plain_template(deployment)
    now = [run for run in runs if plain_template(run[-1]) == wanted][-1:]
    others = [run for run in runs if not now or run is not now[0]]
    return [*others, *(now or [[deployment]])]
