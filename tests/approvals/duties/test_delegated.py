"""Deciding for somebody else: with both names, and with no more right than the giver has at that moment."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from guardian.shortcuts import remove_perm

from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Role
from approvals.models import Decision
from approvals.refusals import NotAllowed, NotDelegated, SamePerson
from approvals.sql import resolution_of
from tests.approvals.conftest import Stage
from tests.approvals.duties.conftest import approver, lend, needs, seen_by, vote
from tests.factories.people import make_person, make_queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def erin(stage: Stage) -> User:
    """A member without any right to decide."""
    return make_person("erin", stage.cast.tenant, Role.SUPPORT)


def test_taker_decides_with_both_names(stage: Stage, erin: User) -> None:
    request = stage.ask()
    lend(stage, stage.cast.alice, erin)
    assert seen_by(stage, erin).principals(request.queue_id) == [stage.cast.alice]
    vote(request, erin, on_behalf_of=stage.cast.alice)
    decision = Decision.objects.get()
    assert (decision.person, decision.on_behalf_of) == (erin, stage.cast.alice)
    assert resolution_of(request.invocation_id).person == "user:erin for alice"
    event = LedgerEvent.objects.get(stream=request.session_id, type="approval.approved")
    assert (event.actor, event.facts["on_behalf_of"]) == ("user:erin", "user:alice")
    stage.work()
    assert len(stage.toy.vendor.calls) == 1


def test_without_a_delegation_that_counts_now_nobody_decides_for_another(stage: Stage, erin: User) -> None:
    request, now, alice = stage.ask(), timezone.now(), stage.cast.alice
    other = make_queue(stage.cast.tenant, "other")
    hour = timedelta(hours=1)
    lend(stage, alice, erin, begins=now - 2 * hour, ends=now - hour)
    lend(stage, alice, erin, begins=now + hour, ends=now + 2 * hour)
    lend(stage, alice, erin, revoked_at=now)
    lend(stage, alice, erin, queue=other)
    lend(stage, erin, alice)
    with pytest.raises(NotDelegated):
        vote(request, erin, on_behalf_of=alice)
    assert seen_by(stage, erin).principals(request.queue_id) == []


@pytest.mark.parametrize("lost", ["permission", "membership", "active"])
def test_delegation_gives_no_right_that_the_giver_lost(stage: Stage, erin: User, lost: str) -> None:
    request, alice = stage.ask(), stage.cast.alice
    lend(stage, alice, erin)
    if lost == "permission":
        remove_perm("approvals.decide_queue", alice, stage.cast.queue)
    elif lost == "membership":
        alice.memberships.all().delete()
    else:
        User.objects.filter(pk=alice.pk).update(is_active=False)
    with pytest.raises(NotAllowed):
        vote(request, erin, on_behalf_of=alice)
    assert seen_by(stage, erin).principals(request.queue_id) == []


def test_outsider_decides_for_nobody(stage: Stage) -> None:
    request = stage.ask()
    lend(stage, stage.cast.alice, stage.cast.charlie)
    with pytest.raises(NotAllowed):
        vote(request, stage.cast.charlie, on_behalf_of=stage.cast.alice)
    assert seen_by(stage, stage.cast.charlie).principals(request.queue_id) == []


def test_delegation_does_not_make_two_people_of_one(stage: Stage, erin: User, dave: User) -> None:
    request, alice = needs(stage.ask(), 2), stage.cast.alice
    lend(stage, alice, erin)
    lend(stage, alice, dave)
    lend(stage, dave, alice)
    assert vote(request, erin, on_behalf_of=alice).missing == 1
    for person, behalf in ((alice, None), (dave, alice), (alice, dave)):
        with pytest.raises(SamePerson):
            vote(request, person, on_behalf_of=behalf)
    assert vote(request, dave).missing == 0


def test_taker_with_a_right_of_their_own_is_one_person_too(stage: Stage) -> None:
    request, frank = needs(stage.ask(), 2), approver(stage, "frank")
    lend(stage, stage.cast.alice, frank)
    vote(request, frank)
    with pytest.raises(Exception, match="another way"):
        vote(request, frank, on_behalf_of=stage.cast.alice)
    assert Decision.objects.count() == 1
