"""Moves pods off a node: by evictions, so that their disruption budgets hold, and of a service a few at a time."""

import time
from collections.abc import Iterable, Sequence

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors.effect import conflict
from sre_agent.connectors.kubernetes import objects, requests
from sre_agent.connectors.kubernetes.door import Cluster
from sre_agent.connectors.kubernetes.mapping import desired_of
from sre_agent.connectors.kubernetes.objects import Obj, items, name_of, part, selected, table, text, whole

SECONDS = 25.0
PAUSE = 1.0
"""So long one call goes on, and so long it waits before it asks again."""


def movable(pods: Iterable[Obj]) -> list[Obj]:
    """Return the pods of a node that a drain moves, by name: neither the node's own, nor what has ended, nor ends."""
    found = [each for each in pods if not _is_nodes_own(each) and not _is_over(each)]
    return sorted(found, key=lambda each: (text(each, "metadata", "namespace"), name_of(each)))


def require_movable(pods: Iterable[Obj]) -> None:
    """Raise ToolFailure CONFLICT for a pod that nobody would start elsewhere."""
    for pod in movable(pods):
        if not any(part(owner, "controller") is True for owner in items(pod, "metadata", "ownerReferences")):
            raise conflict(f"The pod {name_of(pod)} would be lost: nothing starts it elsewhere.", "node")


def require_allowed(cluster: Cluster, pods: Iterable[Obj]) -> None:
    """Raise ToolFailure when evictions are not permitted at all. A budget that has no room now is no refusal."""
    for pod in movable(pods)[:1]:
        try:
            cluster.try_out(requests.evict(pod))
        except ToolFailure as failure:
            if failure.kind is not FailureKind.RATE_LIMIT:
                raise


def go_on(cluster: Cluster, node: str, services: Sequence[Obj]) -> list[str]:
    """Evict what is still on a node, and return the names of the pods that are left when the time is over.

    ``services`` are the deployments. Repeating it is harmless: each eviction names the very pod. Raises ToolFailure.
    """
    until = time.monotonic() + SECONDS
    while True:
        pods = movable(cluster.listed("/api/v1/pods", "pods", fieldSelector=f"spec.nodeName={node}"))
        gone = _one_of_each(cluster, pods, services, until)
        left = [name_of(pod) for pod in pods if name_of(pod) not in gone]
        if not left or time.monotonic() >= until:
            return left
        time.sleep(PAUSE)


def _one_of_each(cluster: Cluster, pods: Sequence[Obj], services: Sequence[Obj], until: float) -> set[str]:
    """Evict one pod of each service, and what is no service's; the status of a deployment lags behind its pods."""
    gone: set[str] = set()
    seen: set[str] = set()
    for pod in pods:
        own = next((each for each in services if selected([pod], each)), None)
        service = "" if own is None else requests.deployment_path(own)
        if service in seen or time.monotonic() >= until:
            continue
        if (own is None or _has_room(cluster, own)) and _evicted(cluster, pod):
            gone.add(name_of(pod))
            seen |= {service} - {""}
    return gone


def _evicted(cluster: Cluster, pod: Obj) -> bool:
    """Ask to evict one pod. Returns whether it goes, or has gone; another pod of its name is not touched."""
    try:
        cluster.send(requests.evict(pod))
    except OutcomeUnknown:
        return False
    except ToolFailure as failure:
        if failure.kind.retryable:
            return False
        if failure.kind not in (FailureKind.NOT_FOUND, FailureKind.CONFLICT):
            raise
    return True


def _has_room(cluster: Cluster, deployment: Obj) -> bool:
    """Return whether fewer replicas are away than a rollout would take: a quarter, one at least."""
    path = requests.deployment_path(deployment)
    now = cluster.one(path, "deployments")
    if now is None:
        return True
    desired = desired_of(now)
    return desired - whole(now, "status", "readyReplicas") < max(1, desired // 4)


def _is_nodes_own(pod: Obj) -> bool:
    owners = items(pod, "metadata", "ownerReferences")
    return any(text(owner, "kind") in ("DaemonSet", "Node") for owner in owners) or objects.MIRROR in table(
        pod, "metadata", "annotations"
    )


def _is_over(pod: Obj) -> bool:
    return objects.is_going(pod) or text(pod, "status", "phase") in ("Succeeded", "Failed")
