"""The embedded platform: writes on services and nodes of the tenant's simulated estate, once for each key.

The estate's row is locked before anything is read, so writes wait for each other, and the estate stands at the present.
"""

from typing import assert_never

from django.db import transaction

from agentops.kernel.errors import FailureKind
from agentops.registry.once import Once, call_of, fingerprint_of, require_versions
from agentops.registry.tool import CallContext, Preview, Result, ToolFailure
from sre_agent.connectors import node_rules, reading, service_rules
from sre_agent.connectors.effect import Effect, Snapshot
from sre_agent.connectors.moving import NoEstate, keep, to_present
from sre_agent.connectors.port import Drain, HaltRestart, PlatformWrite, Restart, RollBack, RunBook, Scale, Uncordon
from sre_agent.connectors.records import Service
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
            return reading.services_of(context.tenant_id, _present(context), context.now)

    @ONCE.answering()
    def preview(self, context: CallContext, write: PlatformWrite) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""
        with transaction.atomic():
            return _planned(_read(context, _present(context), write), write).preview

    def write(self, context: CallContext, write: PlatformWrite) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        The same key with the same arguments returns the recorded result; with others it is a CONFLICT.
        """

        def act() -> Result:
            estate = _present(context)
            snapshot = _read(context, estate, write)
            require_versions(context, snapshot.versions())
            effect = _planned(snapshot, write)
            keep(context.tenant_id, _acted(estate, write))
            ONCE.record(call_of(context), effect.result)
            return effect.result

        return ONCE.write(context, fingerprint_of(context, write), type(write).__name__, act)

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the key, None when it took no effect. Waits for a write that is under way."""
        return ONCE.outcome(context)


def _present(context: CallContext) -> Estate:
    try:
        return to_present(context.tenant_id, context.now)
    except NoEstate as error:
        raise ToolFailure(FailureKind.NOT_FOUND, "There is no estate.") from error


def _read(context: CallContext, estate: Estate, write: PlatformWrite) -> Snapshot:
    """Return the records that the write is about, as far as they exist."""
    if not isinstance(write, Drain | Uncordon):
        service = reading.service_of(context.tenant_id, estate, write.service_ref, context.now)
        return Snapshot(context.now, service=service)
    node = reading.node_of(estate, write.node_ref)
    here = {ref for ref, _ in node.runs} if node is not None else set()
    services = reading.services_of(context.tenant_id, estate, context.now)
    return Snapshot(
        context.now,
        node=node,
        on_node=tuple(service for service in services if service.ref in here),
        nodes=sum(not each.cordoned for each in estate.nodes.values()),
    )


def _planned(snapshot: Snapshot, write: PlatformWrite) -> Effect:
    """Return what ``write`` comes to. Raises ToolFailure when it is refused."""
    match write:
        case Restart():
            return service_rules.plan_restart(snapshot, write)
        case HaltRestart():
            return service_rules.plan_halt(snapshot, write)
        case Scale():
            return service_rules.plan_scale(snapshot, write)
        case RollBack():
            return service_rules.plan_roll_back(snapshot, write)
        case RunBook():
            return service_rules.plan_book(snapshot, write)
        case Drain():
            return node_rules.plan_drain(snapshot, write)
        case Uncordon():
            return node_rules.plan_uncordon(snapshot, write)
        case _:
            assert_never(write)


def _acted(estate: Estate, write: PlatformWrite) -> Estate:
    """Return the estate after the write. Raises ToolFailure for what the estate itself refuses."""
    try:
        if isinstance(write, Drain | Uncordon):
            generation = estate.nodes[write.node_ref].generation
            act = actions.drain if isinstance(write, Drain) else actions.uncordon
            return act(estate, write.node_ref, generation)
        return _acted_on_service(estate, write, estate.services[write.service_ref].generation)
    except Refused as error:
        raise ToolFailure(_KINDS[error.why], str(error)) from error


def _acted_on_service(
    estate: Estate, write: Restart | HaltRestart | Scale | RollBack | RunBook, generation: int
) -> Estate:
    match write:
        case Restart():
            return actions.restart(estate, write.service_ref, generation)
        case HaltRestart():
            return actions.halt_restart(estate, write.service_ref, generation)
        case Scale():
            return actions.scale(estate, write.service_ref, generation, write.replicas)
        case RollBack():
            return actions.roll_back(estate, write.service_ref, generation, write.version)
        case RunBook():
            return actions.run_book(estate, write.service_ref, generation, Runbook(write.book))
        case _:
            assert_never(write)
