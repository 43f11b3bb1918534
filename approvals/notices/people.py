"""Who is told of a request: those who may decide it, less those who must not, with stand-ins for whoever is away."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from agentops.tenancy.models import Tenant
from agentops.tenancy.zones import zone_of
from approvals.models import Absence, ApprovalRequest, NoticePreference
from approvals.notices.times import Habits
from approvals.routes.people import absences_at, may_decide_in, not_barred


@dataclass(frozen=True)
class Ways:
    """How a person is told: ``slack`` is a member id or nothing."""

    person: User
    habits: Habits
    mail: bool
    slack: str


def told(request: ApprovalRequest, now: datetime, people: Iterable[User] | None = None) -> list[Ways]:
    """Return who is told now, and how; ``people`` None are all who may decide it. Whoever has decided it is not."""
    chosen = may_decide_in(request.queue_id) if people is None else Q(pk__in=[person.pk for person in people])
    fit = not_barred(request).order_by("pk")
    away = Exists(_absences(request, now).filter(person=OuterRef("pk")))
    absent = fit.filter(chosen, away)
    stand_ins = fit.filter(~away, pk__in=_stand_ins(request, now, absent))
    # Who is told anyway and stands in for somebody is told once.
    here = {person.pk: person for person in [*fit.filter(chosen, ~away), *stand_ins]}
    return ways_of(list(here.values()))


def _absences(request: ApprovalRequest, now: datetime) -> QuerySet[Absence]:
    return Absence.objects.filter(absences_at(now), tenant_id=request.tenant_id)


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
    return not_barred(request).filter(pk=person.pk).exists()
