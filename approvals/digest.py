"""What a decision binds to (pure): one SHA-256 over everything that was shown and everything that would run."""

from datetime import datetime

from agentops.kernel.canonical import digest
from agentops.kernel.clock import isoformat
from agentops.runtime.ports import ApprovalCase


def request_digest(case: ApprovalCase, *, expires_at: datetime, nonce: str) -> str:
    """Return the digest of a request as 64 hex digits. Raises NotCanonical."""
    return digest(
        {
            "tenant": str(case.tenant_id),
            "session": str(case.session_id),
            "invocation": str(case.invocation_id),
            "requester": case.requester,
            "agent_version": str(case.agent_version_id),
            "tool": [case.tool, case.tool_version],
            "arguments": case.arguments,
            "preview": case.preview,
            "policy_version": case.policy_version,
            "reasons": [list(reason) for reason in case.reasons],
            "rationale": case.rationale,
            "subject": [case.subject_kind, case.subject_id, case.subject_title, case.subject_text, case.sender],
            "queue": case.queue,
            "people": case.people,
            "facts": case.facts,
            "expires_at": isoformat(expires_at),
            "nonce": nonce,
        }
    ).hex()
