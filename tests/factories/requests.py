"""Requests with other words in them, as if the gate had opened them so."""

from typing import Any

from agentops.kernel.money import Money
from agentops.runtime.ports import ApprovalCase
from approvals.digest import digest_of
from approvals.models import ApprovalRequest


def rewritten(request: ApprovalRequest, **fields: Any) -> ApprovalRequest:
    """Give a request other contents together with the digest that covers them. ``preview`` is laid over the old one."""
    if "preview" in fields:
        fields["preview"] = {**request.preview, **fields["preview"]}
    ApprovalRequest.objects.filter(pk=request.pk).update(**fields)
    row = ApprovalRequest.objects.select_related("queue").get(pk=request.pk)
    row.digest = digest_of(row)
    row.save(update_fields=["digest"])
    return row


def case_of(row: ApprovalRequest, **other: Any) -> ApprovalCase:
    """Return the case that a request was opened for, with something else in it."""
    money = None if row.money_minor is None else Money(row.money_minor, row.money_currency)
    reasons = tuple((rule, effect, words) for rule, effect, words in row.reasons)
    given = {name: getattr(row, name) for name in _COPIED}
    given |= {"queue": row.opened_in, "money": money, "reasons": reasons, "requested_at": row.created_at}
    return ApprovalCase(**{**given, **other})


_COPIED = (
    *("tenant_id", "session_id", "invocation_id", "position", "agent", "agent_version_id", "tool", "tool_version"),
    *("tier", "reversibility", "irreversible", "arguments", "preview", "effect", "target", "sender", "policy_version"),
    *("rationale", "subject_kind", "subject_id", "subject_title", "subject_text", "requester", "people", "facts"),
)
