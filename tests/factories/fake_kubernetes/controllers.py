"""What goes on inside a cluster by itself: rollouts, one piece at a time, and pods in the place of those that go."""

import hashlib
import json
from copy import deepcopy
from typing import Any

from tests.factories.fake_kubernetes.errors import Obj
from tests.factories.fake_kubernetes.store import Store

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
CAUSE = "kubernetes.io/change-cause"
HASH = "pod-template-hash"


def observe(store: Store, deployment: Obj) -> Obj:
    """Let the controller see a deployment as it is, and return its current replica set."""
    meta = deployment["metadata"]
    current = _replica_set(store, deployment)
    fresh = deepcopy(deployment)
    annotations = current["metadata"]["annotations"]
    fresh["metadata"].setdefault("annotations", {})[REVISION] = annotations[REVISION]
    fresh.setdefault("status", {})["observedGeneration"] = meta["generation"]
    store.put("deployments", fresh)
    return current


def advance(store: Store, namespace: str, name: str) -> bool:
    """Do the next piece of a rollout: a quarter of the pods. Returns whether anything was left to do."""
    deployment = store.get("deployments", namespace, name)
    current = observe(store, deployment)
    wanted, paused = deployment["spec"]["replicas"], deployment["spec"].get("paused", False)
    pods = pods_of(store, deployment)
    mine = [pod for pod in pods if pod["metadata"]["labels"][HASH] == current["metadata"]["labels"][HASH]]
    others = [pod for pod in pods if pod not in mine]
    moved = False
    if not paused and others:
        for pod in others[: max(1, wanted // 4)]:
            store.drop("pods", namespace, pod["metadata"]["name"])
        moved = True
    for pod in [*others, *mine][wanted:]:
        if (("pods", namespace, pod["metadata"]["name"])) in store.objects:
            store.drop("pods", namespace, pod["metadata"]["name"])
            moved = True
    for pod in pods_of(store, deployment):
        moved = _become_ready(store, pod) or moved
    if not paused or not others:
        moved = fill(store, deployment, current) or moved
    report(store, namespace, name)
    return moved or bool(others and not paused)


def settle(store: Store, namespace: str, name: str) -> None:
    """Let a rollout come to its end."""
    while advance(store, namespace, name):
        store.pass_time(5)


def fill(store: Store, deployment: Obj, current: Obj, *, ready: bool = True) -> bool:
    """Start pods until there are as many as are wanted. Returns whether any was started."""
    started = False
    while len(pods_of(store, deployment)) < deployment["spec"]["replicas"]:
        node = _emptiest(store)
        if node is None:
            break
        _start(store, deployment, current, node, ready=ready)
        started = True
    return started


def replace_pod(store: Store, pod: Obj) -> None:
    """Start another pod in the place of one that went; it takes no requests before the next ``advance``."""
    namespace = pod["metadata"]["namespace"]
    for deployment in list(store.all("deployments", namespace)):
        if _selects(deployment, pod):
            current = observe(store, deployment)
            fill(store, deployment, current, ready=False)
            report(store, namespace, deployment["metadata"]["name"])


def report(store: Store, namespace: str, name: str) -> None:
    """Write the status of a deployment, as its controller does."""
    deployment = deepcopy(store.get("deployments", namespace, name))
    pods = pods_of(store, deployment)
    current = _replica_set(store, deployment)["metadata"]["labels"][HASH]
    ready = sum(is_ready(pod) for pod in pods)
    status = deployment.setdefault("status", {})
    status.update(
        replicas=len(pods),
        updatedReplicas=sum(pod["metadata"]["labels"][HASH] == current for pod in pods),
        readyReplicas=ready,
        availableReplicas=ready,
    )
    store.put("deployments", deployment)


def pods_of(store: Store, deployment: Obj) -> list[Obj]:
    """Return the pods that a deployment selects, the oldest first."""
    found = [pod for pod in store.all("pods", deployment["metadata"]["namespace"]) if _selects(deployment, pod)]
    return sorted(found, key=lambda pod: int(pod["metadata"]["labels"]["n"]))


def is_ready(pod: Obj) -> bool:
    """Return whether a pod takes requests."""
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"]["conditions"])


def _selects(deployment: Obj, pod: Obj) -> bool:
    labels = pod["metadata"].get("labels", {})
    return all(labels.get(name) == value for name, value in deployment["spec"]["selector"]["matchLabels"].items())


def _replica_set(store: Store, deployment: Obj) -> Obj:
    """Return the replica set of a deployment's template, made or used again as its next revision when it is another."""
    meta, template = deployment["metadata"], deployment["spec"]["template"]
    mark = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:9]
    owned = [each for each in store.all("replicasets", meta["namespace"]) if _is_owned(each, meta["uid"])]
    latest = max((int(each["metadata"]["annotations"][REVISION]) for each in owned), default=0)
    name = f"{meta['name']}-{mark}"
    found = next((each for each in owned if each["metadata"]["name"] == name), None)
    if found is not None and int(found["metadata"]["annotations"][REVISION]) == latest:
        return found
    cause = meta.get("annotations", {}).get(CAUSE)
    told = {REVISION: str(latest + 1)} | ({} if cause is None else {CAUSE: cause})
    if found is not None:
        again = deepcopy(found)
        was = again["metadata"]["annotations"]
        again["metadata"]["annotations"] = told | {HISTORY: was[REVISION]}
        return store.put("replicasets", again)
    made: dict[str, Any] = deepcopy(template)
    made["metadata"].setdefault("labels", {})[HASH] = mark
    owner = {"kind": "Deployment", "name": meta["name"], "uid": meta["uid"], "controller": True}
    labels = dict(made["metadata"]["labels"])
    return store.add(
        "replicasets",
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": name,
                "namespace": meta["namespace"],
                "labels": labels,
                "annotations": told,
                "ownerReferences": [owner],
            },
            "spec": {"replicas": deployment["spec"]["replicas"], "template": made},
        },
    )


def _is_owned(obj: Obj, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in obj["metadata"].get("ownerReferences", ()))


def _start(store: Store, deployment: Obj, current: Obj, node: str, *, ready: bool) -> None:
    meta = current["metadata"]
    number = store.count + 1
    labels = {**current["spec"]["template"]["metadata"]["labels"], "n": str(number)}
    owner = {"kind": "ReplicaSet", "name": meta["name"], "uid": meta["uid"], "controller": True}
    store.add(
        "pods",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{meta['name']}-{number:05x}",
                "namespace": meta["namespace"],
                "labels": labels,
                "ownerReferences": [owner],
            },
            "spec": {"nodeName": node},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
        },
    )


def _become_ready(store: Store, pod: Obj) -> bool:
    if is_ready(pod):
        return False
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    store.touch("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], status=ready)
    return True


def _emptiest(store: Store) -> str | None:
    free = [each["metadata"]["name"] for each in store.all("nodes") if not each["spec"].get("unschedulable")]
    counts = dict.fromkeys(free, 0)
    for pod in store.all("pods"):
        if pod["spec"]["nodeName"] in counts:
            counts[pod["spec"]["nodeName"]] += 1
    return min(free, key=lambda name: (counts[name], name), default=None)
