"""A cluster as a test holds it: what runs there, what happens inside, what went wrong and what was done."""

import threading
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from tests.factories.fake_kubernetes import controllers
from tests.factories.fake_kubernetes.api import Api
from tests.factories.fake_kubernetes.errors import Obj
from tests.factories.fake_kubernetes.store import Store

TOKEN = "tok-full-2b1f9e"
NAMESPACE = "shop"


class Cluster:
    """One cluster with namespaces ``kube-system`` and ``shop``. Requests and tests take turns by ``lock``."""

    def __init__(self, name: str = "east") -> None:
        self.store = Store(name)
        self.api = Api(self.store, {TOKEN: None})
        self.lock = threading.RLock()
        for namespace in ("kube-system", NAMESPACE):
            self.store.add("namespaces", {"metadata": {"name": namespace}})

    @property
    def uid(self) -> str:
        """What the cluster is known by."""
        return str(self.store.get("namespaces", "", "kube-system")["metadata"]["uid"])

    def restricted(self, token: str, may: Iterable[tuple[str, str]]) -> str:
        """Make a token that may do these pairs of verb and resource."""
        self.api.tokens[token] = set(may)
        return token

    def revoke(self, token: str) -> None:
        """Let a token be none any more."""
        self.api.tokens.pop(token)

    def node(self, name: str) -> None:
        """Add a machine."""
        self.store.add("nodes", {"metadata": {"name": name}, "spec": {}})

    def service(
        self, name: str, replicas: int = 4, tag: str = "1.0.0", *, tier: str = "P2", needs: str = "", cause: str = ""
    ) -> Obj:
        """Run a service."""
        annotations = {"kubernetes.io/change-cause": cause} if cause else {}
        if needs:
            annotations["agentops.dev/depends-on"] = needs
        labels = {"agentops.dev/service": name, **({"agentops.dev/tier": tier} if tier else {})}
        container = {"name": name, "image": f"registry.internal/{name}:{tag}"}
        template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
        with self.lock:
            self.store.add(
                "deployments",
                {
                    "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": annotations},
                    "spec": {
                        "replicas": replicas,
                        "selector": {"matchLabels": {"app": name}},
                        "template": template,
                    },
                },
            )
            self.settle(name)
            return self.deployment(name)

    def deploy(self, name: str, tag: str, cause: str = "", *, settle: bool = True) -> None:
        """Deploy another image, as somebody else's pipeline does."""
        with self.lock:
            made = self.deployment(name)
            made["spec"]["template"]["spec"]["containers"][0]["image"] = f"registry.internal/{name}:{tag}"
            made["metadata"].setdefault("annotations", {})["kubernetes.io/change-cause"] = cause
            self.store.put("deployments", made)
            if settle:
                self.settle(name)

    def daemon(self, name: str, node: str) -> None:
        """Run a pod that belongs to its node."""
        owner = {"kind": "DaemonSet", "name": name, "uid": "d", "controller": True}
        meta = {
            "name": f"{name}-{node}",
            "namespace": "kube-system",
            "labels": {"app": name},
            "ownerReferences": [owner],
        }
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.store.add("pods", {"metadata": meta, "spec": {"nodeName": node}, "status": status})

    def budget(self, name: str, least: int) -> None:
        """Keep so many pods of a service at least."""
        meta = {"name": name, "namespace": NAMESPACE}
        spec = {"minAvailable": least, "selector": {"matchLabels": {"app": name}}}
        self.store.add("poddisruptionbudgets", {"metadata": meta, "spec": spec})

    def lift_budget(self, name: str) -> None:
        """Let a service keep no pods any more."""
        self.store.drop("poddisruptionbudgets", NAMESPACE, name)

    def runbook(self, name: str) -> None:
        """Keep a suspended CronJob as the pattern of a procedure."""
        pod = {
            "spec": {"containers": [{"name": "run", "image": "registry.internal/runbooks:1"}], "restartPolicy": "Never"}
        }
        spec = {
            "schedule": "0 0 31 2 *",
            "suspend": True,
            "jobTemplate": {"spec": {"backoffLimit": 0, "template": pod}},
        }
        name_ = name.replace("_", "-")
        labels = {"agentops.dev/runbook": name}
        self.store.add(
            "cronjobs", {"metadata": {"name": name_, "namespace": NAMESPACE, "labels": labels}, "spec": spec}
        )

    def deployment(self, name: str) -> Obj:
        """Return a copy of a deployment."""
        with self.lock:
            return deepcopy(self.store.get("deployments", NAMESPACE, name))

    def change(self, name: str, **meta_annotations: str) -> None:
        """Write annotations on a deployment, from elsewhere: its version moves, its generation does not."""
        with self.lock:
            made = self.deployment(name)
            made["metadata"].setdefault("annotations", {}).update(meta_annotations)
            self.store.put("deployments", made)

    def pods(self, name: str) -> list[Obj]:
        """Return the pods of a service, the oldest first."""
        with self.lock:
            return deepcopy(controllers.pods_of(self.store, self.deployment(name)))

    def advance(self, name: str) -> bool:
        """Let the next piece of a rollout happen."""
        with self.lock:
            return controllers.advance(self.store, NAMESPACE, name)

    def settle(self, name: str) -> None:
        """Let a rollout come to its end."""
        with self.lock:
            controllers.settle(self.store, NAMESPACE, name)

    def image(self, name: str) -> str:
        """Return the tag that a service is to run."""
        containers = self.deployment(name)["spec"]["template"]["spec"]["containers"]
        return str(containers[0]["image"]).rpartition(":")[2]

    def effects(self, resource: str = "") -> list[Obj]:
        """Return what requests changed, in order; a note on an object that changes no spec is none."""
        with self.lock:
            return [
                entry for entry in self.store.effects if resource in ("", entry["resource"]) and entry.get("spec", True)
            ]

    def everything(self) -> dict[Any, Obj]:
        """Return a copy of all objects."""
        with self.lock:
            return deepcopy(self.store.objects)
