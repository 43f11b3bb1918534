"""Deciding and expiring requests. One row lock makes every race end in one outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Statement
from agentops.runtime.operations import Decided, note_vote, resume
from agentops.runtime.ports import ApprovalState
from agentops.runtime.wakeup import Waiting, waiting_session
from approvals import live, sql
from approvals.models import ApprovalRequest, Verdict


class NotAllowed(AgentOpsError):
    """The person may not decide this queue."""

    code = "NOT_ALLOWED"
    next_step = "Ask an admin for the queue's permission, or leave it to somebody who has it."


class AlreadyClosed(AgentOpsError):
    """The request was decided, expired or withdrawn before this decision."""

    code = "ALREADY_CLOSED"
    next_step = "See what happened on the request's page."


class ChangedSince(AgentOpsError):
    """The decision was about something else than what the request now says."""

    code = "CHANGED_SINCE"
    next_step = "Read the request again and decide anew."


class NeedsReason(AgentOpsError):
    """A rejection without a reason."""

    code = "NEEDS_REASON"
    next_step = "Say in a word why, so that the agent and the customer can be told."


class AlreadyDecided(AgentOpsError):
    """The person has decided this already, the other way, and it waits for other people."""

    code = "ALREADY_DECIDED"
    next_step = "Ask somebody else who may decide this queue, or cancel the session."


@dataclass(frozen=True)
class Receipt:
    """A decision that stands. ``repeated``: it was this person's earlier one, sent again.

    ``missing`` is how many other people must still approve before anything happens.
    """

    repeated: bool
    missing: int


@transaction.atomic
def decide_request(
    *, request_id: UUID, person: User, verdict: Verdict, digest: str, now: datetime, reason: str = "", checked: str = ""
) -> Receipt:
    """Record a person's decision, and wake the session once it was rejected or as many people as needed approved.

    ``digest`` is that of the page the person read. Raises NotAllowed, AlreadyClosed, AlreadyDecided, ChangedSince,
    NeedsReason, Frozen, IllegalTransition, or ApprovalRequest.DoesNotExist.
    """
    request = sql.lock_request(request_id)
    facts = sql.facts_of(request, person.pk)
    if not facts.may_decide:
        raise NotAllowed("You may read this request but not decide it.")
    if request.requester == f"user:{person.get_username()}":
        raise NotAllowed("You proposed this yourself.", next_step="Leave it to somebody else.")
    if facts.earlier == (verdict, digest):
        missing = request.people - facts.approvals if request.state == ApprovalState.PENDING else 0
        return Receipt(repeated=True, missing=missing)
    _require_open(request, facts, verdict, digest=digest, now=now)
    if verdict is Verdict.REJECT and not reason.strip():
        raise NeedsReason("A rejection needs a reason.")
    reason, checked = reason.strip(), checked.strip()
    part = sql.decision_part(request, person_id=person.pk, verdict=verdict, reason=reason, checked=checked, at=now)
    said = Said(f"user:{person.get_username()}", reason, checked)
    missing = 0 if verdict is Verdict.REJECT else request.people - facts.approvals - 1
    if missing:
        note_vote(facts.waiting, _told(request, facts.queue, "voted", said), also=[part])
        live.announce(request.tenant_id)
    else:
        state = ApprovalState.APPROVED if verdict is Verdict.APPROVE else ApprovalState.REJECTED
        _close(request, state, facts.queue, facts.waiting, said, now=now, also=[part])
    return Receipt(repeated=False, missing=missing)


def _require_open(request: ApprovalRequest, facts: sql.Facts, verdict: Verdict, *, digest: str, now: datetime) -> None:
    """Raise what stands against a decision, whoever makes it."""
    if request.state != ApprovalState.PENDING:
        raise AlreadyClosed(f"This request was already {request.state}.")
    if now >= request.expires_at:
        raise AlreadyClosed("This request has expired.")
    if digest != request.digest:
        raise ChangedSince("The request is not what you were shown.")
    if facts.earlier[0]:
        raise AlreadyDecided("You have approved this already, so you cannot also reject it.")


def expired_requests(*, now: datetime, limit: int) -> list[UUID]:
    """Return pending requests past their time, the longest overdue first."""
    due = ApprovalRequest.objects.filter(state=ApprovalState.PENDING, expires_at__lte=now)
    return list(due.order_by("expires_at").values_list("pk", flat=True)[:limit])


def expire_request(*, request_id: UUID, now: datetime) -> bool:
    """Expire a request past its time, in the caller's transaction: nothing runs. False when somebody was faster."""
    due = ApprovalRequest.objects.select_for_update(skip_locked=True)
    request = due.filter(pk=request_id, state=ApprovalState.PENDING, expires_at__lte=now).first()
    if request is None:
        return False
    waiting = waiting_session(session_id=request.session_id, invocation_id=request.invocation_id)
    _close(request, ApprovalState.EXPIRED, request.queue.slug, waiting, Said("sweep"), now=now)
    return True


@dataclass(frozen=True)
class Said:
    """Who decided, and what they said to it."""

    actor: str
    reason: str = ""
    checked: str = ""


def _close(
    request: ApprovalRequest,
    state: ApprovalState,
    queue: str,
    waiting: Waiting,
    said: Said,
    *,
    now: datetime,
    also: Sequence[Statement] = (),
) -> None:
    """Close a request that is locked, and wake its session, in one statement with ``also``."""
    closing = sql.closing_part(request, state, at=now)
    resume(waiting, _told(request, queue, state.value, said), also=[*also, closing])
    # After the doorbell, which resuming rings first: a page may learn of it later than the worker.
    live.announce(request.tenant_id)


def _told(request: ApprovalRequest, queue: str, verdict: str, said: Said) -> Decided:
    facts = {"digest": request.digest, "request": request.code, "checked": said.checked, "queue": queue}
    return Decided(request.invocation_id, request.pk, verdict, said.actor, said.reason, facts)
