"""Work that somebody holds who is away or has left goes back to its queue."""

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q

from agentops.runtime.ports import ApprovalState
from agentops.tenancy.models import Membership
from approvals import live
from approvals.acts import record_act
from approvals.models import Absence, ActKind, ApprovalRequest, Notice
from approvals.notices.outbox import tell
from approvals.routes.people import absences_at


def is_away(person: User, tenant_id: UUID, now: datetime) -> bool:
    """Return whether a person is away from a tenant."""
    return Absence.objects.filter(absences_at(now), tenant_id=tenant_id, person=person).exists()


def _gone(who: str, now: datetime) -> Q:
    """Return which requests are held by somebody who is away, cannot sign in any more, or left the tenant."""
    here = {"tenant_id": OuterRef("tenant_id")}
    away = Absence.objects.filter(absences_at(now), person=OuterRef(f"{who}_id"), **here)
    member = Membership.objects.filter(user=OuterRef(f"{who}_id"), **here)
    return Q(Exists(away)) | ~Q(Exists(member)) | Q(**{f"{who}__is_active": False})


def held_by_the_absent(now: datetime, limit: int) -> list[UUID]:
    """Return pending requests that somebody holds who is not there."""
    pending = ApprovalRequest.objects.filter(state=ApprovalState.PENDING, expires_at__gt=now)
    claimed = pending.filter(_gone("claimed_by", now), claimed_by__isnull=False, claimed_until__gt=now)
    assigned = pending.filter(_gone("assigned_to", now), assigned_to__isnull=False)
    found = [*claimed.values_list("pk", flat=True)[:limit], *assigned.values_list("pk", flat=True)[:limit]]
    return list(dict.fromkeys(found))[:limit]


def give_back(request_id: UUID, now: datetime) -> bool:
    """Take a request from whoever is not there, in the caller's transaction. False when another sweep was faster."""
    rows = ApprovalRequest.objects.select_for_update(of=("self",), skip_locked=True)
    waiting = rows.filter(pk=request_id, state=ApprovalState.PENDING)
    request = waiting.select_related("claimed_by", "assigned_to").first()
    if request is None:
        return False
    claimant, assignee = request.claimed_by, request.assigned_to
    if claimant is not None and (why := why_gone(claimant, request.tenant_id, now)):
        request.claimed_by = request.claimed_until = None
        _record(request, claimant, why, now)
    if assignee is not None and (why := why_gone(assignee, request.tenant_id, now)):
        request.assigned_to = None
        if assignee != claimant:
            _record(request, assignee, why, now)
        tell(request, Notice.Kind.ASKED, now=now)
    if (request.claimed_by, request.assigned_to) == (claimant, assignee):
        return False
    request.save(update_fields=["claimed_by", "claimed_until", "assigned_to"])
    live.announce(request.tenant_id)
    return True


def why_gone(person: User, tenant_id: UUID, now: datetime) -> str:
    """Return why somebody cannot hold requests of a tenant, in words, or ""."""
    name = person.get_username()
    if not person.is_active:
        return f"The account {name} is switched off."
    if not Membership.objects.filter(user=person, tenant_id=tenant_id).exists():
        return f"{name} does not belong to this company any more."
    return f"{name} is away." if is_away(person, tenant_id, now) else ""


def _record(request: ApprovalRequest, person: User, why: str, now: datetime) -> None:
    facts = {"from": person.get_username()}
    record_act(request, ActKind.RELEASED, person=None, at=now, words=f"{why} Back to the queue.", facts=facts)
