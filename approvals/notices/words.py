"""What messages say. No customer, no text from outside: queue, tool, tier, code, digest and times are our own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from django.contrib.auth.models import User

from agentops.console.marks import Tier
from agentops.runtime.ports import ApprovalState
from approvals.models import ApprovalRequest, Notice
from approvals.notices.links import link_to, request_address

_KINDS = {
    Notice.Kind.ASKED: "A request waits for a decision",
    Notice.Kind.REMINDED: "Time runs out for a request",
    Notice.Kind.ESCALATED: "A request was escalated to you",
    Notice.Kind.ASSIGNED: "A request was assigned to you",
    Notice.Kind.ANSWERED: "The agent answered a question",
    Notice.Kind.CLOSED: "A request is closed",
}
_OUTCOMES = {
    ApprovalState.APPROVED.value: "Approved",
    ApprovalState.REJECTED.value: "Rejected",
    ApprovalState.EXPIRED.value: "Expired, nothing was carried out",
    ApprovalState.VOIDED.value: "Withdrawn, nothing was carried out",
}


@dataclass(frozen=True)
class Item:
    """One request in a message. ``outcome`` is empty while it waits."""

    headline: str
    code: str
    tool: str
    tier: str
    queue: str
    digest: str
    due: str
    due_at: datetime
    link: str
    outcome: str
    closed_at: datetime | None


def item_of(notice: Notice, zone: tzinfo, now: datetime) -> Item:
    """Return what a notice says as its request stands now. The notice was read with its request, queue and person."""
    request, kind = notice.request, Notice.Kind(notice.kind)
    if kind is Notice.Kind.CLOSED and request.closed_at is None:
        # The decision was taken back while its message was on the way.
        kind = Notice.Kind.ASKED
    return Item(
        headline=_KINDS[kind],
        code=request.code,
        tool=plain_line(request.tool),
        tier=Tier(request.level).word,
        queue=plain_line(request.queue.name),
        digest=short_digest(request),
        due=local(request.expires_at, zone),
        due_at=request.expires_at,
        link=_link(request, notice.person, now),
        outcome=_OUTCOMES.get(request.state, ""),
        closed_at=request.closed_at,
    )


def subject_of(items: Sequence[Item]) -> str:
    """Return a mail's subject."""
    if len(items) > 1:
        return f"{len(items)} approval requests"
    return f"{items[0].headline}: {items[0].code}, {items[0].tier}"


def _link(request: ApprovalRequest, person: User | None, now: datetime) -> str:
    return link_to(request, person, now) if person else request_address(request)


def short_digest(request: ApprovalRequest) -> str:
    """Return the beginning of the digest as the request's page shows it."""
    return f"{request.digest[:4]} {request.digest[4:8]} {request.digest[8:12]}"


def local(at: datetime, zone: tzinfo) -> str:
    """Return a moment on the reader's clock."""
    return at.astimezone(zone).strftime("%a %-d %b %Y, %H:%M %Z")


def plain_line(text: str) -> str:
    """Return an admin's text as one line that nothing can hide in."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:120]
