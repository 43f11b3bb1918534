"""What a decision binds to (pure): one SHA-256 over everything that was shown and everything that would run."""

import hmac
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agentops.kernel.canonical import NotCanonical, digest
from agentops.kernel.clock import isoformat
from agentops.runtime.ports import ApprovalCase

if TYPE_CHECKING:
    from approvals.models import ApprovalRequest


def request_digest(case: ApprovalCase, *, expires_at: datetime, nonce: str) -> str:
    """Return the digest of a request as 64 hex digits. Raises NotCanonical."""
    bound = {name: getattr(case, name) for name in _AS_IT_IS} | {
        "queue": case.queue,
        "reasons": [list(reason) for reason in case.reasons],
        "money": [case.money.minor, case.money.currency] if case.money else None,
        "expires_at": expires_at,
        "nonce": nonce,
    }
    return digest(_written(bound) | _written_since(bound)).hex()


def digest_of(request: "ApprovalRequest") -> str:
    """Return the digest of what a row says now, as 64 hex digits. Raises NotCanonical."""
    bound = _bound_by(request)
    return digest(_written(bound) | _written_since(bound)).hex()


def inputs_of(request: "ApprovalRequest") -> dict[str, Any]:
    """Return what the digest of a row is made of: its RFC 8785 form under SHA-256 is the digest."""
    bound = _bound_by(request)
    before = _written(bound)
    return before if digest(before).hex() == request.digest else before | _written_since(bound)


def is_intact(request: "ApprovalRequest") -> bool:
    """Return whether the row still says what its digest was made of, whoever wrote to it since.

    The row must be loaded as it is stored. A request from before tier and effect were covered has another digest.
    """
    try:
        if hmac.compare_digest(digest_of(request), request.digest):
            return True
        return hmac.compare_digest(digest(_written(_bound_by(request))).hex(), request.digest)
    except (NotCanonical, TypeError):
        return False


def _bound_by(request: "ApprovalRequest") -> dict[str, Any]:
    return {name: getattr(request, name) for name in _AS_IT_IS} | {
        "queue": request.opened_in,
        "reasons": request.reasons,
        "money": None if request.money_minor is None else [request.money_minor, request.money_currency],
        "expires_at": request.expires_at,
        "nonce": request.nonce,
    }


_AS_IT_IS = (
    *("tenant_id", "session_id", "invocation_id", "requester", "agent", "agent_version_id", "tool", "tool_version"),
    *("tier", "reversibility", "irreversible", "arguments", "preview", "effect", "target", "policy_version"),
    *("rationale", "subject_kind", "subject_id", "subject_title", "subject_text", "sender", "people", "facts"),
)


def _written(bound: dict[str, Any]) -> dict[str, Any]:
    return {
        "tenant": str(bound["tenant_id"]),
        "session": str(bound["session_id"]),
        "invocation": str(bound["invocation_id"]),
        "requester": bound["requester"],
        "agent_version": str(bound["agent_version_id"]),
        "tool": [bound["tool"], bound["tool_version"]],
        "arguments": bound["arguments"],
        "preview": bound["preview"],
        "policy_version": bound["policy_version"],
        "reasons": bound["reasons"],
        "rationale": bound["rationale"],
        "subject": [bound[f"subject_{part}"] for part in ("kind", "id", "title", "text")] + [bound["sender"]],
        "queue": bound["queue"],
        "people": bound["people"],
        "facts": bound["facts"],
        "expires_at": isoformat(bound["expires_at"]),
        "nonce": bound["nonce"],
    }


def _written_since(bound: dict[str, Any]) -> dict[str, Any]:
    """What a row keeps beside its preview: how grave it is decides what approving takes."""
    return {
        "agent": bound["agent"],
        "grave": [bound["tier"], bound["irreversible"], bound["reversibility"]],
        "effect": [bound["effect"], bound["target"]],
        "money": bound["money"],
    }
