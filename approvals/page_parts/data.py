"""What would happen: the change, the call's arguments, whose work it is, and until when it can be decided."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from agentops.console.codes import session_code
from agentops.console.formats import bytes_words, time_left_words
from agentops.console.marks import plain
from agentops.console.reveal import reveal
from agentops.runtime.models import Session
from agentops.runtime.ports import ApprovalState
from approvals import presenters, provenance
from approvals.models import ApprovalRequest
from approvals.models.requests import OnExpiry
from approvals.page_parts.words import flat, written
from approvals.previews import digest_of, is_long, short_changes, shown_parts, unshowable_in
from approvals.queries import approvals_of, observed_before
from approvals.request_presenters import RequestStatus
from approvals.rows import SOON, amount_words, share_left

_IF_NOBODY = {
    OnExpiry.NOTHING: "nothing is carried out",
    OnExpiry.HAND_OVER: "nothing is carried out and the work goes to a person",
}


def status_of(request: ApprovalRequest, now: datetime) -> RequestStatus:
    """Return what became of a request. One past its time is expired, recorded as such yet or not."""
    if request.state == ApprovalState.PENDING and now >= request.expires_at:
        return "expired"
    return cast("RequestStatus", request.state)


def proposed(request: ApprovalRequest) -> dict[str, Any]:
    """The arguments with where they came from, and what was found out about the call as a whole."""
    facts, arguments = request.facts, request.arguments
    came_from = provenance.came_from(facts, arguments, observed_before(request) if facts else ())
    return {
        "arguments": [_argument(facts, name, value, came_from[name]) for name, value in arguments.items()],
        "traced": "flow" in facts,
        "red_lines": provenance.red_lines(facts),
        "risk": provenance.risk_of(facts),
        "findings": provenance.findings_of(facts, arguments),
    }


def _argument(
    facts: Mapping[str, Any], name: str, value: Any, came_from: Sequence[presenters.CameFrom]
) -> presenters.Argument:
    text = written(value)
    why = next(unshowable_in(value), "")
    if why:
        return presenters.Argument(
            name=name,
            value=plain(why),
            size=bytes_words(len(text.encode())),
            came_from=came_from,
            tone=provenance.tone_of(facts, name),
            note=f"{why}, SHA-256 {digest_of(text)}",
            uninspectable=True,
        )
    pieces = provenance.pieces_of(facts, name, value, text)
    return presenters.Argument(
        name=name,
        value=provenance.joined(pieces) or reveal(text) or plain("(empty text)"),
        size=bytes_words(len(text.encode())),
        long=is_long(text),
        came_from=came_from,
        tone=provenance.tone_of(facts, name),
        pieces=pieces,
    )


def changes(request: ApprovalRequest) -> dict[str, Any]:
    """The record before and after, and how far the effect reaches."""
    lines = short_changes(request.preview)
    records = [f"{record} version {version}" for record, version in request.preview["versions"].items()]
    sums = [request.target, f"{len(records)} record{'' if len(records) == 1 else 's'}", amount_words(request)]
    return {
        "changes": [
            presenters.Change(label=flat(label), before=reveal(before), after=reveal(after))
            for label, before, after in lines
            if before != after
        ],
        "unchanged": [flat(label) for label, before, after in lines if before == after],
        "parts": shown_parts(request.preview, request.arguments),
        "record": flat(", ".join(records)),
        "read_at": request.created_at,
        "reversibility": flat(f"{request.reversibility[:1].upper()}{request.reversibility[1:]}."),
        "blast_radius": flat(", ".join(filter(None, sums))),
    }


def digest(request: ApprovalRequest) -> dict[str, Any]:
    """What a decision is bound to, in short and in full."""
    short = request.digest[:12]
    return {"digest": f"{short[:4]} {short[4:8]} {short[8:]}", "digest_full": request.digest}


def timing(request: ApprovalRequest, now: datetime) -> dict[str, Any]:
    """Since when it waits, until when, and how many people have approved."""
    left = request.expires_at - now
    return {
        "votes_in": len(approvals_of(request)),
        "votes_needed": request.people,
        "created": request.created_at,
        "due": request.expires_at,
        "time_left": time_left_words(left.total_seconds()),
        "soon": left < SOON,
        "share_left": share_left(request, now),
        "if_nobody": _IF_NOBODY[OnExpiry(request.queue.on_expiry)],
    }


def work(request: ApprovalRequest) -> dict[str, Any]:
    """The session that asks, what its planner claims, and who began it by hand: nobody when work came in by itself."""
    session = Session.objects.filter(pk=request.session_id).first()
    begun_by = session.created_by if session else ""
    return {
        "rationale": reveal(request.rationale),
        "rationale_size": bytes_words(len(request.rationale.encode())),
        "rationale_by": flat(session.planner if session and session.planner else request.agent),
        "asked_by": begun_by.removeprefix("user:") if begun_by.startswith("user:") else "",
        "agent": flat(request.agent),
        "session_pk": str(request.session_id),
        "session_id": session_code(request.session_id),
        "position": request.position,
    }
