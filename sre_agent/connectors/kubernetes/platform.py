"""The platform's port on a Kubernetes cluster. What was done there is on record here, beside the objects themselves."""

from collections.abc import Sequence
from datetime import datetime

from agentops.registry.once import fingerprint_of
from agentops.registry.tool import CallContext, Preview, Result
from sre_agent.connectors import operations
from sre_agent.connectors.effect import missing
from sre_agent.connectors.kubernetes import carrying, evicting
from sre_agent.connectors.kubernetes.carrying import ONCE
from sre_agent.connectors.kubernetes.door import opened
from sre_agent.connectors.kubernetes.planning import plan
from sre_agent.connectors.kubernetes.reading import Sight
from sre_agent.connectors.port import Drain, Observatory, PlatformWrite
from sre_agent.connectors.records import Node, Release, Service, Verified
from sre_agent.models import ClusterWrite


class KubernetesPlatform:
    """Implements ``Platform``. Holds no state, and no token longer than a call takes.

    ``observatory`` tells how services do; without one nothing is known of that, and no gate that asks for it holds.
    """

    def __init__(self, observatory: Observatory | None = None) -> None:
        self._observatory = observatory

    def services(self, context: CallContext) -> Sequence[Service]:
        """Return every service as it is now, by tier and name. Raises ToolFailure."""
        return self._sight(context).services()

    def nodes(self, context: CallContext) -> Sequence[Node]:
        """Return every node as it is now, by name. Raises ToolFailure."""
        return self._sight(context).nodes()

    def deploys(self, context: CallContext, service_ref: str, since: datetime) -> Sequence[Release]:
        """Return what was deployed of a service since a moment, the latest first. Raises ToolFailure NOT_FOUND."""
        sight = self._sight(context)
        if service_ref not in sight.deployments:
            raise missing("service", "service")
        found = [each.release for each in sight.revisions(service_ref)]
        return tuple(each for each in reversed(found) if each.at >= since)

    def preview(self, context: CallContext, write: PlatformWrite) -> Preview:
        """Return what ``write`` would do. The server tries the request out. Raises ToolFailure when it is refused."""
        sight = self._sight(context)
        planned = plan(sight, write)
        sight.cluster.try_out(planned.request("dry-run", context.now))
        if isinstance(write, Drain):
            evicting.require_allowed(sight.cluster, sight.on_node(write.node_ref))
        return planned.preview(sight.place_of(write))

    def write(self, context: CallContext, write: PlatformWrite) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        The same key with the same arguments returns the recorded result; with others it is a CONFLICT.
        """
        fingerprint = fingerprint_of(context, write)
        known = ONCE.known(context, fingerprint)
        if known is not None:
            return known
        sight = self._sight(context)
        with ONCE.answering():
            row, is_new = carrying.begin(context, fingerprint, type(write).__name__)
            if not is_new:
                found = carrying.settled(context, sight.cluster, row)
                if found is not None:
                    return found
            return carrying.carry(sight, write, row)

    def outcome(self, context: CallContext) -> Result | None:
        """Return what became of the context's key, None when it certainly had no effect. Raises OutcomeUnknown."""
        recorded = ONCE.outcome(context)
        if recorded is not None:
            return recorded
        with ONCE.answering():
            row = ClusterWrite.objects.filter(tenant_id=context.tenant_id, key=context.idempotency_key).first()
            if row is None:
                return None
            found = carrying.settled(context, opened(context.secret), row)
            if found is None:
                carrying.forget(row)
            return found

    def verified(self, context: CallContext, target: str) -> Verified:
        """Return whether the gate of the latest write on ``target`` holds. Raises ToolFailure NOT_FOUND, or NotYet."""
        with ONCE.answering():
            operation = operations.to_verify(context.tenant_id, target, context.now)
        sight = self._sight(context)
        return operations.judged(operation, sight.services(surely=True), sight.nodes())

    def _sight(self, context: CallContext) -> Sight:
        return Sight(opened(context.secret), context, self._observatory)
