"""Who may decide a request by a right of their own, and who of them is there to do it."""

from datetime import datetime

from django.contrib.auth.models import Group, User
from django.db.models import Exists, OuterRef, Q, QuerySet
from guardian.models import GroupObjectPermission, UserObjectPermission

from agentops.tenancy.models import Membership
from approvals.access import DECIDE
from approvals.models import Absence, ApprovalQueue, ApprovalRequest, Decision, Exclusion

MOST_PEOPLE_SHOWN = 500

_PERMISSION = {
    "permission__codename": DECIDE,
    "permission__content_type__app_label": "approvals",
    "permission__content_type__model": "approvalqueue",
}


def deciders(request: ApprovalRequest, queue: ApprovalQueue, now: datetime) -> list[User]:
    """Return who could decide a request if it lay in ``queue``, by name, without people who are away."""
    away = Absence.objects.filter(absences_at(now), tenant_id=request.tenant_id, person=OuterRef("pk"))
    found = not_barred(request).filter(may_decide_in(queue.pk), ~Exists(away))
    return list(found.order_by("username")[:MOST_PEOPLE_SHOWN])


def may_decide_in(queue_id: int) -> Q:
    """Return which people have the queue's own permission to decide, by themselves or by a group."""
    own = UserObjectPermission.objects.filter(user=OuterRef("pk"), object_pk=str(queue_id), **_PERMISSION)
    theirs = GroupObjectPermission.objects.filter(object_pk=str(queue_id), **_PERMISSION)
    through = Group.objects.filter(pk__in=theirs.values("group_id"), user=OuterRef("pk"))
    return Q(Exists(own)) | Q(Exists(through))


def not_barred(request: ApprovalRequest) -> QuerySet[User]:
    """Return the members of the tenant less those who asked for the request, are excluded, or have decided it."""
    members = Membership.objects.filter(tenant_id=request.tenant_id, user=OuterRef("pk"))
    excluded = Exclusion.objects.filter(request=request, person=OuterRef("pk"))
    decided = Decision.objects.filter(request=request, person=OuterRef("pk"), taken_back_at=None)
    found = User.objects.filter(Exists(members), ~Exists(excluded), ~Exists(decided), is_active=True)
    return found.exclude(username=request.requester.removeprefix("user:"))


def absences_at(now: datetime) -> Q:
    """Return which absences last at a moment."""
    return Q(begins__lte=now, ends__gt=now)
