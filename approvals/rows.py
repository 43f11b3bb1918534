"""One row of the queue, built from a request as one person sees it."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.utils.text import get_text_list

from agentops.console.formats import time_left_words
from agentops.console.marks import Kind, State, Tier
from agentops.console.reveal import reveal
from agentops.kernel.money import Money
from agentops.runtime.ports import ApprovalState
from approvals.access import View
from approvals.chips import chips_of, risk_word
from approvals.models import ApprovalRequest
from approvals.page_parts.words import flat
from approvals.queries import Bucket, approvals_of
from approvals.queue_presenters import Desk, QueueRow

SOON = timedelta(hours=1)

OUTCOMES: Mapping[str, tuple[Kind, str]] = {
    ApprovalState.APPROVED: ("ok", "approved"),
    ApprovalState.REJECTED: ("stop", "rejected"),
    ApprovalState.EXPIRED: ("gone", "expired"),
    ApprovalState.VOIDED: ("notice", "changed since"),
}


def row_of(row: ApprovalRequest, bucket: Bucket, view: View, *, alike: int = 0) -> QueueRow:
    """Return a request as a row of the bucket. ``alike`` is how many ask the same question, itself included."""
    closed, now = row.state in OUTCOMES, view.now
    lent_by = view.lender(row.queue_id)
    return QueueRow(
        pk=str(row.pk),
        id=row.code,
        effect=reveal(row.effect),
        tool=row.tool,
        agent=flat(row.agent),
        target=reveal(row.target),
        amount=amount_words(row),
        tier=Tier(row.level),
        risk=risk_word(row.facts),
        chips=chips_of(row.facts, alike=alike),
        due=row.expires_at,
        time_left="" if closed else time_left_words((row.expires_at - now).total_seconds()),
        soon=not closed and row.expires_at - now < SOON,
        share_left=share_left(row, now),
        votes_in=len(approvals_of(row)),
        votes_needed=row.people,
        desk=Desk() if closed else _desk(row, bucket, view),
        for_whom=name_of(lent_by, view.person) if lent_by and not closed else "",
        escalated=not closed and row.rung > 0,
        outcome=State(*OUTCOMES[row.state]) if closed else None,
        closed_at=row.closed_at,
        closed_by=names_of(row, view.person) if bucket is Bucket.DECIDED else "",
    )


def _desk(row: ApprovalRequest, bucket: Bucket, view: View) -> Desk:
    holder = claimant_of(row, view.now)
    if holder is not None:
        mine = holder == view.person
        return Desk(
            by=name_of(holder, view.person),
            until=row.claimed_until,
            may_release=mine or row.queue_id in view.manages,
        )
    if row.assigned_to is not None:
        mine = row.assigned_to == view.person
        return Desk(words=f"assigned to {name_of(row.assigned_to, view.person)}", may_claim=mine and _is_turn(bucket))
    return Desk(
        words=f"waits on {row.queue.name}" if bucket is Bucket.OTHERS else "unclaimed",
        may_claim=_is_turn(bucket) and row.queue_id in view.mine,
    )


def _is_turn(bucket: Bucket) -> bool:
    return bucket in (Bucket.TURN, Bucket.ESCALATED)


def claimant_of(row: ApprovalRequest, now: datetime) -> User | None:
    """Return who has the request on the desk. A claim is over with its time, or when its person votes."""
    if row.claimed_by is None or row.claimed_until is None or row.claimed_until <= now:
        return None
    voted = {each.person_id for each in row.decisions.all() if each.taken_back_at is None}
    return None if row.claimed_by.pk in voted else row.claimed_by


def names_of(row: ApprovalRequest, reader: User) -> str:
    """Return who rejected the request, or all who approved it; "" while it is neither."""
    if row.state == ApprovalState.REJECTED:
        return name_of(row.decisions.all()[0].person, reader)
    approved = approvals_of(row) if row.state == ApprovalState.APPROVED else []
    return get_text_list([name_of(decision.person, reader) for decision in approved], "and")


def name_of(person: User, reader: User) -> str:
    """Return how a person is named to the reader."""
    return "you" if person == reader else person.get_full_name() or person.get_username()


def amount_words(request: ApprovalRequest) -> str:
    """Return the money that the call would move, "" when it moves none."""
    return "" if request.money_minor is None else str(Money(request.money_minor, request.money_currency))


def share_left(request: ApprovalRequest, now: datetime) -> int:
    """Return how much of the time to decide is left, in hundredths."""
    whole = (request.expires_at - request.created_at).total_seconds()
    left = (request.expires_at - now).total_seconds()
    return max(0, min(100, round(100 * left / whole))) if whole > 0 else 0
