"""A proposed call as the runtime puts it before people, without a session behind it."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agentops.kernel.ids import new_id
from agentops.runtime.ports import ApprovalCase
from approvals.gate import Gate
from approvals.models import ApprovalRequest

NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)


def case_of(tenant_id: UUID, **other: Any) -> ApprovalCase:
    """Return a case of the toy role's tool ``pay``."""
    usual: dict[str, Any] = {
        "tenant_id": tenant_id,
        "session_id": new_id(),
        "invocation_id": new_id(),
        "position": 3,
        "agent": "Payer@1",
        "agent_version_id": new_id(),
        "tool": "pay",
        "tool_version": 1,
        "tier": "write_hard",
        "reversibility": "can be paid back",
        "irreversible": False,
        "queue": "payments",
        "arguments": {"account": "a-1", "minor": 5000},
        "preview": {"effect": "Pay $50.00 from a-1", "target": "customer:ann", "changes": []},
        "effect": "Pay $50.00 from a-1",
        "target": "customer:ann",
        "sender": "ann@example.com",
        "money": None,
        "policy_version": "p1",
        "reasons": (("limit", "ask", "More than $25.00."),),
        "rationale": "It is owed.",
        "subject_kind": "work",
        "subject_id": "w-1",
        "subject_title": "Work w-1",
        "subject_text": "Please pay.",
        "requester": "agent:Payer@1",
        "requested_at": NOW,
    }
    return ApprovalCase(**{**usual, **other})


def open_request(tenant_id: UUID, **other: Any) -> ApprovalRequest:
    """Open a request through the runtime's door, and return it as it is stored."""
    return ApprovalRequest.objects.get(pk=Gate().open(case_of(tenant_id, **other)))
