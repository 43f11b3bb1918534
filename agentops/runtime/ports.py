"""What the runtime needs from outside itself. Settings name the implementation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Protocol, cast
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from agentops.kernel.money import Money
from agentops.registry.role import QueueDefault


@dataclass(frozen=True)
class ApprovalCase:
    """A proposed call as it goes before a person. Everything here is frozen and covered by one digest.

    ``reasons`` are the rules that fired as (rule, effect, words). ``rationale`` is the planner's claim,
    ``subject_text`` comes from outside; both are untrusted. ``supersedes`` is the voided request that this
    one replaces because the record changed. ``people`` is how many different people must approve, at most MOST_PEOPLE.
    ``facts`` are what the verdict rests on, in the form of ``policy.facts.recorded``. ``editor`` is the person who
    proposes it instead of the planner, as an actor, and may not decide it. ``tags`` are the tool's; ``queue_named``: a
    rule that fired named the queue, it is not just the tool's own. ``customer_email`` is the customer's address in the
    system of record: whoever has that mailbox, or the sender's, gains by the call.
    """

    tenant_id: UUID
    session_id: UUID
    invocation_id: UUID
    position: int
    agent: str
    agent_version_id: UUID
    tool: str
    tool_version: int
    tier: str
    reversibility: str
    irreversible: bool
    queue: str
    arguments: dict[str, Any]
    preview: dict[str, Any]
    effect: str
    target: str
    sender: str
    money: Money | None
    policy_version: str
    reasons: tuple[tuple[str, str, str], ...]
    rationale: str
    subject_kind: str
    subject_id: str
    subject_title: str
    subject_text: str
    requester: str
    requested_at: datetime
    supersedes: UUID | None = None
    people: int = 1
    facts: dict[str, Any] = field(default_factory=dict)
    editor: str = ""
    tags: tuple[str, ...] = ()
    queue_named: bool = False
    customer_email: str = ""


class ApprovalState(StrEnum):
    """What became of a request."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    VOIDED = "voided"


@dataclass(frozen=True)
class Resolution:
    """The state of a request as the runtime sees it, with the preview, the rules and the facts that the person saw.

    ``person`` names all who approved, or who rejected; it and ``reason`` are empty while nobody has. ``unfit`` says why
    an approval does not hold any more although nothing in it changed: somebody who gave it may not decide any more.
    """

    request_id: UUID
    state: ApprovalState
    person: str = ""
    reason: str = ""
    preview: dict[str, Any] | None = None
    policy_version: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    unfit: str = ""


class ApprovalGate(Protocol):
    """People who decide. Implemented by the approvals app."""

    def open(self, case: ApprovalCase) -> UUID:
        """Record a request, in the caller's transaction, and return its id."""

    def resolution(self, invocation_id: UUID) -> Resolution:
        """Return what became of the newest request for this call."""

    def withdraw(self, invocation_id: UUID, reason: str) -> UUID | None:
        """Withdraw the pending or approved request for this call, in the caller's transaction, and return its id.

        None when there is none any more. Locks the request.
        """

    def ensure_queues(self, tenant_id: UUID, queues: Sequence[QueueDefault]) -> None:
        """Make the queues that a role's tools name, where the tenant has them not yet."""

    def queues_of(self, tenant_id: UUID) -> frozenset[str]:
        """Return the names by which tools and rules call the tenant's queues."""

    def answered(self, invocation_id: UUID, words: str) -> None:
        """Keep with the pending request for this call what the agent answered, in the caller's transaction.

        ``words`` are the agent's claim. Locks the request. Nothing is kept when it is not pending any more.
        """

    def do_due(self, limit: int) -> int:
        """Do what time asks for, such as expiring requests, each in its own transaction, and return how much."""


@cache
def approval_gate() -> ApprovalGate:
    """Return the gate that ``settings.APPROVAL_GATE`` names."""
    return cast("ApprovalGate", import_string(settings.APPROVAL_GATE)())


def further_duties() -> tuple[Callable[[datetime, int], int], ...]:
    """Return what ``settings.SWEEP_DUTIES`` names: each takes the moment and a limit, and returns how much it did."""
    return tuple(import_string(path) for path in settings.SWEEP_DUTIES)
