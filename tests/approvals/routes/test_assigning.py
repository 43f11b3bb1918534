"""Giving requests to people and queues, and taking them from whoever is not there."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from guardian.shortcuts import assign_perm

from agentops.tenancy.models import Membership, Role
from approvals.access import rights_of
from approvals.clock.due import do_due
from approvals.digest import is_intact
from approvals.models import Absence, Act, ActKind, ApprovalQueue, ApprovalRequest, Exclusion, Rung
from approvals.refusals import AlreadyClosed, NotAllowed
from approvals.routes.assigning import NotForThem, NotThere, assign, may_assign_to, queues_to_move_to
from tests.factories.cases import NOW
from tests.factories.people import Cast, make_person, make_queue

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
Open = Callable[..., ApprovalRequest]


@pytest.fixture
def boss(cast: Cast, legal: ApprovalQueue) -> User:
    """Somebody who manages both queues and decides neither."""
    boss = make_person("boss", cast.tenant, Role.ADMIN)
    for queue in (cast.queue, legal):
        assign_perm("approvals.manage_queue", boss, queue)
    return boss


@pytest.fixture
def dave(cast: Cast, legal: ApprovalQueue) -> User:
    """Somebody who decides both queues."""
    dave = make_person("dave", cast.tenant, Role.APPROVER)
    for queue in (cast.queue, legal):
        assign_perm("approvals.decide_queue", dave, queue)
    return dave


def again(request: ApprovalRequest) -> ApprovalRequest:
    return ApprovalRequest.objects.get(pk=request.pk)


def released(request: ApprovalRequest) -> list[str]:
    return [act.words for act in Act.objects.filter(request=request, kind=ActKind.RELEASED)]


def test_who_manages_the_queue_gives_a_request_to_somebody(opened: Open, boss: User, cast: Cast, dave: User) -> None:
    request = opened()
    ApprovalRequest.objects.update(claimed_by=dave, claimed_until=NOW + HOUR)
    assign(request_id=request.pk, by=boss, to=cast.alice, queue=None, words="You know them.", now=NOW)
    request = again(request)
    assert (request.assigned_to, request.claimed_by) == (cast.alice, None)
    act = Act.objects.get(request=request)
    assert (act.kind, act.person, act.words) == (ActKind.ASSIGNED, boss, "You know them.")
    assert act.facts == {"to": "alice", "queue": "payments"}


def test_a_request_moves_to_another_queue_and_stays_what_it_was(
    opened: Open, boss: User, legal: ApprovalQueue, dave: User
) -> None:
    request = opened()
    Rung.objects.create(queue=legal, place=1, kind="person", person=dave, after_percent=10)
    ApprovalRequest.objects.update(rung=1)
    assign(request_id=request.pk, by=boss, to=dave, queue=legal, words="", now=NOW)
    moved = again(request)
    assert (moved.queue, moved.opened_in, moved.assigned_to, moved.rung) == (legal, "payments", dave, 0)
    assert (moved.digest, moved.expires_at) == (request.digest, request.expires_at)
    assert is_intact(moved)
    assert moved.routed_by == "Moved here from Payments."
    assert moved.next_at == NOW + 4 * HOUR / 10


def test_it_takes_managing_both_queues(opened: Open, cast: Cast, legal: ApprovalQueue) -> None:
    request = opened()
    clerk = make_person("clerk", cast.tenant, Role.ADMIN)
    assign_perm("approvals.manage_queue", clerk, legal)
    for to, queue in ((cast.alice, None), (None, legal), (None, None)):
        with pytest.raises(NotAllowed):
            assign(request_id=request.pk, by=clerk, to=to, queue=queue, words="", now=NOW)
    assign_perm("approvals.manage_queue", clerk, cast.queue)
    third = make_queue(cast.tenant, "third")
    with pytest.raises(NotThere):
        assign(request_id=request.pk, by=clerk, to=None, queue=third, words="", now=NOW)
    assert queues_to_move_to(request, rights_of(clerk).manage) == [legal]
    assert queues_to_move_to(request, rights_of(cast.alice).manage) == []


def test_no_request_moves_to_another_company(opened: Open, boss: User, cast: Cast) -> None:
    request, theirs = opened(), make_queue(cast.other, "payments")
    Membership.objects.create(tenant=cast.other, user=boss, role=Role.ADMIN)
    assign_perm("approvals.manage_queue", boss, theirs)
    with pytest.raises(NotThere):
        assign(request_id=request.pk, by=boss, to=None, queue=theirs, words="", now=NOW)
    with pytest.raises(NotForThem):
        assign(request_id=request.pk, by=boss, to=cast.charlie, queue=None, words="", now=NOW)
    legal = ApprovalQueue.objects.get(tenant=cast.tenant, slug="legal")
    assert queues_to_move_to(request, rights_of(boss).manage) == [legal]


def test_only_who_can_decide_it_now_is_given_it(opened: Open, boss: User, cast: Cast, dave: User) -> None:
    request = opened()
    assert may_assign_to(request, NOW) == [cast.alice, dave]
    Absence.objects.create(tenant=cast.tenant, person=dave, begins=NOW - HOUR, ends=NOW + HOUR)
    assert may_assign_to(request, NOW) == [cast.alice]
    Exclusion.objects.create(request=request, person=cast.alice, why="editor")
    assert may_assign_to(request, NOW) == []
    for person in (cast.alice, dave, cast.bob, boss):
        with pytest.raises(NotForThem):
            assign(request_id=request.pk, by=boss, to=person, queue=None, words="", now=NOW)
    assert not Act.objects.filter(request=request).exists()


def test_a_move_that_is_refused_moves_nothing(opened: Open, boss: User, cast: Cast, legal: ApprovalQueue) -> None:
    request = opened()
    with pytest.raises(NotForThem):  # Alice decides payments, not legal
        assign(request_id=request.pk, by=boss, to=cast.alice, queue=legal, words="", now=NOW)
    assert again(request).queue == cast.queue


def test_whoever_has_it_gives_it_back(opened: Open, cast: Cast) -> None:
    request = opened()
    ApprovalRequest.objects.update(assigned_to=cast.alice)
    assign(request_id=request.pk, by=cast.alice, to=None, queue=None, words="No time.", now=NOW)
    assert again(request).assigned_to is None
    assert Act.objects.get(request=request).facts == {"to": "payments", "queue": "payments"}
    with pytest.raises(NotAllowed):
        assign(request_id=request.pk, by=cast.alice, to=None, queue=None, words="", now=NOW)


def test_what_is_as_wanted_is_not_recorded_again(opened: Open, boss: User, cast: Cast) -> None:
    request = opened()
    for _ in range(2):
        assign(request_id=request.pk, by=boss, to=cast.alice, queue=cast.queue, words="", now=NOW)
    assert Act.objects.filter(request=request).count() == 1


def test_a_closed_request_is_not_given_to_anybody(opened: Open, boss: User, cast: Cast) -> None:
    request = opened()
    with pytest.raises(AlreadyClosed):
        assign(request_id=request.pk, by=boss, to=cast.alice, queue=None, words="", now=NOW + 4 * HOUR)


def test_when_somebody_is_away_their_work_goes_back(opened: Open, cast: Cast) -> None:
    claimed, assigned = opened(), opened()
    ApprovalRequest.objects.filter(pk=claimed.pk).update(claimed_by=cast.alice, claimed_until=NOW + HOUR)
    ApprovalRequest.objects.filter(pk=assigned.pk).update(assigned_to=cast.alice)
    Absence.objects.create(tenant=cast.tenant, person=cast.alice, begins=NOW + HOUR / 4, ends=NOW + HOUR)
    assert do_due(NOW, 10) == 0
    assert do_due(NOW + HOUR / 2, 10) == 2
    assert (again(claimed).claimed_by, again(assigned).assigned_to) == (None, None)
    assert released(claimed) == released(assigned) == ["alice is away. Back to the queue."]
    assert do_due(NOW + HOUR / 2, 10) == 0


def test_when_an_account_is_switched_off_its_work_goes_back(opened: Open, cast: Cast) -> None:
    request = opened()
    until = NOW + HOUR
    ApprovalRequest.objects.update(claimed_by=cast.alice, claimed_until=until, assigned_to=cast.alice)
    User.objects.filter(pk=cast.alice.pk).update(is_active=False)
    assert do_due(NOW, 10) == 1
    request = again(request)
    assert (request.claimed_by, request.claimed_until, request.assigned_to) == (None, None, None)
    assert released(request) == ["The account alice is switched off. Back to the queue."]


def test_when_somebody_leaves_the_company_their_work_goes_back(opened: Open, cast: Cast) -> None:
    request = opened()
    ApprovalRequest.objects.update(assigned_to=cast.alice)
    cast.alice.memberships.all().delete()
    Membership.objects.create(tenant=cast.other, user=cast.alice, role=Role.APPROVER)
    assert do_due(NOW, 10) == 1
    assert again(request).assigned_to is None
    assert released(request) == ["alice does not belong to this company any more. Back to the queue."]


def test_an_absence_elsewhere_takes_nothing(opened: Open, cast: Cast) -> None:
    opened()
    ApprovalRequest.objects.update(assigned_to=cast.alice)
    Membership.objects.create(tenant=cast.other, user=cast.alice, role=Role.APPROVER)
    Absence.objects.create(tenant=cast.other, person=cast.alice, begins=NOW - HOUR, ends=NOW + HOUR)
    assert do_due(NOW, 10) == 0
