"""Who has a part in a request is written down when it is opened, and decides it in no way."""

import pytest
from django.contrib.auth.models import User

from agentops.agents.models import Agent
from approvals.duties.rights import names_for, why_not
from approvals.models import Exclusion
from approvals.refusals import Excluded, NotAllowed
from tests.approvals.conftest import Stage
from tests.approvals.duties.conftest import approver, lend, seen_by, vote

pytestmark = pytest.mark.django_db


def written(stage: Stage) -> set[tuple[str, str]]:
    return set(Exclusion.objects.values_list("person__username", "why"))


def test_whoever_began_the_session_and_owns_the_agent_is_written_down(stage: Stage) -> None:
    Agent.objects.update(owner=stage.cast.alice)
    stage.ask()
    assert written(stage) == {("bob", "requester"), ("alice", "owner")}


def test_other_account_with_the_same_mailbox_is_written_down(stage: Stage, dave: User) -> None:
    User.objects.filter(pk=dave.pk).update(email="BOB+approvals@example.com")
    stage.ask()
    assert written(stage) == {("bob", "requester"), ("dave", "requester")}


def test_whoever_wrote_the_request_gains_by_it(stage: Stage, dave: User) -> None:
    User.objects.filter(pk=dave.pk).update(email="Ann@example.com")
    stage.ask()
    assert written(stage) == {("bob", "requester"), ("dave", "beneficiary")}


def test_excluded_person_does_not_decide(stage: Stage) -> None:
    Agent.objects.update(owner=stage.cast.alice)
    request = stage.ask()
    with pytest.raises(Excluded):
        vote(request, stage.cast.alice)
    assert why_not(request, seen_by(stage, stage.cast.alice)) == (
        "You own the agent, so you cannot decide this.",
        "It takes somebody who has no part in it.",
    )


def test_excluded_person_does_not_decide_through_anybody(stage: Stage, dave: User) -> None:
    Agent.objects.update(owner=stage.cast.alice)
    request = stage.ask()
    lend(stage, stage.cast.alice, dave)
    lend(stage, dave, stage.cast.alice)
    with pytest.raises(Excluded):
        vote(request, dave, on_behalf_of=stage.cast.alice)
    with pytest.raises(Excluded):
        vote(request, stage.cast.alice, on_behalf_of=dave)
    assert seen_by(stage, dave).principals(request.queue_id) == [dave, stage.cast.alice]
    assert names_for(request, seen_by(stage, dave)) == [dave]
    assert names_for(request, seen_by(stage, stage.cast.alice)) == []


def test_account_that_takes_the_mailbox_later_does_not_decide(stage: Stage, dave: User) -> None:
    Agent.objects.update(owner=stage.cast.alice)
    request = stage.ask()
    User.objects.filter(pk=dave.pk).update(email="alice@example.com")
    with pytest.raises(Excluded):
        vote(request, dave)
    refusal = why_not(request, seen_by(stage, dave))
    assert refusal == ("You own the agent, so you cannot decide this.", "It takes somebody who has no part in it.")


def test_why_not_says_what_it_takes(stage: Stage) -> None:
    request = stage.ask()
    assert why_not(request, seen_by(stage, stage.cast.alice)) is None
    assert why_not(request, seen_by(stage, stage.cast.charlie)) == (
        "You can read this request, not decide it.",
        "That needs an approver of the queue Payments.",
    )
    assert why_not(request, seen_by(stage, stage.cast.bob)) == (
        "You asked for this, so you cannot decide this.",
        "It takes somebody who has no part in it.",
    )


def test_right_is_that_of_the_moment(stage: Stage) -> None:
    erin, request = approver(stage, "erin"), stage.ask()
    User.objects.filter(pk=erin.pk).update(is_active=False)
    with pytest.raises(NotAllowed):
        vote(request, erin)
    erin.memberships.all().delete()
    User.objects.filter(pk=erin.pk).update(is_active=True)
    with pytest.raises(NotAllowed):
        vote(request, erin)
