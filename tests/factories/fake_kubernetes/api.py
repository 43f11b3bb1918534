"""The requests that the API server answers: who may what, what is read, what a write does, and a dry run does not."""

import re
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from tests.factories.fake_kubernetes import controllers
from tests.factories.fake_kubernetes.errors import Answer, Obj, Refusal
from tests.factories.fake_kubernetes.patching import patched
from tests.factories.fake_kubernetes.store import Store

_PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[a-z.]+)/v1)(?:/namespaces/(?P<namespace>[a-z0-9-]+))?"
    r"/(?P<plural>[a-z]+)(?:/(?P<name>[a-z0-9.-]+))?(?:/(?P<sub>[a-z]+))?\Z"
)
_GROUPS = {
    "deployments": "apps",
    "replicasets": "apps",
    "pods": "",
    "nodes": "",
    "events": "",
    "namespaces": "",
    "jobs": "batch",
    "cronjobs": "batch",
    "poddisruptionbudgets": "policy",
}
_VERBS = {"GET": "get", "PATCH": "patch", "POST": "create", "DELETE": "delete"}
_READS = {"labelSelector", "fieldSelector", "limit", "continue"}
_WRITES = {"dryRun", "fieldManager"}


@dataclass(frozen=True)
class Call:
    """A request that was understood."""

    verb: str
    plural: str
    namespace: str
    name: str
    sub: str
    query: dict[str, str]
    body: Any
    content_type: str

    @property
    def resource(self) -> str:
        """Return the resource as RBAC names it."""
        return f"{self.plural}/{self.sub}" if self.sub else self.plural

    @property
    def is_dry(self) -> bool:
        """Return whether nothing may be kept. A deletion with a body is told there, and its address is not read."""
        if self.verb == "delete" and self.body is not None:
            return bool(self.body.get("dryRun") == ["All"])
        return self.query.get("dryRun") == "All"


