"""The way of a request from the question to its effect: acts, votes and what the session recorded, in time order."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format

from agentops.console.reveal import reveal
from agentops.ledger.models import LedgerEvent
from agentops.tenancy.access import Reader
from approvals.models import Act, ActKind, ApprovalRequest, Decision, Verdict
from approvals.page_parts.outcome import voter
from approvals.page_parts.words import flat
from approvals.request_presenters import ChainLink, RequestStatus
from approvals.rows import name_of

_DID = {
    ActKind.ROUTED: ("routed it", "right"),
    ActKind.CLAIMED: ("took it on", "user"),
    ActKind.RELEASED: ("gave it back", "left"),
    ActKind.SKIPPED: ("passed it over", "right"),
    ActKind.ASSIGNED: ("assigned it", "user"),
    ActKind.ESCALATED: ("escalated it", "up"),
    ActKind.REMINDED: ("reminded", "clock"),
    ActKind.ASKED: ("asked the agent", "ask"),
    ActKind.ANSWERED: ("the agent answered, not verified", "agent"),
    ActKind.EDITED: ("edited it and proposed it anew", "edit"),
    ActKind.TAKEN_OVER: ("took the session over", "takeover"),
    ActKind.TAKEN_BACK: ("took the approval back", "undo"),
}
_EVENTS = {
    "approval.expired": ("expired: nobody decided in time", "clock"),
    "approval.voided": ("retired", "changed"),
    "call.intended": ("sent to the system of record", "play"),
    "call.succeeded": ("carried out", "check"),
    "call.failed": ("failed: it had no effect", "alert"),
    "call.unknown": ("outcome unknown, reconcile", "alert"),
    "call.refused": ("not carried out", "x"),
}


def is_sealed(request: ApprovalRequest, reader: Reader, status: RequestStatus) -> bool:
    """Return whether the reader must not learn yet what others decided: it is open, and they have not voted."""
    mine = (one.person_id == reader.person.pk and one.taken_back_at is None for one in request.decisions.all())
    return status == "pending" and not any(mine)


def links(
    request: ApprovalRequest, acts: Sequence[Act], events: Sequence[LedgerEvent], reader: Reader
) -> list[ChainLink]:
    """Return the whole chain, the oldest moment first."""
    found = [ChainLink(at=request.created_at, by=flat(request.agent), did="asked", icon="gate")]
    found += [_act(act, reader) for act in acts]
    found += [_vote(decision, reader) for decision in request.decisions.all()]
    found += [_event(event) for event in events if event.type in _EVENTS and _is_about(event, request)]
    return sorted(found, key=lambda link: link.at)


def _is_about(event: LedgerEvent, request: ApprovalRequest) -> bool:
    """A call that was asked about twice has its endings in the chain of the request that they belong to."""
    return event.refs.get("request", str(request.pk)) == str(request.pk) and (
        request.closed_at is None or event.type != "approval.voided" or event.refs.get("request") == str(request.pk)
    )


def _act(act: Act, reader: Reader) -> ChainLink:
    did, icon = _DID[ActKind(act.kind)]
    return ChainLink(
        at=act.at,
        by=name_of(act.person, reader.person) if act.person else "",
        did=did,
        words=reveal(act.words),
        notes=_notes(act.facts),
        icon=icon,
    )


def _notes(facts: dict[str, Any]) -> list[str]:
    notes = []
    if facts.get("to"):
        notes.append(f"to {flat(str(facts['to']))}")
    if facts.get("rung"):
        notes.append(f"step {facts['rung']} of the ladder")
    if until := _moment(facts.get("until")):
        notes.append(f"until {until}")
    return notes


def _moment(text: object) -> str:
    """The clock time of a fact that is a moment, "" for anything else."""
    try:
        return date_format(timezone.localtime(datetime.fromisoformat(str(text))), "H:i")
    except ValueError:
        return ""


def _vote(decision: Decision, reader: Reader) -> ChainLink:
    approved = decision.verdict == Verdict.APPROVE
    notes = []
    if decision.acknowledged:
        notes.append(f"typed “{flat(decision.acknowledged)}”")
    if decision.stepped_up:
        notes.append(f"signed in again by {decision.stepped_up}")
    if decision.taken_back_at:
        notes.append("taken back later")
    return ChainLink(
        at=decision.at,
        by=voter(decision, reader),
        did="approved" if approved else "rejected",
        words=reveal(decision.checked if approved else decision.reason),
        notes=notes,
        icon="check" if approved else "x",
    )


def _event(event: LedgerEvent) -> ChainLink:
    did, icon = _EVENTS[event.type]
    words = event.facts.get("reason", "") if event.type == "approval.voided" else ""
    return ChainLink(at=event.at, by="", did=did, words=reveal(str(words)), icon=icon)
