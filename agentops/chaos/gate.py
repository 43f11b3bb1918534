"""The drill's person: requests in the scratch database, decided by a rule that the call itself carries."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db import transaction

from agentops.chaos.drilled import ROLE, SPEC
from agentops.chaos.models import Request
from agentops.kernel.clock import utcnow
from agentops.registry.drill import Verdict
from agentops.registry.role import QueueDefault
from agentops.runtime.deciding import Answering, Decided, ask_agent, edit_call, resume
from agentops.runtime.models import Invocation
from agentops.runtime.ports import ApprovalCase, ApprovalState, Resolution
from agentops.runtime.wakeup import Waiting, waiting_session

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
            verdict=SPEC.verdict(case.tool, case.arguments),
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

    def answered(self, invocation_id: UUID, words: str) -> None:
        """Count the answer, in the caller's transaction; the person then approves."""
        request = Request.objects.select_for_update().get(invocation_id=invocation_id, state=ApprovalState.PENDING)
        request.verdict, request.answers = ApprovalState.APPROVED, request.answers + 1
        request.save(update_fields=["verdict", "answers"])

    def ensure_queues(self, tenant_id: UUID, queues: Sequence[QueueDefault]) -> None:
        """Do nothing: there is one person for everything."""

    def queues_of(self, tenant_id: UUID) -> frozenset[str]:
        """Return those of the role, all of which the one person looks after."""
        return frozenset(queue.slug for queue in ROLE.queues)

    def do_due(self, limit: int) -> int:
        """Expire requests that the person does not decide, each in its own transaction, and return how many."""
        due = Request.objects.filter(state=ApprovalState.PENDING, verdict="", expires_at__lte=utcnow())
        return sum(_do(pk, ApprovalState.EXPIRED) for pk in due.values_list("pk", flat=True)[:limit])


def decide_waiting(limit: int) -> int:
    """Decide what waits for the person, each in its own transaction as a web process would, and return how many."""
    waiting = Request.objects.filter(state=ApprovalState.PENDING).exclude(verdict="").order_by("id")
    return sum(_do(pk, verdict) for pk, verdict in waiting.values_list("pk", "verdict")[:limit])


def _do(pk: UUID, verdict: str) -> bool:
    """Do what the verdict says. While the agent answers a question about the call nothing is done, and it waits."""
    try:
        if verdict == Verdict.ASKED:
            return _ask(pk)
        if verdict == Verdict.EDITED:
            return _edit(pk)
        return _close(pk, ApprovalState(verdict), "sweep" if verdict == ApprovalState.EXPIRED else PERSON)
    except Answering:
        return False


@transaction.atomic
def _ask(pk: UUID) -> bool:
    found = _locked(pk)
    if found is None:
        return False
    request, waiting = found
    call = request.invocation_id
    ask_agent(waiting, invocation_id=call, request_id=request.pk, actor=PERSON, question="Why?")
    return True


@transaction.atomic
def _edit(pk: UUID) -> bool:
    found = _locked(pk)
    if found is None:
        return False
    request, waiting = found
    call = Invocation.objects.get(pk=request.invocation_id)
    request.state, request.void_reason = ApprovalState.VOIDED, "Edited."
    request.save(update_fields=["state", "void_reason"])
    edit_call(
        waiting,
        invocation_id=call.pk,
        request_id=request.pk,
        actor=PERSON,
        arguments=SPEC.edited(call.tool, call.arguments),
        reason="Too much for the drill.",
    )
    return True


def _locked(pk: UUID) -> tuple[Request, Waiting] | None:
    request = Request.objects.select_for_update(skip_locked=True).filter(pk=pk, state=ApprovalState.PENDING).first()
    if request is None:
        return None
    return request, waiting_session(session_id=request.session_id, invocation_id=request.invocation_id)


@transaction.atomic
def _close(pk: UUID, state: ApprovalState, actor: str) -> bool:
    found = _locked(pk)
    if found is None:
        return False
    request, waiting = found
    request.state = state
    request.save(update_fields=["state"])
    reason = REASON if state is ApprovalState.REJECTED else ""
    decided = Decided(request.invocation_id, request.pk, state.value, actor, reason, {"request": str(request.pk)})
    resume(waiting, decided)
    return True
