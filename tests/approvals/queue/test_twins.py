"""Two accounts with one mailbox are one person: what deciding refuses stands in nobody's turn, nor in the badge."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentops.agents.models import Agent
from approvals.access import view_of
from approvals.duties.rights import why_not
from approvals.models import ApprovalRequest, Exclusion
from approvals.queries import Bucket, requests_in, turn_count
from tests.approvals.conftest import Stage, client_of, decide, page_url
from tests.approvals.duties.conftest import approver, lend, needs
from tests.approvals.queue.test_buckets import where
from tests.factories.people import make_queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def dave(stage: Stage) -> User:
    return approver(stage, "dave")


def same_mailbox(person: User, email: str) -> None:
    User.objects.filter(pk=person.pk).update(email=email)


def is_theirs(request: ApprovalRequest, person: User) -> bool:
    """Return whether a request is a person's turn, after comparing all places that say so."""
    view = view_of(person, request.tenant_id, timezone.now())
    request.refresh_from_db()
    in_turn = requests_in(view, Bucket.TURN).filter(pk=request.pk).exists()
    fresh = User.objects.get(pk=person.pk)
    assert in_turn == (why_not(request, view) is None)
    assert in_turn == (turn_count(fresh, request.tenant_id) == 1)
    assert where(client_of(person), request) == (["turn"] if in_turn else ["others"])
    assert client_of(person).get(page_url(request)).context["page"].panel is not None or not in_turn
    return in_turn


@pytest.mark.parametrize("email", ["alice@example.com", "ALICE+2@Example.com"])
def test_account_that_takes_the_mailbox_of_who_is_excluded(stage: Stage, dave: User, email: str) -> None:
    Agent.objects.update(owner=stage.cast.alice)
    request = stage.ask()
    assert is_theirs(request, dave)
    same_mailbox(dave, email)
    assert not is_theirs(request, dave)
    assert decide(client_of(dave), request).status_code == 403


def test_account_of_who_has_voted(stage: Stage, dave: User) -> None:
    request = needs(stage.ask(), 2)
    decide(client_of(stage.cast.alice), request)
    assert is_theirs(request, dave)
    same_mailbox(dave, "alice+two@example.com")
    assert not is_theirs(request, dave)


def test_account_of_who_was_voted_for(stage: Stage, dave: User) -> None:
    request, erin = needs(stage.ask(), 2), approver(stage, "erin")
    lend(stage, stage.cast.alice, erin)
    decide(client_of(erin), request, on_behalf_of=str(stage.cast.alice.pk))
    assert is_theirs(request, dave)
    same_mailbox(dave, "alice+two@example.com")
    assert not is_theirs(request, dave)


def test_people_without_a_mailbox_are_not_one_person(stage: Stage, dave: User) -> None:
    Agent.objects.update(owner=stage.cast.alice)
    request = stage.ask()
    User.objects.update(email="")
    assert is_theirs(request, dave)


def test_queue_that_is_only_lent_by_who_has_a_part(stage: Stage) -> None:
    request = stage.ask()
    elsewhere = make_queue(stage.cast.tenant, "elsewhere")
    dave = approver(stage, "dave")
    taker = User.objects.create_user("taker", "taker@example.com", "taker")
    taker.memberships.create(tenant=stage.cast.tenant, role="approver")
    lend(stage, dave, taker, queue=elsewhere)
    lend(stage, dave, taker)
    assert is_theirs(request, taker)
    Exclusion.objects.create(request=request, person=stage.cast.alice, why=Exclusion.Why.OWNER)
    same_mailbox(dave, "alice@example.com")
    assert not is_theirs(request, taker)
    lend(stage, approver(stage, "frank"), taker)
    assert is_theirs(request, taker), "one of two givers has no part in it"
    same_mailbox(taker, "alice@example.com")
    assert not is_theirs(request, taker)


def test_twins_are_read_with_the_queues(stage: Stage, dave: User) -> None:
    same_mailbox(dave, "alice+two@example.com")
    view_of(dave, stage.cast.tenant.pk, timezone.now())
    with CaptureQueriesContext(connection) as captured:
        view = view_of(dave, stage.cast.tenant.pk, timezone.now())
    assert len(captured) == 1
    assert view.accounts == {dave.pk: {dave.pk, stage.cast.alice.pk}}
