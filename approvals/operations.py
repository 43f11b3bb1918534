"""Deciding and expiring requests. One row lock makes every race end in one outcome."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agentops.kernel.errors import AgentOpsError
from agentops.runtime.operations import Decided, resume_after_decision
from agentops.runtime.ports import ApprovalState
from approvals import live
from approvals.models import ApprovalRequest, Decision, Verdict
from approvals.queries import may_decide


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


@dataclass(frozen=True)
class Receipt:
    """The decision that stands. ``repeated``: it was this person's earlier one, sent again."""

    decision: Decision
    repeated: bool


@transaction.atomic
def decide_request(
    *, request_id: UUID, person: User, verdict: Verdict, digest: str, now: datetime, reason: str = "", checked: str = ""
) -> Receipt:
    """Record a person's decision and wake the session, once.

    ``digest`` is that of the page the person read. Raises NotAllowed, AlreadyClosed, ChangedSince,
    NeedsReason, or ApprovalRequest.DoesNotExist.
    """
    request = ApprovalRequest.objects.select_for_update(of=("self",)).select_related("queue").get(pk=request_id)
    if not may_decide(person, request.queue):
        raise NotAllowed("You may read this request but not decide it.")
    if request.requester == f"user:{person.get_username()}":
        raise NotAllowed("You proposed this yourself.", next_step="Leave it to somebody else.")
    earlier = request.decisions.filter(person=person, verdict=verdict, digest=digest).first()
    if earlier is not None:
        return Receipt(earlier, repeated=True)
    if request.state != ApprovalState.PENDING:
        raise AlreadyClosed(f"This request was already {request.state}.")
    if now >= request.expires_at:
        raise AlreadyClosed("This request has expired.")
    if digest != request.digest:
        raise ChangedSince("The request is not what you were shown.")
    if verdict is Verdict.REJECT and not reason.strip():
        raise NeedsReason("A rejection needs a reason.")
    decision = Decision.objects.create(
        request=request,
        person=person,
        verdict=verdict,
        reason=reason.strip(),
        checked=checked.strip(),
        digest=digest,
        at=now,
    )
    state = ApprovalState.APPROVED if verdict is Verdict.APPROVE else ApprovalState.REJECTED
    actor = f"user:{person.get_username()}"
    _close(request, state, now=now, actor=actor, reason=decision.reason, checked=decision.checked)
    return Receipt(decision, repeated=False)


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
    _close(request, ApprovalState.EXPIRED, now=now, actor="sweep", reason="", checked="")
    return True


def _close(
    request: ApprovalRequest, state: ApprovalState, *, now: datetime, actor: str, reason: str, checked: str
) -> None:
    request.state, request.closed_at = state, now
    request.save(update_fields=["state", "closed_at"])
    facts = {"digest": request.digest, "request": request.code, "checked": checked, "queue": request.queue.slug}
    resume_after_decision(
        session_id=request.session_id,
        decided=Decided(request.invocation_id, request.pk, state.value, actor, reason, facts),
    )
    live.announce(request.tenant_id)
