"""Deciding a request whatever it takes: what has to be typed, a second factor, and as many people as needed."""

from collections.abc import Iterator

from django.contrib.auth.models import User
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.tenancy.models import Membership, Role
from approvals.duties.acknowledge import fact_of
from approvals.models import ApprovalRequest, Verdict
from approvals.operations import decide_request


def decide_fully(
    request: ApprovalRequest, person: User, verdict: Verdict, *, reason: str = "Because it is so."
) -> None:
    """Let ``person`` decide a request, and others with them until it is decided. Raises what deciding raises."""
    fact = fact_of(request).expected if request.irreversible else ""
    for one in _deciders(request, person, verdict):
        decide_request(
            request_id=request.pk,
            person=one,
            verdict=verdict,
            digest=request.digest,
            reason=reason,
            acknowledged=fact,
            stepped_up="totp" if fact else "",
            now=timezone.now(),
        )


def _deciders(request: ApprovalRequest, person: User, verdict: Verdict) -> Iterator[User]:
    yield person
    for number in range(2, request.people + 1 if verdict is Verdict.APPROVE else 0):
        name = f"{person.get_username()}-{number}"
        other, _ = User.objects.get_or_create(username=name, defaults={"email": f"{name}@example.com"})
        Membership.objects.get_or_create(tenant_id=request.tenant_id, user=other, role=Role.APPROVER)
        assign_perm("approvals.decide_queue", other, request.queue)
        yield other
