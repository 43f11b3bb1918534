"""A cluster's services and nodes at one moment, with the objects that they were read from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from statistics import median

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, ToolFailure
from sre_agent.connectors.effect import Snapshot, conflict
from sre_agent.connectors.kubernetes import objects
from sre_agent.connectors.kubernetes.door import Cluster
from sre_agent.connectors.kubernetes.mapping import (
    UNKNOWN,
    Revision,
    dependants_of,
    is_cordoned,
    needs_of,
    node_from,
    ref_of,
    revisions_of,
    service_from,
)
from sre_agent.connectors.kubernetes.objects import Obj, name_of, selected, text
from sre_agent.connectors.measuring import priority_of
from sre_agent.connectors.port import Drain, Observatory, PlatformWrite, Uncordon
from sre_agent.connectors.records import Figures, Node, Service

LATELY = timedelta(minutes=5)
POINTS, LATEST = 5, 3
"""Into so many pieces the time is cut, and the median of so many makes the figures of a service."""
_FIGURES = ("requests", "errors_pm", "latency_ms", "processor_pm", "memory_pm", "disk_pm")


@dataclass(frozen=True)
class Sight:
    """What is seen of a cluster. Each kind of object is read once, when it is first needed."""

    cluster: Cluster
    context: CallContext
    observatory: Observatory | None
    _silent: list[ToolFailure] = field(default_factory=list)

    @cached_property
    def deployments(self) -> dict[str, Obj]:
        """The deployments that are services, by what the service is called. Raises ToolFailure."""
        found: dict[str, Obj] = {}
        for namespace in self.cluster.namespaces:
            path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
            for each in self.cluster.listed(path, "deployments", labelSelector=objects.SERVICE):
                ref = ref_of(each) or name_of(each)
                if ref in found:
                    raise conflict(f"Two deployments call themselves {ref}: {objects.SERVICE} has to be unique.")
                found[ref] = each
        return found

    @cached_property
    def replica_sets(self) -> list[Obj]:
        """All replica sets. Raises ToolFailure."""
        paths = [f"/apis/apps/v1/namespaces/{each}/replicasets" for each in self.cluster.namespaces]
        return [each for path in paths for each in self.cluster.listed(path, "replicasets")]

    @cached_property
    def pods(self) -> list[Obj]:
        """All pods of the namespaces where services are. Raises ToolFailure."""
        paths = [f"/api/v1/namespaces/{each}/pods" for each in self.cluster.namespaces]
        return [each for path in paths for each in self.cluster.listed(path, "pods")]

    @cached_property
    def machines(self) -> list[Obj]:
        """All nodes. Raises ToolFailure."""
        return self.cluster.listed("/api/v1/nodes", "nodes")

    def revisions(self, ref: str) -> list[Revision]:
        """Return what was deployed of a service, the latest last."""
        return revisions_of(self.deployments[ref], self.replica_sets)

    def pods_of(self, ref: str) -> list[Obj]:
        """Return the pods of a service, by name."""
        return selected(self.pods, self.deployments[ref])

    def service(self, ref: str, *, surely: bool) -> Service | None:
        """Return one service, None when there is none.

        ``surely``: figures that the observatory cannot give now are a ToolFailure, and not merely unknown. Otherwise an
        observatory that does not answer is not asked about the next service, so that a look waits for it once.
        """
        deployment = self.deployments.get(ref)
        if deployment is None:
            return None
        needs = {name: needs_of(each) for name, each in self.deployments.items()}
        made = service_from(
            deployment,
            self._place(deployment),
            self.revisions(ref),
            self.pods_of(ref),
            dependants_of(needs, ref),
            self._figures(ref, surely),
        )
        return replace(made, ref=ref)

    def services(self, *, surely: bool = False) -> tuple[Service, ...]:
        """Return every service, by tier and name."""
        found = [each for ref in self.deployments if (each := self.service(ref, surely=surely)) is not None]
        return tuple(sorted(found, key=lambda each: (each.tier, each.ref)))

    def nodes(self) -> tuple[Node, ...]:
        """Return every node, by name."""
        return tuple(sorted((self._node(each) for each in self.machines), key=lambda node: node.ref))

    def snapshot(self, write: PlatformWrite) -> Snapshot:
        """Return the records that a write is about, as far as they exist."""
        priority = priority_of(self.context.tenant_id, self.context.subject_id)
        now = self.context.now
        if not isinstance(write, Drain | Uncordon):
            return Snapshot(now, service=self.service(write.service_ref, surely=True), priority=priority)
        machine = self.machine(write.node_ref)
        node = None if machine is None else self._node(machine)
        here = [ref for ref, _ in node.runs] if node is not None else []
        found = [each for ref in here if (each := self.service(ref, surely=True)) is not None]
        return Snapshot(
            now,
            node=node,
            on_node=tuple(sorted(found, key=lambda each: (each.tier, each.ref))),
            nodes=sum(not is_cordoned(each) for each in self.machines),
            priority=priority,
        )

    def machine(self, ref: str) -> Obj | None:
        """Return one node's object, None when there is none."""
        return next((each for each in self.machines if name_of(each) == ref), None)

    def on_node(self, ref: str) -> list[Obj]:
        """Return every pod on a node, whose ever it is. Raises ToolFailure."""
        return self.cluster.listed("/api/v1/pods", "pods", fieldSelector=f"spec.nodeName={ref}")

    def place_of(self, write: PlatformWrite) -> str:
        """Return where a write takes place, as people call it."""
        if isinstance(write, Drain | Uncordon):
            return self.cluster.place
        return self._place(self.deployments[write.service_ref])

    def _place(self, deployment: Obj) -> str:
        return f"{self.cluster.place}/{text(deployment, 'metadata', 'namespace')}"

    def _node(self, machine: Obj) -> Node:
        runs: dict[str, int] = {}
        for ref in self.deployments:
            count = sum(text(pod, "spec", "nodeName") == name_of(machine) for pod in self.pods_of(ref))
            if count:
                runs[ref] = count
        return node_from(machine, self.cluster.place, runs)

    def _figures(self, ref: str, surely: bool) -> Figures | None:
        if self.observatory is None or (self._silent and not surely):
            return None
        # What the cluster's credential opens is not the observatory's business.
        context = replace(self.context, secret=None)
        try:
            points = self.observatory.metrics(context, ref, self.context.now - LATELY, points=POINTS)
        except ToolFailure as failure:
            if failure.kind is FailureKind.NOT_FOUND:
                return None
            if surely:
                raise
            if failure.kind is not FailureKind.VALIDATION:
                self._silent.append(failure)
            return None
        return figures_from([{name: getattr(each, name) for name in _FIGURES} for each in points[-LATEST:]])


def figures_from(points: Sequence[dict[str, int]]) -> Figures | None:
    """Return the medians of some points, None of none. What a point does not know (UNKNOWN) is no figure of it."""
    if not points:
        return None
    return Figures(**{name: _median(each[name] for each in points) for name in _FIGURES})


def _median(values: Iterable[int]) -> int:
    known = [value for value in values if value >= 0]
    return int(median(known)) if known else UNKNOWN
