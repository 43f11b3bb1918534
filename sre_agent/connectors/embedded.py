"""The embedded platform: writes on services and nodes of the tenant's simulated estate, once for each key.

The estate's row is locked before anything is read, so writes wait for each other, and the estate stands at the present.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from django.db import transaction

from agentops.kernel.errors import FailureKind
from agentops.registry.once import Once, call_of, fingerprint_of
from agentops.registry.tool import CallContext, Preview, Result, ToolFailure
from sre_agent.connectors import claiming, operations, reading
from sre_agent.connectors.deciding import decided
from sre_agent.connectors.effect import Effect, Snapshot, missing
from sre_agent.connectors.measuring import priority_of
from sre_agent.connectors.moving import NoEstate, Sight, keep, look
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
from sre_agent.connectors.records import Node, Release, Service, Verified
from sre_agent.estate import actions
from sre_agent.estate.actions import Refusal, Refused, Runbook
from sre_agent.estate.values import Estate
from sre_agent.models import Operation

ONCE = Once(Operation, "incident_ref", "embedded estate")

_KINDS = {
    Refusal.UNKNOWN: FailureKind.NOT_FOUND,
    Refusal.CHANGED: FailureKind.CONFLICT,
    Refusal.ROLLING: FailureKind.CONFLICT,
    Refusal.IMPOSSIBLE: FailureKind.CONFLICT,
}


class EmbeddedPlatform:
    """Holds no state."""

    @ONCE.answering()
    def services(self, context: CallContext) -> tuple[Service, ...]:
        """Return every service as it is now, by tier and name. Raises ToolFailure NOT_FOUND without an estate."""
        with transaction.atomic():
            return reading.services_of(context.tenant_id, seen(context))

    @ONCE.answering()
    def nodes(self, context: CallContext) -> tuple[Node, ...]:
        """Return every node as it is now, by name. Raises ToolFailure NOT_FOUND without an estate."""
        with transaction.atomic():
            return reading.nodes_of(seen(context))

    @ONCE.answering()
    def deploys(self, context: CallContext, service_ref: str, since: datetime) -> tuple[Release, ...]:
        """Return what was deployed of a service since a moment, the latest first. Raises ToolFailure NOT_FOUND."""
        with transaction.atomic():
            sight = seen(context)
        service = sight.estate.services.get(service_ref)
        if service is None:
            raise missing("service", "service")
        return tuple(each for each in reversed(reading.releases_of(sight, service)) if each.at >= since)

    @ONCE.answering()
    def preview(self, context: CallContext, write: PlatformWrite) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""
        with transaction.atomic():
            return _planned(context, seen(context), write).effect.preview

    def write(self, context: CallContext, write: PlatformWrite) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        The same key with the same arguments returns the recorded result; with others it is a CONFLICT. The target is
        claimed for the session's incident in the same transaction.
        """
        action = type(write).__name__

        def act() -> Result:
            sight = seen(context)
            plan = _planned(context, sight, write)
            if context.subject_id:
                claiming.take(context.tenant_id, plan.target, context.subject_id, sight.now)
            keep(context.tenant_id, plan.estate)
            result: Result = {**plan.effect.result, "version": _version(plan.estate, write)}
            call = replace(call_of(context), now=sight.now)
            gate, disruptive = plan.effect.gate, plan.effect.disruptive
            operations.record(call, action, result, target=plan.target, disruptive=disruptive, gate=gate)
            return result

        return ONCE.write(context, fingerprint_of(context, write), action, act)

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the key, None when it took no effect. Waits for a write that is under way."""
        return ONCE.outcome(context)

    @ONCE.answering()
    def verified(self, context: CallContext, target: str) -> Verified:
        """Return whether the gate of the latest write on ``target`` holds. Raises ToolFailure NOT_FOUND, or NotYet."""
        with transaction.atomic():
            sight = seen(context)
            operation = operations.to_verify(context.tenant_id, target, sight.now)
            services = reading.services_of(context.tenant_id, sight)
            return operations.judged(operation, services, reading.nodes_of(sight))


def seen(context: CallContext) -> Sight:
    """Return the tenant's estate at the present, its row locked. Raises ToolFailure NOT_FOUND without an estate."""
    try:
        return look(context.tenant_id, context.now)
    except NoEstate as error:
        raise ToolFailure(FailureKind.NOT_FOUND, "There is no estate.") from error


@dataclass(frozen=True)
class _Plan:
    """What a write comes to, and the estate after it."""

    effect: Effect
    estate: Estate

    @property
    def target(self) -> str:
        return self.effect.preview.target


def _planned(context: CallContext, sight: Sight, write: PlatformWrite) -> _Plan:
    """Return what ``write`` comes to, for the context's incident. Raises ToolFailure when it is refused."""
    effect = decided(context, _read(context, sight, write), write)
    return _Plan(effect, _acted(sight.estate, write))


def _read(context: CallContext, sight: Sight, write: PlatformWrite) -> Snapshot:
    """Return the records that the write is about, as far as they exist."""
    priority = priority_of(context.tenant_id, context.subject_id)
    if not isinstance(write, Drain | Uncordon):
        service = reading.service_of(context.tenant_id, sight, write.service_ref)
        return Snapshot(sight.now, service=service, priority=priority)
    node = reading.node_of(sight, write.node_ref)
    here = {ref for ref, _ in node.runs} if node is not None else set()
    services = reading.services_of(context.tenant_id, sight)
    return Snapshot(
        sight.now,
        node=node,
        on_node=tuple(service for service in services if service.ref in here),
        nodes=sum(not each.cordoned for each in sight.estate.nodes.values()),
        priority=priority,
    )


def _acted(estate: Estate, write: PlatformWrite) -> Estate:
    """Return the estate after the write. Raises ToolFailure for what the estate itself refuses."""
    try:
        if isinstance(write, Drain | Uncordon):
            act = actions.drain if isinstance(write, Drain) else actions.uncordon
            return act(estate, write.node_ref, _version(estate, write))
        return _acted_on_service(estate, write, _version(estate, write))
    except Refused as error:
        raise ToolFailure(_KINDS[error.why], str(error)) from error


def _acted_on_service(estate: Estate, write: ServiceWrite, generation: int) -> Estate:
    match write:
        case Restart():
            return actions.restart(estate, write.service_ref, generation)
        case HaltRestart():
            return actions.halt_restart(estate, write.service_ref, generation)
        case Scale():
            return actions.scale(estate, write.service_ref, generation, write.replicas)
        case Stop():
            return actions.stop(estate, write.service_ref, generation)
        case DeleteReplica():
            return actions.delete_replica(estate, write.service_ref, generation, write.replica)
        case RollBack():
            return actions.roll_back(estate, write.service_ref, generation, write.version)
        case RunBook():
            return actions.run_book(estate, write.service_ref, generation, Runbook(write.book))
        case _:
            assert_never(write)


def _version(estate: Estate, write: PlatformWrite) -> int:
    """Return the version of what a write is about, which exists."""
    if isinstance(write, Drain | Uncordon):
        return estate.nodes[write.node_ref].generation
    return estate.services[write.service_ref].generation
