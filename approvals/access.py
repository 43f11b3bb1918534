"""Who sees, decides and manages which queues, and what that makes of a request for one person.

A right is the queue's own permission, held by the person or one of their groups, in a tenant that they belong to. Being
a superuser or having the permission for all queues is not enough.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import CharField, Exists, Func, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Cast
from guardian.models import GroupObjectPermission, UserObjectPermission

from agentops.kernel.clock import utcnow
from agentops.tenancy.models import Membership
from approvals.duties.walls import mailbox_at
from approvals.models import (
    Act,
    ActKind,
    ApprovalQueue,
    ApprovalRequest,
    Decision,
    Delegation,
    Exclusion,
    OnCallShift,
    Rung,
)

PERMISSION = "approvals.decide_queue"
SEE, DECIDE, MANAGE = "see_queue", "decide_queue", "manage_queue"


@dataclass(frozen=True)
class Rights:
    """The keys of the queues in which a person has rights. Who decides or manages a queue sees it."""

    see: frozenset[int] = frozenset()
    decide: frozenset[int] = frozenset()
    manage: frozenset[int] = frozenset()


@dataclass(frozen=True)
class View:
    """Whose queue is read, and when.

    Of the tenant's queues, by key: ``own`` are those that ``person`` may decide by a right of their own; ``givers`` who
    delegated which to them and may decide it themselves at this moment; ``seen`` those that they see, ``manages`` those
    that they manage; ``rungs`` the lowest steps of ladders on which they are called. ``accounts`` are, by the key of
    the person and of each giver, the keys of all accounts with their mailbox: those are one person.
    """

    tenant_id: UUID
    person: User
    now: datetime
    own: frozenset[int]
    seen: frozenset[int]
    manages: frozenset[int]
    givers: Mapping[int, Sequence[User]]
    rungs: Mapping[int, int]
    accounts: Mapping[int, frozenset[int]]

    @property
    def mine(self) -> frozenset[int]:
        """The queues that the person may decide, in whichever name."""
        return self.own | frozenset(self.givers)

    def lender(self, queue_id: int) -> User | None:
        """Return for whom alone the person may decide a queue, None when by a right of their own or not at all."""
        return None if queue_id in self.own else next(iter(self.givers.get(queue_id, ())), None)

    def principals(self, queue_id: int) -> list[User]:
        """Return in whose names the person may decide a queue: their own first, then whoever delegated to them."""
        return [*([self.person] if queue_id in self.own else []), *self.givers.get(queue_id, ())]


def rights_of(person: User) -> Rights:
    """Return the rights of a person, all of them in tenants that they belong to."""
    if not person.is_active:
        return Rights()
    queues = ApprovalQueue.objects.filter(_member(person)).order_by("pk")
    held = {pk: {*own, *by_group} for pk, own, by_group in queues.values_list("pk", *_names_of_rights(person))}
    return _rights(held)


def _member(person: User) -> Q:
    return Q(Exists(Membership.objects.filter(tenant=OuterRef("tenant"), user=person)))


def _names_of_rights(person: User) -> tuple[ArraySubquery, ArraySubquery]:
    """Return, for a query of queues, the names of the rights that a person has by themselves and by their groups."""
    here = {"content_type": _kind(), "object_pk": Cast(OuterRef("pk"), CharField())}
    own = UserObjectPermission.objects.filter(user=person, **here)
    by_group = GroupObjectPermission.objects.filter(group__user=person, **here)
    return ArraySubquery(own.values("permission__codename")), ArraySubquery(by_group.values("permission__codename"))


def _kind() -> ContentType:
    return ContentType.objects.get_for_model(ApprovalQueue)


def _rights(held: Mapping[int, Collection[str]]) -> Rights:
    return Rights(
        see=frozenset(pk for pk, names in held.items() if {SEE, DECIDE, MANAGE}.intersection(names)),
        decide=frozenset(pk for pk, names in held.items() if DECIDE in names),
        manage=frozenset(pk for pk, names in held.items() if MANAGE in names),
    )


def view_of(person: User, tenant_id: UUID, now: datetime) -> View:
    """Return whose queue is read, with all that decides what is in it."""
    queues = ApprovalQueue.objects.filter(_member(person), tenant_id=tenant_id).order_by("pk")
    asked = (*_names_of_rights(person), _rung_of(person, tenant_id, now), _givers(person, now), _accounts(person.pk))
    found = list(queues.values_list("pk", *asked)) if person.is_active else []
    rights = _rights({pk: {*own, *by_group} for pk, own, by_group, *_ in found})
    givers = _who_may({pk: keys for pk, _, _, _, keys, _ in found if keys}, tenant_id)
    same = {each.pk: vars(each)["accounts"] for people in givers.values() for each in people}
    same[person.pk] = found[0][-1] if found else []
    return View(
        tenant_id=tenant_id,
        person=person,
        now=now,
        own=rights.decide,
        seen=rights.see | frozenset(givers),
        manages=rights.manage,
        givers=givers,
        rungs={pk: place for pk, _, _, place, _, _ in found if place is not None},
        accounts={pk: frozenset([pk, *keys]) for pk, keys in same.items()},
    )


def _accounts(person: int | OuterRef) -> ArraySubquery:
    """Return, for a query, the keys of the accounts with a person's mailbox; none for whoever has none."""
    theirs = User.objects.filter(pk=person).values(mailbox=_MAILBOX)
    return ArraySubquery(User.objects.alias(mailbox=_MAILBOX).filter(mailbox=Subquery(theirs)).values("pk"))


# The same words as in the index, so that it is used.
_MAILBOX = Func("email", template=mailbox_at("%(expressions)s"), output_field=CharField())


