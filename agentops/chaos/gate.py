"""The drill's person: requests in the scratch database, decided by a rule that the call itself carries."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db import transaction

from agentops.chaos.models import Request
from agentops.chaos.scripts import verdict_on
from agentops.kernel.clock import utcnow
from agentops.registry.role import QueueDefault
from agentops.runtime.operations import Decided, resume
from agentops.runtime.ports import ApprovalCase, ApprovalState, Resolution
from agentops.runtime.wakeup import waiting_session

PERSON = "user:drill"
REASON = "Not according to the drill."
DECIDE_WITHIN = timedelta(seconds=2)


class Gate:
    """Implements ``agentops.runtime.ports.ApprovalGate``."""

    def open(self, case: ApprovalCase) -> UUID:
        """Record a request, in the caller's transaction, and return its id."""
        request = Request.objects.create(
            invocation_id=case.invocation_id,
            session_id=case.session_id,
            preview=case.preview,
            policy_version=case.policy_version,
            verdict=verdict_on(case.arguments),
            expires_at=case.requested_at + DECIDE_WITHIN,
        )
        return request.pk

    def resolution(self, invocation_id: UUID) -> Resolution:
        """Return what became of the newest request for this call."""
        request = Request.objects.filter(invocation_id=invocation_id).latest("id")
        decided = request.state in (ApprovalState.APPROVED, ApprovalState.REJECTED)
        return Resolution(
            request_id=request.pk,
            state=ApprovalState(request.state),
            person=PERSON if decided else "",
            reason=request.void_reason,
            preview=request.preview,
            policy_version=request.policy_version,
        )

    def withdraw(self, invocation_id: UUID, reason: str) -> UUID | None:
        """Withdraw the pending or approved request for this call, in the caller's transaction, and return its id."""
        standing = (ApprovalState.PENDING, ApprovalState.APPROVED)
        request = Request.objects.select_for_update().filter(invocation_id=invocation_id, state__in=standing).first()
        if request is None:
            return None
        request.state, request.void_reason = ApprovalState.VOIDED, reason[:300]
        request.save(update_fields=["state", "void_reason"])
        return request.pk

    def ensure_queues(self, tenant_id: UUID, queues: Sequence[QueueDefault]) -> None:
        """Do nothing: there is one person for everything."""

    def queues_of(self, tenant_id: UUID) -> frozenset[str]:
        """Return none: there is one person for everything."""
        return frozenset()

    def do_due(self, limit: int) -> int:
        """Expire requests that the person does not decide, each in its own transaction, and return how many."""
        due = Request.objects.filter(state=ApprovalState.PENDING, verdict="", expires_at__lte=utcnow())
        return sum(_close(pk, ApprovalState.EXPIRED, "sweep") for pk in due.values_list("pk", flat=True)[:limit])


def decide_waiting(limit: int) -> int:
    """Decide what waits for the person, each in its own transaction as a web process would, and return how many."""
    waiting = Request.objects.filter(state=ApprovalState.PENDING).exclude(verdict="").order_by("id")
    return sum(
        _close(pk, ApprovalState(verdict), PERSON) for pk, verdict in waiting.values_list("pk", "verdict")[:limit]
    )


@transaction.atomic
def _close(pk: UUID, state: ApprovalState, actor: str) -> bool:
    request = Request.objects.select_for_update(skip_locked=True).filter(pk=pk, state=ApprovalState.PENDING).first()
    if request is None:
        return False
    request.state = state
    request.save(update_fields=["state"])
    reason = REASON if state is ApprovalState.REJECTED else ""
    decided = Decided(request.invocation_id, request.pk, state.value, actor, reason, {"request": str(request.pk)})
    resume(waiting_session(session_id=request.session_id, invocation_id=request.invocation_id), decided)
    return True
