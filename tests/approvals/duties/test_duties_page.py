"""The page of a person's delegations."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Role
from approvals.models import Delegation
from tests.approvals.conftest import Stage, client_of
from tests.approvals.duties.conftest import lend
from tests.factories.people import make_person, make_queue

pytestmark = pytest.mark.django_db

URL = "/approvals/duties/"


def written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M")


def give(client: Client, **given: Any) -> Any:
    now = timezone.now()
    data = {"queue": "", "begins": written(now), "ends": written(now + timedelta(days=2)), **given}
    return client.post(reverse("approval_duties"), data)


def test_delegation_is_given_and_ended_on_record(stage: Stage, alice: Client, bob: Client) -> None:
    assert reverse("approval_duties") == URL
    assert give(alice, taker=stage.cast.bob.pk, queue=stage.cast.queue.pk).status_code == 302
    made = Delegation.objects.get()
    assert (made.giver, made.taker, made.queue) == (stage.cast.alice, stage.cast.bob, stage.cast.queue)
    assert "Payments" in bob.get(URL).content.decode()
    end = reverse("approval_duty_revoke", args=[made.pk])
    assert bob.post(end).status_code == 302
    made.refresh_from_db()
    assert made.revoked_at is not None
    assert alice.post(end, follow=True).status_code == 200
    events = LedgerEvent.objects.filter(type__startswith="delegation.").order_by("position")
    assert [(event.type, event.actor) for event in events] == [
        ("delegation.given", "user:alice"),
        ("delegation.revoked", "user:bob"),
    ]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"taker": "alice"}, "taker"),
        ({"taker": "charlie"}, "taker"),
        ({"taker": ""}, "taker"),
        ({"queue": "other"}, "queue"),
        ({"queue": "999999"}, "queue"),
        ({"ends": written(timezone.now() - timedelta(hours=1))}, "ends"),
        ({"ends": written(timezone.now() + timedelta(days=31))}, "ends"),
        ({"ends": "tomorrow"}, "ends"),
        ({"begins": ""}, "begins"),
    ],
)
def test_what_cannot_be_given_is_said_at_its_field(
    stage: Stage, alice: Client, given: dict[str, Any], field: str
) -> None:
    people = {"alice": stage.cast.alice.pk, "charlie": stage.cast.charlie.pk}
    queues = {"other": make_queue(stage.cast.tenant, "other").pk}
    data = {"taker": stage.cast.bob.pk, **given}
    data["taker"] = people.get(data["taker"], data["taker"])
    data["queue"] = queues.get(data.get("queue", ""), data.get("queue", ""))
    answer = give(alice, **data)
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])
    assert not Delegation.objects.exists()


def test_what_was_lent_is_not_lent_on(stage: Stage, bob: Client) -> None:
    lend(stage, stage.cast.alice, stage.cast.bob)
    erin = make_person("erin", stage.cast.tenant, Role.SUPPORT)
    assert give(bob, taker=erin.pk).status_code == 422
    assert "You decide no queue yourself" in bob.get(URL).content.decode()


def test_only_its_two_people_see_and_end_a_delegation(stage: Stage, alice: Client, charlie: Client) -> None:
    made = lend(stage, stage.cast.alice, stage.cast.bob)
    erin = client_of(make_person("erin", stage.cast.tenant, Role.ADMIN))
    end = reverse("approval_duty_revoke", args=[made.pk])
    assert [client.post(end).status_code for client in (erin, charlie)] == [404, 404]
    assert "Nobody decides for you." in erin.get(URL).content.decode()
    assert alice.get(end).status_code == 405
    made.refresh_from_db()
    assert made.revoked_at is None
