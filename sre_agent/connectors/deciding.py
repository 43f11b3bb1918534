"""What a write on any platform comes to: by the rules, and by what is on record of its target.

What the platform is does not matter: it gives the snapshot, and carries the effect out.
"""

from dataclasses import replace
from typing import assert_never

from agentops.registry.once import require_versions
from agentops.registry.tool import CallContext
from sre_agent.connectors import book_rules, claiming, node_rules, service_rules
from sre_agent.connectors.effect import Effect, Snapshot, conflict
from sre_agent.connectors.measuring import measured
from sre_agent.connectors.port import (
    DeleteReplica,
    Drain,
    HaltRestart,
    PlatformWrite,
    Restart,
    RollBack,
    RunBook,
    Scale,
    Stop,
    Uncordon,
)


def decided(context: CallContext, snapshot: Snapshot, write: PlatformWrite) -> Effect:
    """Return what ``write`` comes to, for the context's incident. Raises ToolFailure when it is refused."""
    versions = snapshot.versions()
    if versions:
        # What is gone is not found, rather than changed.
        require_versions(context, versions)
    effect = effect_of(snapshot, write)
    preview = effect.preview
    held = claiming.standing(context.tenant_id, preview.target, snapshot.now)
    if held is not None and held.incident_ref != context.subject_id:
        raise conflict(f"{preview.target} is being worked on for {held.incident_ref}.")
    touched = [service.ref for service in (snapshot.service, *snapshot.on_node) if service is not None]
    measures = {**preview.measures, **measured(context.tenant_id, preview.target, touched, snapshot.now)}
    return replace(effect, preview=replace(preview, measures=measures))


def effect_of(snapshot: Snapshot, write: PlatformWrite) -> Effect:
    """Return what ``write`` shows and what must hold after it. Raises ToolFailure when it is refused."""
    match write:
        case Restart():
            return service_rules.plan_restart(snapshot, write)
        case HaltRestart():
            return service_rules.plan_halt(snapshot, write)
        case Scale():
            return service_rules.plan_scale(snapshot, write)
        case Stop():
            return service_rules.plan_stop(snapshot, write)
        case DeleteReplica():
            return service_rules.plan_delete(snapshot, write)
        case RollBack():
            return service_rules.plan_roll_back(snapshot, write)
        case RunBook():
            return book_rules.plan_book(snapshot, write)
        case Drain():
            return node_rules.plan_drain(snapshot, write)
        case Uncordon():
            return node_rules.plan_uncordon(snapshot, write)
        case _:
            assert_never(write)