def _rung_of(person: User, tenant_id: UUID, now: datetime) -> Subquery:
    on_call = OnCallShift.objects.filter(tenant_id=tenant_id, person=person, begins__lte=now, ends__gt=now)
    groups = Exists(Group.objects.filter(pk=OuterRef("group"), user=person))
    called = Q(person=person) | Q(groups) | (Q(kind=Rung.Kind.ON_CALL) & Q(Exists(on_call)))
    return Subquery(Rung.objects.filter(called, queue=OuterRef("pk")).order_by("place").values("place")[:1])


def _givers(person: User, now: datetime) -> ArraySubquery:
    here = Q(queue=None) | Q(queue=OuterRef("pk"))
    lasting = Q(begins__lte=now, ends__gt=now, revoked_at=None)
    given = Delegation.objects.filter(lasting, here, tenant=OuterRef("tenant"), taker=person)
    return ArraySubquery(given.order_by("begins", "pk").values("giver_id"))


def _who_may(given: Mapping[int, Sequence[int]], tenant_id: UUID) -> dict[int, list[User]]:
    """Return, of the people who delegated each queue, those who may decide it themselves; no queue without any."""
    if not given:
        return {}
    rights = {"content_type": _kind(), "permission__codename": DECIDE}
    own = UserObjectPermission.objects.filter(user=OuterRef("pk"), **rights).values("object_pk")
    by_group = GroupObjectPermission.objects.filter(group__user=OuterRef("pk"), **rights).values("object_pk")
    member = Exists(Membership.objects.filter(tenant_id=tenant_id, user=OuterRef("pk")))
    people = User.objects.filter(member, pk__in={pk for givers in given.values() for pk in givers}, is_active=True)
    asked = {
        "own": ArraySubquery(own),
        "by_group": ArraySubquery(by_group),
        "accounts": _accounts(OuterRef(OuterRef("pk"))),
    }
    found = {each.pk: each for each in people.annotate(**asked)}
    may = {pk: {*vars(each)["own"], *vars(each)["by_group"]} for pk, each in found.items()}
    # Somebody who delegated a queue twice gives one name.
    able: dict[int, list[User]] = {
        queue: [found[pk] for pk in dict.fromkeys(keys) if str(queue) in may.get(pk, ())]
        for queue, keys in given.items()
    }
    return {queue: people for queue, people in able.items() if people}


def visible_to(view: View) -> Q:
    """Return which requests of the tenant the person may see: by right, by the ladder, or because they are theirs."""
    return Q(queue_id__in=view.seen) | Q(assigned_to=view.person) | _called(view)


def escalated_to(view: View) -> Q:
    """Return which pending requests have come up to the person."""
    return _called(view) | Q(assigned_to=view.person, rung__gte=1)


def _called(view: View) -> Q:
    called = Q(pk__in=[])
    for queue_id, place in view.rungs.items():
        called |= Q(queue_id=queue_id, rung__gte=place)
    return called


def turn_of(view: View) -> Q:
    """Return which pending requests the person can decide now, and nobody else has said that they will.

    Whatever stands against a decision for good (``duties.rights.why_not``) stands against this, too.
    """
    person = view.person
    elsewhere = ~Q(assigned_to=None) & ~Q(assigned_to=person)
    mine = Q(queue_id__in=view.own)
    for queue_id in sorted(view.givers.keys() - view.own):
        mine |= Q(queue_id=queue_id) & ~_all_have_part(view, view.givers[queue_id])
    return (
        mine
        & ~Q(requester=f"user:{person.get_username()}")
        & ~elsewhere
        & ~claimed_by_another(view)
        & ~_has_part(view, person)
    )


def _all_have_part(view: View, people: Iterable[User]) -> Q:
    found = Q()
    for person in people:
        found &= _has_part(view, person)
    return found


def _has_part(view: View, person: User) -> Q:
    """Return in which requests somebody has a part through any of their accounts: by an exclusion or a decision.

    The database need not look for votes when one person is enough: a vote closes those.
    """
    accounts = sorted(view.accounts[person.pk])
    votes = Decision.objects.filter(request=OuterRef("pk"), taken_back_at=None)
    voted = Exists(votes.filter(Q(person__in=accounts) | Q(on_behalf_of__in=accounts)))
    excluded = Exists(Exclusion.objects.filter(request=OuterRef("pk"), person__in=accounts))
    return Q(excluded) | (Q(people__gt=1) & Q(voted))


def claimed_by_another(view: View) -> Q:
    """Return which requests somebody else has on the desk. A claim is over with its time, or when its person votes."""
    votes = Decision.objects.filter(request=OuterRef("pk"), person=OuterRef("claimed_by"), taken_back_at=None)
    return Q(claimed_until__gt=view.now) & ~Q(claimed_by=view.person) & ~(Q(people__gt=1) & Q(Exists(votes)))


def claimed_by_me(view: View) -> Q:
    """Return which requests the person has on the desk."""
    return Q(claimed_until__gt=view.now, claimed_by=view.person)


def not_skipped(view: View, *, since: datetime) -> Q:
    """Return which requests the person has not passed over since a moment."""
    skips = Act.objects.filter(request=OuterRef("pk"), person=view.person, kind=ActKind.SKIPPED, at__gt=since)
    return ~Q(Exists(skips))


def visible_requests(person: User, tenant_id: UUID, now: datetime | None = None) -> QuerySet[ApprovalRequest]:
    """Return the requests of a tenant that the person may see."""
    view = view_of(person, tenant_id, now or utcnow())
    return ApprovalRequest.objects.filter(visible_to(view), tenant_id=tenant_id)
