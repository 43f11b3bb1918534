"""Approving one's own request, through an alias, a delegate, an edit or a changed policy: through the page, refused."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.agents.models import Agent, Threshold
from approvals.models import ApprovalRequest, Decision
from approvals.verbs import edit_request
from tests.approvals.conftest import Stage, client_of, decide, page_url
from tests.approvals.duties.conftest import lend
from tests.factories.pages import page_of
from tests.factories.people import make_approver
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db


@pytest.fixture
def dave(stage: Stage) -> User:
    return make_approver("dave", stage.cast.queue)


def undecided(stage: Stage) -> bool:
    stage.work()
    return not Decision.objects.exists() and stage.toy.vendor.calls == []


def test_whoever_began_the_work_does_not_approve_it(stage: Stage) -> None:
    assign_perm("approvals.decide_queue", stage.cast.bob, stage.cast.queue)
    request, bob = stage.ask(), client_of(stage.cast.bob)
    assert not page_of(bob, page_url(request)).can_decide()
    assert decide(bob, request).status_code == 403
    assert undecided(stage)


def test_whoever_proposed_it_does_not_approve_it(stage: Stage, alice: Client) -> None:
    request = rewritten(stage.ask(), requester="user:alice")
    assert decide(alice, request).status_code == 403
    assert undecided(stage)


@pytest.mark.parametrize("email", ["bob@example.com", "BOB@Example.com", "bob+2@example.com"])
def test_another_account_of_the_same_mailbox_does_not(stage: Stage, dave: User, email: str) -> None:
    User.objects.filter(pk=dave.pk).update(email=email)
    request = stage.ask()
    assert decide(client_of(dave), request).status_code == 403
    assert undecided(stage)


def test_an_account_that_takes_the_mailbox_afterwards_does_not(stage: Stage, dave: User) -> None:
    request = stage.ask()
    User.objects.filter(pk=dave.pk).update(email="bob@example.com")
    assert decide(client_of(dave), request).status_code == 403
    assert undecided(stage)


def test_whoever_gains_by_it_does_not(stage: Stage, dave: User) -> None:
    User.objects.filter(pk=dave.pk).update(email="ann@example.com")
    assert decide(client_of(dave), stage.ask()).status_code == 403
    assert undecided(stage)


def test_the_owner_of_the_agent_does_not(stage: Stage, alice: Client) -> None:
    Agent.objects.update(owner=stage.cast.alice)
    assert decide(alice, stage.ask()).status_code == 403
    assert undecided(stage)


def test_a_delegate_does_not_approve_for_who_began_it(stage: Stage, dave: User) -> None:
    assign_perm("approvals.decide_queue", stage.cast.bob, stage.cast.queue)
    lend(stage, stage.cast.bob, dave)
    request = stage.ask()
    assert decide(client_of(dave), request, on_behalf_of=str(stage.cast.bob.pk)).status_code in (403, 422)
    assert undecided(stage)


def test_whoever_began_it_does_not_approve_for_another(stage: Stage, alice: Client) -> None:
    lend(stage, stage.cast.alice, stage.cast.bob)
    request = stage.ask()
    bob = client_of(stage.cast.bob)
    assert decide(bob, request, on_behalf_of=str(stage.cast.alice.pk)).status_code in (403, 422)
    assert undecided(stage)


def test_whoever_edited_it_does_not_approve_it(stage: Stage, alice: Client, dave: User) -> None:
    request = stage.ask()
    edit_request(
        request_id=request.pk,
        person=stage.cast.alice,
        arguments={"account": "a-1", "minor": 6000},
        digest=request.digest,
        reason="A typing error.",
        now=timezone.now(),
    )
    stage.work()
    edited = ApprovalRequest.objects.get(state="pending")
    assert (edited.money_minor, edited.pk != request.pk) == (6000, True)
    assert decide(alice, edited).status_code == 403
    assert undecided(stage)
    assert decide(client_of(dave), edited).status_code == 302
    stage.work()
    assert stage.toy.vendor.balances["a-1"] == 94_000


def test_a_changed_limit_does_not_approve_what_waits(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    Threshold.objects.update(value=10**9)
    assert undecided(stage)
    assert ApprovalRequest.objects.get(pk=request.pk).state == "pending"


def test_one_person_is_not_two(stage: Stage, alice: Client, dave: User) -> None:
    request = rewritten(stage.ask(), people=2)
    User.objects.filter(pk=dave.pk).update(email="alice+two@example.com")
    assert decide(alice, request).status_code == 302
    assert decide(alice, request).status_code == 302
    assert decide(client_of(dave), request).status_code == 403
    stage.work()
    assert (Decision.objects.count(), stage.toy.vendor.calls) == (1, [])
