"""Claims at the same moment: one winner, and everybody is served something else."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from guardian.shortcuts import assign_perm

from agentops.tenancy.models import Role
from approvals.models import Act, ActKind, ApprovalRequest
from tests.approvals.conftest import Stage, client_of, decide
from tests.approvals.test_races import at_once
from tests.factories.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = 8


@pytest.fixture
def crowd(stage: Stage) -> list[Client]:
    """Several approvers of one queue, each in a browser of their own."""
    people = [make_person(f"p{number}", stage.cast.tenant, Role.APPROVER) for number in range(PEOPLE)]
    for person in people:
        assign_perm("approvals.decide_queue", person, stage.cast.queue)
    return [client_of(person) for person in people]


def posts(clients: list[Client], url: str) -> list[Callable[[], int]]:
    def post(client: Client) -> Callable[[], int]:
        return lambda: client.post(url).status_code

    return [post(client) for client in clients]


def test_one_of_many_gets_the_claim(stage: Stage, crowd: list[Client]) -> None:
    request = stage.ask()
    at_once(posts(crowd, reverse("approval_claim", args=[request.pk])))
    request.refresh_from_db()
    claimed = Act.objects.filter(kind=ActKind.CLAIMED)
    assert [act.person for act in claimed] == [request.claimed_by]


def test_everybody_is_served_another_request(stage: Stage, crowd: list[Client]) -> None:
    requests = [stage.ask(5000 + number) for number in range(PEOPLE)]
    at_once(posts(crowd, reverse("approval_next")))
    holders = ApprovalRequest.objects.filter(pk__in=[one.pk for one in requests])
    assert {one.claimed_by for one in holders} == set(User.objects.filter(username__startswith="p"))
    assert Act.objects.filter(kind=ActKind.CLAIMED).count() == PEOPLE


def test_claim_and_decision_at_once_leave_a_decided_request(stage: Stage, crowd: list[Client]) -> None:
    request = stage.ask()
    claims = posts(crowd[:-1], reverse("approval_claim", args=[request.pk]))
    at_once([*claims, lambda: decide(crowd[-1], request).status_code])
    request.refresh_from_db()
    assert request.state == "approved"
    assert Act.objects.filter(kind=ActKind.CLAIMED).count() <= 1
