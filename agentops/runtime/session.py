"""A session as the worker that holds it sees it: its row, its lease, and its history folded from the ledger."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from agentops.kernel.canonical import loads
from agentops.ledger.queries import StreamEvent, events_of
from agentops.registry.planner import Observation, ObservationStatus
from agentops.runtime.models import Session


@dataclass
class Held:
    """A claimed session. ``position``, ``steps`` and the counters follow every durable point."""

    id: UUID
    tenant_id: UUID
    agent_version_id: UUID
    role: str
    subject_kind: str
    subject_id: str
    customer_id: str
    owner: str
    fence: int
    position: int
    steps: int
    writes: int
    attempts: int
    worked_ms: int
    cost_micro: int
    created_at: datetime
    history: list[Observation] = field(default_factory=list)
    stop_code: str = ""
    achieved: set[str] = field(default_factory=set)


@dataclass
class Folded:
    """What a stream's events add up to."""

    history: list[Observation] = field(default_factory=list)
    stop_code: str = ""
    achieved: set[str] = field(default_factory=set)


_ENDINGS = {
    "call.read": ObservationStatus.OK,
    "call.read_failed": ObservationStatus.FAILED,
    "call.refused": ObservationStatus.REFUSED,
    "call.succeeded": ObservationStatus.OK,
    "call.failed": ObservationStatus.FAILED,
    "call.unknown": ObservationStatus.UNKNOWN,
    "model.malformed": ObservationStatus.REFUSED,
    "approval.rejected": ObservationStatus.REJECTED,
    "approval.expired": ObservationStatus.EXPIRED,
}


def fold(events: list[StreamEvent]) -> Folded:
    """Return the history that ``events`` tell, in their order (pure)."""
    folded = Folded()
    proposed: dict[str, tuple[str, Any]] = {}
    for event in events:
        body: dict[str, Any] = {} if event.body is None else loads(event.body)
        invocation = event.refs.get("invocation", "")
        if "arguments" in body and invocation:
            proposed[invocation] = (event.facts["tool"], body["arguments"])
        if event.type == "session.stopping":
            folded.stop_code = event.facts["code"]
        status = _ENDINGS.get(event.type)
        if status is None:
            continue
        tool, arguments = proposed.get(invocation, (event.facts.get("tool", ""), body.get("arguments")))
        folded.history.append(Observation(len(folded.history) + 1, tool, arguments, status, body.get("result")))
        if status is ObservationStatus.OK and event.facts.get("outcome"):
            folded.achieved.add(event.facts["outcome"])
    return folded


def load(row: Session, *, owner: str) -> Held:
    """Return the claimed session with its history. One query, whatever the session's length."""
    folded = fold(events_of(row.id))
    return Held(
        id=row.id,
        tenant_id=row.tenant_id,
        agent_version_id=row.agent_version_id,
        role=row.role,
        subject_kind=row.subject_kind,
        subject_id=row.subject_id,
        customer_id=row.customer_id,
        owner=owner,
        fence=row.fence,
        position=row.position,
        steps=row.steps,
        writes=row.writes,
        attempts=row.attempts,
        worked_ms=row.worked_ms,
        cost_micro=row.cost_micro,
        created_at=row.created_at,
        history=folded.history,
        stop_code=folded.stop_code,
        achieved=folded.achieved,
    )
