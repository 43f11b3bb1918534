"""Who may decide a request by a right of their own, and is there to do it."""

from datetime import datetime
from typing import cast

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet
from guardian.shortcuts import get_users_with_perms

from agentops.tenancy.models import Membership
from approvals.access import DECIDE
from approvals.models import Absence, ApprovalQueue, ApprovalRequest, Decision, Exclusion
from approvals.routes.leaving import absences_at

MOST_PEOPLE_SHOWN = 500


def deciders(request: ApprovalRequest, queue: ApprovalQueue, now: datetime) -> list[User]:
    """Return who could decide a request if it lay in ``queue``, by name.

    Left out are people who are away, excluded, who asked for it, or have decided it.
    """
    holders = cast("QuerySet[User]", get_users_with_perms(queue, only_with_perms_in=[DECIDE], with_superusers=False))
    person = OuterRef("pk")
    found = User.objects.filter(
        Exists(Membership.objects.filter(user=person, tenant_id=request.tenant_id)),
        ~Exists(Absence.objects.filter(absences_at(now), tenant_id=request.tenant_id, person=person)),
        ~Exists(Exclusion.objects.filter(request=request, person=person)),
        ~Exists(Decision.objects.filter(request=request, person=person, taken_back_at=None)),
        pk__in=holders.values("pk"),
        is_active=True,
    )
    others = found.exclude(username=request.requester.removeprefix("user:"))
    return list(others.order_by("username")[:MOST_PEOPLE_SHOWN])
