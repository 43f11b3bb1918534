"""Who sees, decides and manages which queues, and what that makes of a request for one person.

A right is the queue's own permission, held by the person or one of their groups, in a tenant that they belong to. Being
a superuser or having the permission for all queues is not enough.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import CharField, Exists, Func, OuterRef, Q, QuerySet, Subquery
from guardian.models import GroupObjectPermission, UserObjectPermission

from agentops.kernel.clock import utcnow
from agentops.tenancy.mailboxes import mailbox, mailbox_at
from agentops.tenancy.models import Membership
from approvals.models import (
    Act,
    ActKind,
    ApprovalQueue,
    ApprovalRequest,
    Decision,
    Exclusion,
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
    return _rights({queue: rights for queue, rights, *_ in _read(person, None, utcnow())})


# Written out, since every page asks it, and putting it together took longer than answering it.
_QUEUES = f"""
SELECT q.id,
  ARRAY(
    SELECT p.codename FROM guardian_userobjectpermission h JOIN auth_permission p ON p.id = h.permission_id
    WHERE h.user_id = %(person)s AND h.content_type_id = %(kind)s AND h.object_pk = q.id::text
    UNION
    SELECT p.codename FROM auth_user_groups g JOIN guardian_groupobjectpermission h ON h.group_id = g.group_id
    JOIN auth_permission p ON p.id = h.permission_id
    WHERE g.user_id = %(person)s AND h.content_type_id = %(kind)s AND h.object_pk = q.id::text),
  (SELECT min(r.place) FROM approvals_rung r WHERE r.queue_id = q.id AND (
    r.person_id = %(person)s
    OR r.group_id IN (SELECT g.group_id FROM auth_user_groups g WHERE g.user_id = %(person)s)
    OR (r.kind = %(on_call)s AND EXISTS (
      SELECT 1 FROM approvals_oncallshift s WHERE s.tenant_id = q.tenant_id AND s.person_id = %(person)s
        AND s.begins <= %(now)s AND s.ends > %(now)s)))),
  ARRAY(
    SELECT d.giver_id FROM approvals_delegation d
    WHERE d.taker_id = %(person)s AND d.tenant_id = q.tenant_id AND (d.queue_id IS NULL OR d.queue_id = q.id)
      AND d.begins <= %(now)s AND d.ends > %(now)s AND d.revoked_at IS NULL
    ORDER BY d.begins, d.id),
  ARRAY(
    SELECT u.id FROM auth_user u
    WHERE {mailbox("u")} = (SELECT {mailbox("me")} FROM auth_user me WHERE me.id = %(person)s))
FROM approvals_approvalqueue q
WHERE (%(tenant)s::uuid IS NULL OR q.tenant_id = %(tenant)s::uuid)
  AND EXISTS (SELECT 1 FROM agentops_membership m WHERE m.tenant_id = q.tenant_id AND m.user_id = %(person)s)
ORDER BY q.id"""  # noqa: S608 - constants only
_Queue = tuple[int, list[str], int | None, list[int], list[int]]


def _read(person: User, tenant_id: UUID | None, now: datetime) -> list[_Queue]:
    """Return the queues of tenants that the person belongs to, of one when it is named, and none for who is not active.

    With each: their rights in it, the lowest step of its ladder on which they are called, who delegated it to them,
    and, with each again, the accounts that have their mailbox.
    """
    if not person.is_active:
        return []
    given = {
        "person": person.pk,
        "tenant": tenant_id,
        "now": now,
        "kind": _kind().pk,
        "on_call": Rung.Kind.ON_CALL.value,
    }
    with connection.cursor() as cursor:
        cursor.execute(_QUEUES, given)
        found: list[_Queue] = cursor.fetchall()
    return found


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
    found = _read(person, tenant_id, now)
    rights = _rights({queue: names for queue, names, *_ in found})
    givers = _who_may({queue: keys for queue, _, _, keys, _ in found if keys}, tenant_id)
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
        rungs={queue: place for queue, _, place, _, _ in found if place is not None},
        accounts={pk: frozenset([pk, *keys]) for pk, keys in same.items()},
    )


def _accounts() -> ArraySubquery:
    """Return, for a query of people, the keys of the accounts with each one's mailbox; none for whoever has none."""
    theirs = User.objects.filter(pk=OuterRef(OuterRef("pk"))).values(mailbox=_MAILBOX)
    return ArraySubquery(User.objects.alias(mailbox=_MAILBOX).filter(mailbox=Subquery(theirs)).values("pk"))


# The same words as in the index, so that it is used.
_MAILBOX = Func("email", template=mailbox_at("%(expressions)s"), output_field=CharField())


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
        "accounts": _accounts(),
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