@dataclass
class Api:
    """Answers requests. ``tokens`` says what each may: pairs of verb and resource, or None for everything."""

    store: Store
    tokens: dict[str, set[tuple[str, str]] | None] = field(default_factory=dict)
    prompt: bool = True
    """Whether a pod that is started takes requests at once."""

    def answer(self, method: str, path: str, query: dict[str, str], told: dict[str, str], body: Any) -> Answer:
        """Answer one request."""
        try:
            call = _understood(method, path, query, told.get("content-type", ""), body)
            self._require_allowed(call, told.get("authorization", ""))
            return self._answered(call)
        except Refusal as refusal:
            return Answer(refusal.code, refusal.body(), "1" if refusal.code in (429, 503) else "")

    def _require_allowed(self, call: Call, authorization: str) -> None:
        token = authorization.removeprefix("Bearer ")
        if token not in self.tokens:
            raise Refusal(401, "Unauthorized")
        may = self.tokens[token]
        if may is not None and (call.verb, call.resource) not in may:
            words = (
                f'{call.plural} "{call.name}" is forbidden: User "agentops" cannot {call.verb} resource'
                f' "{call.resource}" in API group "{_GROUPS[call.plural]}"'
            )
            raise Refusal(403, words)

    def _answered(self, call: Call) -> Answer:
        match call.verb:
            case "get":
                return Answer(200, self.store.get(call.plural, call.namespace, call.name))
            case "list":
                return Answer(200, self._listed(call))
            case "patch" if not call.sub:
                return self._patched(call)
            case "create" if call.resource == "pods/eviction":
                return self._evicted(call)
            case "create" if call.plural == "jobs":
                return self._created(call)
            case "delete" if call.plural == "pods":
                return self._deleted(call)
            case _:
                raise Refusal(400, f"this fake does not {call.verb} {call.resource}")

    def _listed(self, call: Call) -> Obj:
        found = [each for each in self.store.all(call.plural, call.namespace or None) if _chosen(each, call.query)]
        first, most = int(call.query.get("continue") or 0), int(call.query.get("limit") or len(found) or 1)
        more = {"continue": str(first + most)} if first + most < len(found) else {}
        return {"kind": "List", "metadata": {"resourceVersion": str(self.store.count), **more},
                "items": found[first : first + most]}  # fmt: skip

    def _patched(self, call: Call) -> Answer:
        before = self.store.get(call.plural, call.namespace, call.name)
        after = patched(before, call.content_type, call.body)
        self.store.require_version(call.plural, before, after["metadata"].get("resourceVersion"))
        replicas = after.get("spec", {}).get("replicas", 0)
        if not isinstance(replicas, int) or replicas < 0:
            raise Refusal(422, "spec.replicas: Invalid value: must be greater than or equal to 0")
        if call.is_dry:
            return Answer(200, after)
        done = self.store.put(call.plural, after)
        self._log(call, spec=before.get("spec") != done.get("spec"))
        return Answer(200, done)

    def _created(self, call: Call) -> Answer:
        body = deepcopy(call.body)
        body["metadata"]["namespace"] = call.namespace
        if call.is_dry:
            if (call.plural, call.namespace, body["metadata"]["name"]) in self.store.objects:
                raise Refusal(409, "already exists", "AlreadyExists")
            return Answer(201, body)
        made = self.store.add(call.plural, body)
        self._log(call, name=made["metadata"]["name"])
        return Answer(201, made)

    def _deleted(self, call: Call) -> Answer:
        pod = self._required(call, (call.body or {}).get("preconditions", {}))
        if not call.is_dry:
            self._gone(call, pod)
        return Answer(200, pod)

    def _evicted(self, call: Call) -> Answer:
        pod = self._required(call, (call.body.get("deleteOptions") or {}).get("preconditions", {}))
        if self._is_guarded(pod):
            raise Refusal(429, "Cannot evict pod as it would violate the pod's disruption budget.")
        if not call.is_dry:
            self._gone(call, pod)
        return Answer(201, {"kind": "Status", "status": "Success"})

    def _required(self, call: Call, wanted: Obj) -> Obj:
        pod = self.store.get("pods", call.namespace, call.name)
        for name, value in wanted.items():
            if pod["metadata"][name] != value:
                raise Refusal(409, f"the {name} in the precondition ({value}) does not match the {name} in record")
        return pod

    def _gone(self, call: Call, pod: Obj) -> None:
        self.store.drop("pods", call.namespace, call.name)
        self._log(call)
        controllers.replace_pod(self.store, pod)
        if self.prompt:
            for deployment in list(self.store.all("deployments", call.namespace)):
                controllers.advance(self.store, call.namespace, deployment["metadata"]["name"])

    def _is_guarded(self, pod: Obj) -> bool:
        namespace, labels = pod["metadata"]["namespace"], pod["metadata"].get("labels", {})
        for budget in self.store.all("poddisruptionbudgets", namespace):
            if all(labels.get(name) == value for name, value in budget["spec"]["selector"]["matchLabels"].items()):
                covered = [
                    each
                    for each in self.store.all("pods", namespace)
                    if budget["spec"]["selector"]["matchLabels"].items() <= each["metadata"].get("labels", {}).items()
                ]
                if sum(controllers.is_ready(each) for each in covered) - 1 < budget["spec"]["minAvailable"]:
                    return True
        return False

    def _log(self, call: Call, **more: Any) -> None:
        entry = {
            "verb": call.verb,
            "resource": call.resource,
            "name": call.name,
            "manager": call.query.get("fieldManager"),
        }
        self.store.effects.append({**entry, **more})


def _understood(method: str, path: str, query: dict[str, str], content_type: str, body: Any) -> Call:
    found = _PATH.match(path)
    if found is None or method not in _VERBS or found["plural"] not in _GROUPS:
        raise Refusal(404, "the server could not find the requested resource")
    plural, namespace, name = found["plural"], found["namespace"] or "", found["name"] or ""
    if (found["group"] or "") != _GROUPS[plural]:
        raise Refusal(404, "the server could not find the requested resource")
    unknown = set(query) - (_READS if method == "GET" else _WRITES)
    if unknown:
        raise Refusal(400, f"this fake knows no parameter {', '.join(sorted(unknown))}")
    verb = "list" if method == "GET" and not name else _VERBS[method]
    return Call(verb, plural, namespace, name, found["sub"] or "", query, body, content_type)


def _chosen(obj: Obj, query: dict[str, str]) -> bool:
    labels = obj["metadata"].get("labels", {})
    for part in filter(None, query.get("labelSelector", "").split(",")):
        name, equals, value = part.partition("=")
        if name not in labels or (equals and labels[name] != value):
            return False
    for part in filter(None, query.get("fieldSelector", "").split(",")):
        name, _, value = part.partition("=")
        if name != "spec.nodeName":
            raise Refusal(400, f"this fake knows no field {name}")
        if obj["spec"]["nodeName"] != value:
            return False
    return True
