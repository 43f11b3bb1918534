"""People of scenarios: implements ``agentops.evals.ports.People`` on the operations that the screens call."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from guardian.shortcuts import assign_perm

from agentops.evals.ports import Waiting
from agentops.kernel.clock import utcnow
from agentops.registry.scenario import mailbox
from agentops.runtime.ports import ApprovalState
from agentops.tenancy.models import Membership, Role
from approvals.access import PERMISSION
from approvals.duties.acknowledge import fact_of
from approvals.models import ApprovalQueue, ApprovalRequest, Decision, Verdict
from approvals.operations import decide_request, expire_request
from approvals.verbs import edit_request

# No browser stands behind it: a scenario says that the person was there.
_THERE = "scenario"


class People:
    """Accounts without a password, who decide without a second factor: only tests and scenarios name them."""

    @transaction.atomic
    def hire(self, tenant_id: UUID, names: Sequence[str]) -> None:
        """Let these accounts, made where there are none, decide every queue of the tenant."""
        queues = list(ApprovalQueue.objects.filter(tenant_id=tenant_id))
        for name in names:
            person, is_new = User.objects.get_or_create(username=name, defaults={"email": mailbox(name)})
            if is_new:
                person.set_unusable_password()
                person.save(update_fields=["password"])
            Membership.objects.get_or_create(tenant_id=tenant_id, user=person, role=Role.APPROVER)
            for queue in queues:
                assign_perm(PERMISSION, person, queue)

    def waiting(self, session_id: UUID) -> Waiting | None:
        """Return what the session waits to have decided, None when it waits for no decision."""
        pending = ApprovalRequest.objects.filter(session_id=session_id, state=ApprovalState.PENDING)
        request = pending.order_by("created_at").last()
        if request is None:
            return None
        votes = Decision.objects.filter(request=request, verdict=Verdict.APPROVE, taken_back_at=None).count()
        why = tuple(words for _, effect, words in request.reasons if effect == "ask")
        return Waiting(request.pk, request.tool, request.arguments, request.people, request.people - votes, why)

    def approve(self, request_id: UUID, *, person: str) -> None:
        """Approve it as one person. Raises what ``decide_request`` raises."""
        request = ApprovalRequest.objects.get(pk=request_id)
        decide_request(
            request_id=request_id,
            person=_account(person),
            verdict=Verdict.APPROVE,
            digest=request.digest,
            now=utcnow(),
            acknowledged=fact_of(request).expected if request.irreversible else "",
            stepped_up=_THERE if request.irreversible else "",
        )

    def reject(self, request_id: UUID, *, person: str, reason: str) -> None:
        """Reject it as one person. Raises what ``decide_request`` raises."""
        request = ApprovalRequest.objects.get(pk=request_id)
        decide_request(
            request_id=request_id,
            person=_account(person),
            verdict=Verdict.REJECT,
            digest=request.digest,
            now=utcnow(),
            reason=reason,
        )

    def edit(self, request_id: UUID, *, person: str, arguments: Mapping[str, Any], reason: str) -> None:
        """Propose it with other arguments, as one person's own. Raises what ``edit_request`` raises."""
        request = ApprovalRequest.objects.get(pk=request_id)
        edit_request(
            request_id=request_id,
            person=_account(person),
            arguments=arguments,
            digest=request.digest,
            reason=reason,
            now=utcnow(),
        )

    @transaction.atomic
    def let_expire(self, request_id: UUID) -> None:
        """Expire it as the sweep would after its time."""
        request = ApprovalRequest.objects.get(pk=request_id)
        expire_request(request_id=request_id, now=request.expires_at)


def _account(name: str) -> User:
    return User.objects.get(username=name)
