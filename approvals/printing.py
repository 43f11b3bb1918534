"""A request as a record to hand over: JSON with the decision chain and its places in the ledger."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from agentops.kernel.canonical import JSON
from agentops.kernel.clock import isoformat
from agentops.kernel.ids import derived_id
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.runtime.models import Invocation
from agentops.tenancy.access import Reader
from approvals.access import View
from approvals.chain import is_sealed
from approvals.digest import inputs_of
from approvals.models import Act, ApprovalRequest, Decision
from approvals.page_parts.outcome import proof_in
from approvals.pages import Case, case_of

FORMAT = "approval-request/1"
_ENDED = "call.succeeded"


def export_of(reader: Reader, request: ApprovalRequest, view: View) -> dict[str, JSON]:
    """Return the request as JSON. docs/approvers.md says what each member means.

    Who has not voted on an open request gets neither votes nor acts nor the ledger's places, as on the page.
    """
    case = case_of(reader, request, view)
    sealed = is_sealed(request, reader, case.status)
    return {
        "format": FORMAT,
        "exported": {"at": isoformat(view.now), "by": reader.person.get_username()},
        "request": _request(case),
        "digest": {"sha256": request.digest, "inputs": inputs_of(request)},
        "sealed": sealed,
        "decisions": [] if sealed else [_decision(one) for one in reversed(request.decisions.all())],
        "acts": [] if sealed else [_act(one) for one in case.acts],
        "invocation": None if sealed else _invocation(request),
        "vendor_transaction": _transaction(case),
        "ledger": [] if sealed else _places(request, case.events),
    }


def _request(case: Case) -> dict[str, JSON]:
    request, before, after = case.request, case.request.supersedes, case.successor
    return {
        "id": str(request.pk),
        "code": request.code,
        "tenant": str(request.tenant_id),
        "state": case.status,
        "queue": request.queue.slug,
        "opened_in": request.opened_in,
        "routed_by": request.routed_by,
        "effect": request.effect,
        "target": request.target,
        "people": request.people,
        "created_at": isoformat(request.created_at),
        "expires_at": isoformat(request.expires_at),
        "closed_at": _time(request.closed_at),
        "void_reason": request.void_reason,
        "supersedes": str(before.pk) if before else None,
        "superseded_by": str(after.pk) if after else None,
        "session": str(request.session_id),
        "position": request.position,
    }


def _decision(made: Decision) -> dict[str, JSON]:
    return {
        "person": made.person.get_username(),
        "on_behalf_of": _name(made.on_behalf_of),
        "verdict": made.verdict,
        "at": isoformat(made.at),
        "reason": made.reason,
        "checked": made.checked,
        "acknowledged": made.acknowledged,
        "stepped_up": made.stepped_up,
        "dwell_ms": made.dwell_ms,
        "digest": made.digest,
        "taken_back_at": _time(made.taken_back_at),
    }


def _act(act: Act) -> dict[str, JSON]:
    facts: dict[str, Any] = act.facts
    return {
        "kind": act.kind,
        "person": _name(act.person),
        "at": isoformat(act.at),
        "words": act.words,
        "facts": facts,
    }


def _invocation(request: ApprovalRequest) -> dict[str, JSON]:
    call = Invocation.objects.get(pk=request.invocation_id)
    return {"id": str(call.pk), "tool": call.tool, "tool_version": call.tool_version, "state": call.state}


def _transaction(case: Case) -> str | None:
    """The other side's own id of what was carried out."""
    ending = next((event for event in reversed(case.events) if event.type == _ENDED), None)
    body = payload_of(case.request.session_id, ending.position) if ending else None
    result = body.get("result") if isinstance(body, dict) else None
    return proof_in(dict(result)) or None if isinstance(result, dict) else None


def _places(request: ApprovalRequest, events: Sequence[LedgerEvent]) -> list[JSON]:
    """Where the ledger says all this: in the session's stream about the call, and in the request's own."""
    own: UUID = derived_id(str(request.tenant_id), f"request:{request.pk}")
    found = [*events, *LedgerEvent.objects.filter(stream=own).order_by("position")]
    return [
        {
            "stream": str(event.stream),
            "position": event.position,
            "at": isoformat(event.at),
            "type": event.type,
            "actor": event.actor,
            "leaf_hash": bytes(event.leaf_hash).hex(),
        }
        for event in sorted(found, key=lambda event: event.at)
    ]


def _time(at: datetime | None) -> str | None:
    return isoformat(at) if at else None


def _name(person: User | None) -> str | None:
    return person.get_username() if person else None
