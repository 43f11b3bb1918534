"""Views that people keep: what may be kept, how many, and whose they are."""

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from agentops.ledger.models import LedgerEvent
from approvals.models import SavedView
from approvals.saved import MOST_VIEWS
from tests.approvals.conftest import Stage, queue_url

pytestmark = pytest.mark.django_db


def save(client: Client, name: str, query: str) -> HttpResponse:
    return client.post(reverse("approval_view_save"), {"name": name, "query": query}, follow=True)


def kept() -> dict[str, str]:
    return dict(SavedView.objects.values_list("name", "query"))


def test_view_is_kept_as_the_queue_writes_it_and_linked(stage: Stage, alice: Client) -> None:
    query = "q=tool:pay&since=5&bucket=turn&evil=<script>"
    answer = save(alice, "  All   pays ", query)
    assert kept() == {"All pays": "bucket=turn&q=tool%3Apay"}
    assert "is kept as “All pays”" in answer.content.decode()
    (link,) = alice.get(queue_url(q="tool:pay")).context["page"].views
    assert (link.name, link.url, link.current) == ("All pays", "?bucket=turn&q=tool%3Apay", True)
    event = LedgerEvent.objects.get(type="view.saved")
    assert event.actor == "user:alice"
    assert "pays" not in str(event.facts), "what is searched for can name a customer"


def test_view_of_the_same_name_is_replaced(stage: Stage, alice: Client) -> None:
    save(alice, "Mine", "q=tool:pay")
    save(alice, "Mine", "q=tier:2&bucket=others")
    assert kept() == {"Mine": "bucket=others&q=tier%3A2"}


@pytest.mark.parametrize(
    ("name", "query", "words"),
    [
        ("", "q=tool:pay", "needs a name"),
        ("x" * 61, "q=tool:pay", "needs a name"),
        ("\x00", "q=tool:pay", "needs a name"),
        ("Mine", "", "this list has none"),
        ("Mine", "bucket=turn", "this list has none"),
        ("Mine", "q=due:never", "was left out"),
        ("Mine", "q=nonsense:1", "is not a filter"),
        ("Mine", "q=a&after=zzz", "named no page"),
    ],
)
def test_what_cannot_be_kept_is_told(stage: Stage, alice: Client, name: str, query: str, words: str) -> None:
    answer = save(alice, name, query)
    assert (answer.status_code, kept()) == (200, {})
    assert words in answer.content.decode()


def test_no_more_than_twenty_are_kept(stage: Stage, alice: Client) -> None:
    for number in range(MOST_VIEWS):
        save(alice, f"View {number}", "q=tool:pay")
    assert "You keep 20 views already." in save(alice, "One more", "q=tool:pay").content.decode()
    save(alice, "View 3", "q=tier:1")
    assert len(kept()) == MOST_VIEWS
    assert kept()["View 3"] == "bucket=turn&q=tier%3A1"


def test_view_is_its_persons_alone(stage: Stage, alice: Client, bob: Client, charlie: Client) -> None:
    save(alice, "Mine", "q=tool:pay")
    view = SavedView.objects.get()
    for client in (bob, charlie):
        assert list(client.get(queue_url()).context["page"].views) == []
        assert client.post(reverse("approval_view_delete", args=[view.pk])).status_code == 404
    assert alice.post(reverse("approval_view_delete", args=[10**30])).status_code == 404
    answer = alice.post(reverse("approval_view_delete", args=[view.pk]), {"back": "bucket=others"})
    assert (answer["Location"], kept()) == (reverse("approval_queue") + "?bucket=others", {})
    assert LedgerEvent.objects.filter(type="view.deleted").count() == 1
