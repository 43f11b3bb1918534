"""Writes that were made on a platform: what each came to, on what, and what must hold afterwards."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from agentops.registry.once import Call
from agentops.registry.tool import NotYet, Result
from sre_agent import models
from sre_agent.connectors.effect import Gate, missing
from sre_agent.connectors.records import Node, Service, Verified


def record(call: Call, action: str, result: Result, *, target: str, disruptive: bool, gate: Gate | None) -> None:
    """Write what the operation of the call's key came to, in the transaction that claimed the key.

    ``target`` is ``service:NAME`` or ``node:NAME``; ``disruptive``: it took capacity away, if only for a while.
    Raises LookupError when nobody has claimed the key.
    """
    changed = models.Operation.objects.filter(tenant_id=call.tenant_id, key=call.key).update(
        action=action,
        result=result,
        at=call.now,
        target=target,
        disruptive=disruptive,
        gate={} if gate is None else gate.as_json(),
    )
    if not changed:
        raise LookupError(f"the key {call.key} was not claimed")


def latest_on(tenant_id: UUID, target: str) -> models.Operation | None:
    """Return the latest write on a target, None when there was none."""
    return models.Operation.objects.filter(tenant_id=tenant_id, target=target).order_by("-at", "-id").first()


def gate_of(operation: models.Operation) -> Gate | None:
    """Return what must hold after a write, None when nothing was said."""
    return Gate.from_json(operation.gate) if operation.gate else None


def to_verify(tenant_id: UUID, target: str, now: datetime) -> models.Operation:
    """Return the latest write on a target. Raises ToolFailure NOT_FOUND, and NotYet before its gate is due."""
    operation = latest_on(tenant_id, target) if target else None
    if operation is None:
        raise missing("write on this target", "target")
    gate = gate_of(operation)
    due = operation.at + timedelta(seconds=gate.after_s if gate is not None else 0)
    if now < due:
        raise NotYet(f"What was done to {target} shows at {due:%H:%M:%S} UTC.", after=due - now)
    return operation


def judged(operation: models.Operation, services: Iterable[Service], nodes: Iterable[Node]) -> Verified:
    """Return whether the gate of a write holds of the services and nodes as they are now."""
    gate = gate_of(operation)
    problems = ("Nobody said what had to hold.",) if gate is None else gate.problems(services, nodes)
    return Verified(operation.target, operation.action, operation.key, not problems, problems)
