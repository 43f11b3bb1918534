"""Who is told of a request: those who may decide it, less those who must not, with stand-ins for whoever is away."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.contrib.auth.models import Group, User
from django.db.models import Exists, OuterRef, Q, QuerySet
from guardian.models import GroupObjectPermission, UserObjectPermission

from agentops.console.middleware import zone_of
from agentops.tenancy.models import Membership, Tenant
from approvals.models import Absence, ApprovalRequest, Decision, Exclusion, NoticePreference
from approvals.notices.times import Habits

_PERMISSION = {
    "permission__codename": "decide_queue",
    "permission__content_type__app_label": "approvals",
    "permission__content_type__model": "approvalqueue",
}


@dataclass(frozen=True)
class Ways:
    """How a person is told: ``slack`` is a member id or nothing."""

    person: User
    habits: Habits
    mail: bool
    slack: str


def told(request: ApprovalRequest, now: datetime, people: Iterable[User] | None = None) -> list[Ways]:
    """Return who is told now, and how; ``people`` None are all who may decide it. Whoever has decided it is not."""
    chosen = _may_decide(request) if people is None else Q(pk__in=[person.pk for person in people])
    fit, away = _fit(request), Exists(_absences(request, now).filter(person=OuterRef("pk")))
    absent = fit.filter(chosen, away)
    stand_ins = fit.filter(~away, pk__in=_stand_ins(request, now, absent))
    # Who is told anyway and stands in for somebody is told once.
    here = {person.pk: person for person in [*fit.filter(chosen, ~away), *stand_ins]}
    return ways_of(list(here.values()))


def _may_decide(request: ApprovalRequest) -> Q:
    own = UserObjectPermission.objects.filter(user=OuterRef("pk"), object_pk=str(request.queue_id), **_PERMISSION)
    theirs = GroupObjectPermission.objects.filter(object_pk=str(request.queue_id), **_PERMISSION)
    through = Group.objects.filter(pk__in=theirs.values("group_id"), user=OuterRef("pk"))
    return Q(Exists(own)) | Q(Exists(through))


def _fit(request: ApprovalRequest) -> QuerySet[User]:
    """Return the people who belong to the tenant and may have to do with the request."""
    members = Membership.objects.filter(tenant_id=request.tenant_id, user=OuterRef("pk"))
    excluded = Exclusion.objects.filter(request=request, person=OuterRef("pk"))
    decided = Decision.objects.filter(request=request, person=OuterRef("pk"), taken_back_at=None)
    found = User.objects.filter(Exists(members), ~Exists(excluded), ~Exists(decided), is_active=True)
    return found.exclude(username=request.requester.removeprefix("user:")).order_by("pk")


def _absences(request: ApprovalRequest, now: datetime) -> QuerySet[Absence]:
    return Absence.objects.filter(tenant_id=request.tenant_id, begins__lte=now, ends__gt=now)


def _stand_ins(request: ApprovalRequest, now: datetime, absent: QuerySet[User]) -> QuerySet[Absence, int | None]:
    away = _absences(request, now).filter(person__in=absent.values("pk"))
    return away.exclude(stand_in=None).values_list("stand_in_id", flat=True)


def ways_of(people: Collection[User]) -> list[Ways]:
    """Return how each of the people wants to be told."""
    chosen = {own.person_id: own for own in NoticePreference.objects.filter(person__in=people)}
    return [_way(person, chosen.get(person.pk) or NoticePreference()) for person in people]


def habits_of(own: NoticePreference) -> Habits:
    """Return a person's habits as the clock rules take them."""
    digest = timedelta(minutes=own.digest_minutes)
    return Habits(zone_of(own.timezone), own.quiet_from, own.quiet_to, digest)


def zone_for(person: User, tenant: Tenant) -> ZoneInfo:
    """Return the zone in which a person reads times: their own, or the tenant's until they have chosen one."""
    own = NoticePreference.objects.filter(person=person).first()
    return zone_of(own.timezone if own else tenant.timezone)


def _way(person: User, own: NoticePreference) -> Ways:
    return Ways(person, habits_of(own), own.mail and bool(person.email), own.slack_user)


def still_fits(request: ApprovalRequest, person: User) -> bool:
    """Return whether a person who was to be told still may have to do with the request."""
    return _fit(request).filter(pk=person.pk).exists()
