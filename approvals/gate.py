"""The runtime's door to people: implements ``agentops.runtime.ports.ApprovalGate``."""

import logging
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from agentops.kernel.canonical import JSON
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.ids import new_id
from agentops.registry.role import QueueDefault
from agentops.runtime.deciding import Answering
from agentops.runtime.ports import ApprovalCase, ApprovalState, Resolution
from approvals import live
from approvals.acts import record_act
from approvals.clock import due
from approvals.clock.timing import deadline_of, next_at
from approvals.digest import request_digest
from approvals.duties.exclusions import exclude
from approvals.duties.rights import least_people
from approvals.insight import regret
from approvals.models import Act, ActKind, ApprovalQueue, ApprovalRequest, Notice
from approvals.notices import outbox
from approvals.notices.tasks import ring_if_due
from approvals.operations import dispatch_due, expire_request, expired_requests
from approvals.previews import uninspectable
from approvals.routes.choose import NoQueue, queue_for
from approvals.sql import resolution_of

__all__ = ["DECIDE_WITHIN", "Gate", "NoQueue"]

log = logging.getLogger(__name__)

DECIDE_WITHIN = timedelta(hours=4)


class Gate:
    """Requests in PostgreSQL, decided in the browser."""

    def open(self, case: ApprovalCase) -> UUID:
        """Record a request, in the caller's transaction, and return its id. Raises NoQueue."""
        # What nobody can inspect is decided like what cannot be undone.
        case = replace(case, irreversible=case.irreversible or uninspectable(case.preview, case.arguments))
        queue, routed_by = queue_for(case)
        # What people decide about names the queue that they find it in.
        case = replace(case, queue=queue.slug, people=least_people(case))
        expires_at, nonce = deadline_of(queue, case.requested_at), secrets.token_hex(16)
        request = ApprovalRequest(
            id=new_id(),
            queue=queue,
            opened_in=queue.slug,
            routed_by=routed_by,
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
        request.next_at = next_at(request, queue, case.requested_at)
        request.save(force_insert=True)
        exclude(request, case)
        if routed_by:
            facts: dict[str, JSON] = {"to": queue.slug}
            record_act(request, ActKind.ROUTED, person=None, at=case.requested_at, words=routed_by, facts=facts)
        outbox.tell(request, Notice.Kind.ASKED, now=case.requested_at)
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
        outbox.closed(request, utcnow())
        live.announce(request.tenant_id)
        return request.pk

    def answered(self, invocation_id: UUID, words: str) -> None:
        """Keep with the pending request for this call what the agent answered, in the caller's transaction.

        Locks the request, as deciding does before it locks the session.
        """
        requests = ApprovalRequest.objects.select_for_update(of=("self",))
        request = requests.filter(invocation_id=invocation_id, state=ApprovalState.PENDING).first()
        if request is None:
            return
        now = utcnow()
        record_act(request, ActKind.ANSWERED, person=None, at=now, words=words)
        asked = Act.objects.filter(request=request, kind=ActKind.ASKED).order_by("at", "id").last()
        people = [asked.person] if asked is not None and asked.person is not None else None
        outbox.tell(request, Notice.Kind.ANSWERED, now=now, people=people)
        live.announce(request.tenant_id)

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
        """Hand over what can no longer be taken back, expire, remind, escalate; return how much was done.

        Messages that are due are sent beside the sweep; old ones are deleted.
        """
        now = utcnow()
        done = dispatch_due(now=now, limit=limit) + _expire_due(now, limit) + due.do_due(now, limit)
        done += regret.gather(now, limit) + outbox.forget_old(now, limit)
        ring_if_due()
        return done


def _expire_due(now: datetime, limit: int) -> int:
    """Expire requests past their time, each in its own transaction.

    One that cannot be expired is logged and does not hold up the others.
    """
    done = 0
    for request_id in expired_requests(now=now, limit=limit):
        try:
            with transaction.atomic():
                done += expire_request(request_id=request_id, now=now)
        except Answering:
            continue  # it expires when the agent has answered
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
