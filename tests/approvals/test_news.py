"""The live fragment: what changed since a page was made, without moving what is being read."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, decide, overdue, queue_url

pytestmark = pytest.mark.django_db


def listen(client: Client, **parameters: str) -> "tuple[list[str], str]":
    """Open the queue, and return its rows and the address at which it asks for news about them."""
    page = client.get(queue_url(**parameters)).context["page"]
    shown = [row.pk for group in page.groups for row in group.rows]
    return shown, page.news_url + "".join(f"&shown={pk}" for pk in shown)


def before_the_page(request: ApprovalRequest) -> None:
    ApprovalRequest.objects.filter(pk=request.pk).update(created_at=timezone.now() - timedelta(minutes=5))


def test_nothing_happened(stage: Stage, alice: Client) -> None:
    stage.ask()
    _, url = listen(alice)
    news = alice.get(url).context["news"]
    assert (news.new, list(news.gone), news.your_turn) == (0, [], 1)


def test_request_that_arrives_is_counted_and_not_shown(stage: Stage, alice: Client, bob: Client) -> None:
    before_the_page(stage.ask())
    _, url = listen(alice)
    _, others = listen(bob)
    arrived = stage.ask(5100)
    response = alice.get(url)
    news, body = response.context["news"], response.content.decode()
    assert (news.new, list(news.gone), news.your_turn) == (1, [], 2)
    assert "1 new request" in body
    assert str(arrived.pk) not in body
    assert f'href="{reverse("approval_queue")}?bucket=turn"' in body
    assert bob.get(others).context["news"].new == 0


def test_rows_leave_when_they_are_decided_or_expire(stage: Stage, alice: Client) -> None:
    first, second, third = stage.ask(), stage.ask(5100), stage.ask(5200)
    _, url = listen(alice)
    decide(alice, first)
    overdue(second)
    response = alice.get(url)
    assert set(response.context["news"].gone) == {str(first.pk), str(second.pk)}
    deleted = re.findall(r'<li id="row-([0-9a-f-]{36})" hx-swap-oob="delete"', response.content.decode())
    assert sorted(deleted) == sorted([str(first.pk), str(second.pk)])
    assert {b.key: b.count for b in response.context["news"].buckets} == {
        "turn": 1,
        "others": 0,
        "escalated": 0,
        "decided": 1,
    }
    assert third.code in alice.get(queue_url()).content.decode()


def test_news_follow_search_and_filters(stage: Stage, alice: Client) -> None:
    _, dear = listen(alice, q="amount:>100")
    _, cheap = listen(alice, q="amount:<100", tool="pay")
    stage.ask(5000)
    assert (alice.get(dear).context["news"].new, alice.get(cheap).context["news"].new) == (0, 1)


def test_news_count_what_was_decided_elsewhere(stage: Stage, alice: Client, bob: Client) -> None:
    request = stage.ask()
    _, url = listen(bob, bucket="decided")
    decide(alice, request)
    news = bob.get(url).context["news"]
    assert (news.new, list(news.gone)) == (1, [])


def test_outsider_hears_nothing_about_rows_of_others(stage: Stage, alice: Client, charlie: Client) -> None:
    stage.ask()
    _, url = listen(alice)
    news = charlie.get(url).context["news"]
    assert (news.new, news.your_turn, [b.count for b in news.buckets]) == (0, 0, [0, 0, 0, 0])
