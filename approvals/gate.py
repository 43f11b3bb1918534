"""The runtime's door to people: implements ``agentops.runtime.ports.ApprovalGate``."""

import logging
import secrets
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db import transaction

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.ids import new_id
from agentops.registry.role import QueueDefault
from agentops.runtime.ports import ApprovalCase, ApprovalState, Resolution
from approvals import live
from approvals.digest import request_digest
from approvals.models import ApprovalQueue, ApprovalRequest
from approvals.operations import expire_request, expired_requests
from approvals.sql import resolution_of

log = logging.getLogger(__name__)

DECIDE_WITHIN = timedelta(hours=4)


class NoQueue(AgentOpsError):
    """A tool names a queue that the tenant does not have."""

    code = "NO_QUEUE"
    next_step = "Make the queue in the admin."


class Gate:
    """Requests in PostgreSQL, decided in the browser."""

    def open(self, case: ApprovalCase) -> UUID:
        """Record a request, in the caller's transaction, and return its id. Raises NoQueue."""
        queue = ApprovalQueue.objects.filter(tenant_id=case.tenant_id, slug=case.queue).first()
        if queue is None:
            raise NoQueue(f"tenant {case.tenant_id} has no queue {case.queue!r}")
        expires_at, nonce = case.requested_at + queue.decide_within, secrets.token_hex(16)
        request = ApprovalRequest.objects.create(
            id=new_id(),
            queue=queue,
            opened_in=queue.slug,
            nonce=nonce,
            digest=request_digest(case, expires_at=expires_at, nonce=nonce),
            created_at=case.requested_at,
            expires_at=expires_at,
            money_minor=case.money.minor if case.money else None,
            money_currency=case.money.currency if case.money else "",
            reasons=[list(reason) for reason in case.reasons],
            supersedes_id=case.supersedes,
            **{name: getattr(case, name) for name in _COPIED},
        )
        live.announce(case.tenant_id)
        return request.pk

    def resolution(self, invocation_id: UUID) -> Resolution:
        """Return what became of the newest request for this call. Raises ApprovalRequest.DoesNotExist."""
        return resolution_of(invocation_id)

    def withdraw(self, invocation_id: UUID, reason: str) -> UUID | None:
        """Withdraw the pending or approved request for this call, in the caller's transaction, and return its id.

        None when there is none any more. Locks the request, as deciding does before it locks the session.
        """
        open_states = [ApprovalState.PENDING, ApprovalState.APPROVED]
        requests = ApprovalRequest.objects.select_for_update(of=("self",))
        request = requests.filter(invocation_id=invocation_id, state__in=open_states).first()
        if request is None:
            return None
        request.state, request.void_reason = ApprovalState.VOIDED, reason[:300]
        request.closed_at = request.closed_at or utcnow()
        request.save(update_fields=["state", "void_reason", "closed_at"])
        live.announce(request.tenant_id)
        return request.pk

    def ensure_queues(self, tenant_id: UUID, queues: Sequence[QueueDefault]) -> None:
        """Make the queues that a role's tools name, where the tenant has them not yet. Nobody may decide them yet."""
        for queue in queues:
            ApprovalQueue.objects.get_or_create(
                tenant_id=tenant_id,
                slug=queue.slug,
                defaults={"name": queue.name, "description": queue.description, "decide_within": DECIDE_WITHIN},
            )

    def queues_of(self, tenant_id: UUID) -> frozenset[str]:
        """Return the slugs of the tenant's queues."""
        return frozenset(ApprovalQueue.objects.filter(tenant_id=tenant_id).values_list("slug", flat=True))

    def do_due(self, limit: int) -> int:
        """Expire requests past their time, each in its own transaction, and return how many.

        One that cannot be expired is logged and does not hold up the others.
        """
        done = 0
        for request_id in expired_requests(now=utcnow(), limit=limit):
            try:
                with transaction.atomic():
                    done += expire_request(request_id=request_id, now=utcnow())
            except AgentOpsError:
                log.exception("request %s could not be expired", request_id)
        return done


_COPIED = (
    "tenant_id",
    "session_id",
    "invocation_id",
    "position",
    "agent",
    "agent_version_id",
    "requester",
    "tool",
    "tool_version",
    "tier",
    "reversibility",
    "irreversible",
    "arguments",
    "preview",
    "effect",
    "target",
    "policy_version",
    "rationale",
    "subject_kind",
    "subject_id",
    "subject_title",
    "subject_text",
    "sender",
    "people",
    "facts",
)
