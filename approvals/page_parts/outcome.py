"""What became of a request: who decided, what the system of record answered, and whether it can be taken back."""

from collections.abc import Sequence
from datetime import datetime
from math import ceil

from django.urls import reverse
from django.utils.text import get_text_list

from agentops.console.marks import State
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.runtime.models import Invocation
from agentops.runtime.states import InvocationState
from agentops.tenancy.access import Reader
from approvals.models import ApprovalRequest, Decision, Verdict
from approvals.page_parts.words import flat
from approvals.request_presenters import Decision as DecisionPart
from approvals.request_presenters import EffectOutcome, RequestStatus, UndoPart
from approvals.rows import name_of

_VOIDED = "approval.voided"
_OUTCOMES = {
    InvocationState.AWAITING_APPROVAL: (State("plain", "waiting for the agent"), "The agent carries it out next."),
    InvocationState.INTENDED: (State("plain", "under way"), "It was sent; the answer is not in yet."),
    InvocationState.SUCCEEDED: (State("ok", "done"), "Carried out once."),
    InvocationState.FAILED: (State("stop", "failed"), "It had no effect."),
    InvocationState.UNKNOWN: (
        State("stop", "outcome unknown, reconcile"),
        "It may or may not have taken effect, and is not repeated. Check with the system of record.",
    ),
    InvocationState.REFUSED: (State("stop", "refused"), "It was no longer possible, so nothing was carried out."),
}
_ENDINGS = ("call.succeeded", "call.failed", "call.unknown", "call.refused")
_PROOFS = ("transaction_id", "transaction", "receipt_id", "receipt", "refund_id", "operation_id", "confirmation")
_RETIRED = frozenset({"FROZEN", "WITHDRAWN", "NOT_CONTINUED"})
"""Codes of a call that was given up because the work does not go on, not because a record changed."""


def standing(request: ApprovalRequest) -> list[Decision]:
    """Return the decisions that were not taken back, the newest first."""
    return [decision for decision in request.decisions.all() if decision.taken_back_at is None]


def decision(
    reader: Reader, request: ApprovalRequest, status: RequestStatus, events: Sequence[LedgerEvent]
) -> DecisionPart | None:
    """Return who decided and when, None while nobody has."""
    if status == "voided":
        at = next((e.at for e in events if e.type == _VOIDED and e.refs.get("request") == str(request.pk)), None)
        return DecisionPart(at=at or request.closed_at or request.created_at, by="", reason=request.void_reason)
    verdict = {"approved": Verdict.APPROVE, "rejected": Verdict.REJECT}.get(status)
    made = [one for one in standing(request) if one.verdict == verdict]
    if not made:
        return None
    by = get_text_list([voter(one, reader) for one in reversed(made)], "and")
    return DecisionPart(at=made[0].at, by=by, reason=made[0].reason, checked=made[0].checked)


def voter(made: Decision, reader: Reader) -> str:
    """Return who voted, with both names when it was for somebody else."""
    name = name_of(made.person, reader.person)
    return f"{name} for {name_of(made.on_behalf_of, reader.person)}" if made.on_behalf_of else name


def was_retired(events: Sequence[LedgerEvent]) -> bool:
    """Return whether the call was given up because its work was frozen or ended."""
    return any(event.type == "call.refused" and event.facts.get("code") in _RETIRED for event in events)


def outcome(request: ApprovalRequest, events: Sequence[LedgerEvent]) -> EffectOutcome:
    """Return what the system of record answered to an approved call, as far as that is known."""
    invocation = Invocation.objects.get(pk=request.invocation_id)
    state, words = _OUTCOMES[InvocationState(invocation.state)]
    reconcile = reverse("unknown_list") if invocation.state == InvocationState.UNKNOWN else ""
    ending = next((event for event in reversed(events) if event.type in _ENDINGS), None)
    if ending is None:
        return EffectOutcome(state=state, words=words, reconcile_url=reconcile)
    body = payload_of(request.session_id, ending.position)
    result = body.get("result") if isinstance(body, dict) else None
    told = result if isinstance(result, dict) else {}
    if ending.type != "call.succeeded":
        words = f"{words} {flat(str(told.get('message', '')))}".strip()
    return EffectOutcome(state=state, words=words, at=ending.at, proof=flat(proof_in(told)), reconcile_url=reconcile)


def proof_in(told: dict[str, object]) -> str:
    """Return the other side's own id of what it did, "" when its answer has none."""
    return next((str(told[name]) for name in _PROOFS if told.get(name)), "")


def undo(reader: Reader, request: ApprovalRequest, status: RequestStatus, now: datetime) -> UndoPart | None:
    """Return until when an approval can be taken back, None when nothing can be."""
    at = request.dispatch_at
    if status != "approved" or at is None or now >= at:
        return None
    mine = any(one.person_id == reader.person.pk for one in standing(request))
    return UndoPart(at=at, seconds=ceil((at - now).total_seconds()), mine=mine)
