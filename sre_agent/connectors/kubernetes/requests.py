"""The requests that a write makes, as values: what is sent, what is shown of it, and what a person would type. Pure."""

import hashlib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sre_agent.connectors.kubernetes import objects
from sre_agent.connectors.kubernetes.mapping import Revision, is_paused, template_of
from sre_agent.connectors.kubernetes.objects import Obj, items, name_of, table, text, uid_of

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
JSON = "application/json"
KEEP_JOBS_S = 7 * 24 * 3600
"""So long a finished runbook tells of itself: until then the same call finds it."""


@dataclass(frozen=True)
class Stamp:
    """What differs from call to call, and so is not in a dry run: the version read, the notes, the key, the moment."""

    version: str
    operations: str
    key: str
    moment: str


SHOWN = Stamp("the one that was read", "the keys of the latest writes", "the key of the call", "the moment of the call")


@dataclass(frozen=True)
class Request:
    """One request that changes something. ``resource`` is what RBAC calls it."""

    method: str
    path: str
    resource: str
    body: Any = field(repr=False)
    content_type: str = MERGE


def deployment_path(deployment: Obj) -> str:
    """Return where a deployment lies."""
    return f"/apis/apps/v1/namespaces/{text(deployment, 'metadata', 'namespace')}/deployments/{name_of(deployment)}"


def pod_path(namespace: str, name: str) -> str:
    """Return where a pod lies."""
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def node_path(name: str) -> str:
    """Return where a node lies."""
    return f"/api/v1/nodes/{name}"


def job_path(namespace: str, name: str = "") -> str:
    """Return where a job lies, or all of them."""
    return f"/apis/batch/v1/namespaces/{namespace}/jobs" + (f"/{name}" if name else "")


def spec_patch(deployment: Obj, spec: Mapping[str, Any], stamp: Stamp) -> Request:
    """Return the patch of a deployment's spec, refused by the server when the object is not the one that was read.

    Replicas are patched here too, and not at the scale subresource: that takes no annotation, and then the key and its
    effect could come apart.
    """
    return Request("PATCH", deployment_path(deployment), "deployments", {"metadata": _meta(stamp), "spec": dict(spec)})


def restart(deployment: Obj, stamp: Stamp) -> Request:
    """Return what ``kubectl rollout restart`` does; a held rollout goes on with it."""
    template = {"metadata": {"annotations": {objects.RESTARTED: stamp.moment}}}
    held: dict[str, Any] = {"paused": None} if is_paused(deployment) else {}
    return spec_patch(deployment, {"template": template, **held}, stamp)


def roll_back(deployment: Obj, revision: Revision, stamp: Stamp, *, shown: bool = False) -> Request:
    """Return what ``kubectl rollout undo`` does: the template as a whole, and what was said of it.

    A held rollout goes on with it. The template's own values are not shown, they may hold anything.
    """
    template: Any = template_of(revision.replica_set)
    if shown:
        images = [text(each, "image", most=500) for each in items(template, "spec", "containers")]
        template = {"of": f"replicaset/{name_of(revision.replica_set)}", "images": images}
    annotations = table(deployment, "metadata", "annotations")
    steps = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": stamp.version},
        *([] if annotations else [{"op": "add", "path": "/metadata/annotations", "value": {}}]),
        {"op": "add", "path": _at(objects.OPERATIONS), "value": stamp.operations},
        *_cause(revision.replica_set, annotations),
        *([{"op": "remove", "path": "/spec/paused"}] if is_paused(deployment) else []),
        {"op": "replace", "path": "/spec/template", "value": template},
    ]
    return Request("PATCH", deployment_path(deployment), "deployments", steps, JSON_PATCH)


def cordon(node: Obj, cordoned: bool, stamp: Stamp) -> Request:
    """Return the patch that takes a node out of use, or back."""
    body = {"metadata": _meta(stamp), "spec": {"unschedulable": cordoned}}
    return Request("PATCH", node_path(name_of(node)), "nodes", body)


def note(path: str, resource: str, version: str, moment: datetime) -> Request:
    """Return a patch that changes nothing but the object's version: what was sent for the one before is refused."""
    meta = {"resourceVersion": version, "annotations": {objects.ASKED: moment.isoformat()}}
    return Request("PATCH", path, resource, {"metadata": meta})


def delete_pod(pod: Obj, stamp: Stamp) -> Request:
    """Return the deletion of this very pod."""
    wanted = {"uid": uid_of(pod), "resourceVersion": stamp.version}
    path = pod_path(text(pod, "metadata", "namespace"), name_of(pod))
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": wanted}
    return Request("DELETE", path, "pods", body, JSON)


def evict(pod: Obj) -> Request:
    """Return the eviction of this very pod, which its disruption budget may refuse."""
    namespace, name = text(pod, "metadata", "namespace"), name_of(pod)
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"preconditions": {"uid": uid_of(pod)}},
    }
    return Request("POST", f"{pod_path(namespace, name)}/eviction", "pods/eviction", body, JSON)


def job_name(book: str, key: str) -> str:
    """Return what the job of a call is called: the same for the same key."""
    return f"{book.replace('_', '-')}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def run_job(cron_job: Obj, book: str, service: str, stamp: Stamp, *, name: str) -> Request:
    """Return the job that a pattern makes for one service, which its containers are told as ``SERVICE``."""
    namespace = text(cron_job, "metadata", "namespace")
    spec = deepcopy(dict(table(cron_job, "spec", "jobTemplate", "spec")))
    spec["ttlSecondsAfterFinished"] = KEEP_JOBS_S
    for container in items(spec, "template", "spec", "containers"):
        told = [each for each in items(container, "env") if text(each, "name") != "SERVICE"]
        container["env"] = [*told, {"name": "SERVICE", "value": service}]
    meta = {
        "name": name,
        "namespace": namespace,
        "labels": {objects.RUNBOOK: book, objects.SERVICE: service},
        "annotations": {objects.KEY: stamp.key},
    }
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
    return Request("POST", job_path(namespace), "jobs", body, JSON)


def _meta(stamp: Stamp) -> dict[str, Any]:
    return {"resourceVersion": stamp.version, "annotations": {objects.OPERATIONS: stamp.operations}}


def _at(annotation: str) -> str:
    return "/metadata/annotations/" + annotation.replace("~", "~0").replace("/", "~1")


def _cause(replica_set: Obj, annotations: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps that give a release back what was said of it, and not what was said of the one after."""
    cause = table(replica_set, "metadata", "annotations").get(objects.CAUSE)
    if cause is not None:
        return [{"op": "add", "path": _at(objects.CAUSE), "value": cause}]
    return [{"op": "remove", "path": _at(objects.CAUSE)}] if objects.CAUSE in annotations else []
