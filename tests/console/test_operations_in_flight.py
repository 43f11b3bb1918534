"""What is under way, what drains, and when all is quiet."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from agentops.console.operations import in_flight
from agentops.kernel.errors import FailureKind
from agentops.registry.tool import ToolFailure
from agentops.runtime.control import pause_session
from agentops.runtime.dispatch import claim
from agentops.runtime.models import Session
from tests.console.conftest import DONE, LOOK, TELL, Stage, pay
from tests.console.operators import freeze_by, queries_of, queue_up, read, words_of

URL = "/operations/"


@pytest.fixture
def during(stage: Stage, bob: Client) -> Iterator[list[str]]:
    """The page, once for each call of the vendor, as it was while that was under way."""
    seen: list[str] = []
    stage.toy.vendor.on_pay = lambda: seen.append(bob.get(URL).content.decode())
    yield seen
    stage.toy.vendor.on_pay = lambda: None


def test_nothing_under_way_is_quiet_and_asks_no_more(stage: Stage, bob: Client) -> None:
    page = bob.get(URL).content.decode()
    assert "All quiet: no call is under way." in words_of(page)
    assert "hx-trigger" not in page
    session = stage.work(pay(), DONE)
    finished = timezone.localtime(session.finished_at)
    assert f"All quiet since {finished:%H:%M:%S} : no call is under way." in read(bob, URL)


def test_call_that_is_under_way_shows_with_its_session(stage: Stage, bob: Client, during: list[str]) -> None:
    session = stage.work(LOOK, pay(), DONE)
    page, words = during[0], words_of(during[0])
    assert "1 session at work, 1 call under way." in words
    assert "Pay $5.00 from a-1" in words
    assert "calls pay" in words
    assert "Work w-1 Payer v1" in words
    assert f'href="/sessions/{session.pk}/?at=3#step-3"' in page
    assert 'hx-trigger="every 2s"' in page
    assert "All quiet" not in words


def test_fragment_is_the_part_that_changes(stage: Stage, bob: Client) -> None:
    queue_up(stage)
    claim()
    response = bob.get(URL, headers={"HX-Request": "true"})
    page = response.content.decode()
    assert page.strip().startswith('<div class="live" id="live">')
    assert "<html" not in page
    assert 'hx-get="/operations/"' in page
    assert "1 session at work, 0 calls under way." in words_of(page)
    assert response.headers["Vary"] == "HX-Request, Cookie"


def test_wish_and_silence_are_marked(stage: Stage, bob: Client) -> None:
    session = queue_up(stage)
    held = claim()
    assert held is not None
    assert "silent" not in read(bob, URL)
    pause_session(session_id=session.pk, actor="user:bob", reason="Wait.")
    ended = datetime(2026, 11, 2, 9, 2, 0, tzinfo=UTC)
    Session.objects.filter(pk=session.pk).update(lease_until=ended)
    words = read(bob, URL)
    assert "pauses after this step" in words
    assert held.owner in words
    heard = ended - timedelta(seconds=settings.LEASE_SECONDS)
    assert f"{heard:%H:%M:%S} silent: its lease ended 09:02:00" in words


def test_call_that_is_tried_later_is_open_and_not_under_way(stage: Stage, bob: Client) -> None:
    stage.toy.vendor.before.append(ToolFailure(FailureKind.RATE_LIMIT, "slow down", retry_after=30))
    session = stage.work(pay(), DONE)
    assert session.status == "sleeping"
    words = read(bob, URL)
    assert "All quiet since" in words
    assert "Pay $5.00 from a-1 Work w-1 pay its outcome is asked for later" in words


def test_what_drains_under_a_freeze(stage: Stage, bob: Client) -> None:
    frozen: list[str] = []

    def freeze_now() -> None:
        stage.toy.vendor.on_pay = lambda: None
        made = freeze_by(bob, where=f"agent:{stage.agent.pk}")
        frozen.extend([f"/operations/freezes/{made.pk}/", read(bob, URL), read(bob, f"/operations/freezes/{made.pk}/")])

    stage.toy.vendor.on_pay = freeze_now
    session = stage.work(pay(), TELL, DONE)
    detail, overview, page = frozen
    assert "The agent Payer 1 session still under way" in overview
    assert "1 session at work, 1 call under way." in page
    assert (session.status, stage.toy.notes) == ("queued", [])
    assert "The agent Payer all quiet" in read(bob, URL)
    words = read(bob, detail)
    assert re.search(r"All quiet since \d\d:\d\d:\d\d : no call is under way. 1 session waits in the queue.", words)


def test_only_what_a_freeze_covers_counts_for_it(stage: Stage, bob: Client) -> None:
    queue_up(stage)
    claim()
    of_tool = freeze_by(bob, tool="pay")
    words = read(bob, f"/operations/freezes/{of_tool.pk}/")
    frozen_at = timezone.localtime(of_tool.frozen_at)
    assert f"All quiet since {frozen_at:%H:%M:%S} : no call is under way." in words
    assert "1 session at work" in read(bob, URL)


def test_other_tenants_work_does_not_show(stage: Stage, bob: Client, charlie: Client, during: list[str]) -> None:
    seen: list[str] = []
    stage.toy.vendor.on_pay = lambda: seen.append(read(charlie, URL))
    stage.work(pay(), DONE)
    assert "All quiet: no call is under way." in seen[0]
    assert "pay" not in seen[0]


def test_one_query_count_for_one_and_for_thirty(stage: Stage, bob: Client) -> None:
    counts = []
    for more in (1, 29):
        for _ in range(more):
            queue_up(stage)
            claim()
        counts.append(queries_of(bob, URL))
    assert counts[0] == counts[1]


def test_many_are_bounded_and_counted(stage: Stage, bob: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "MOST", 2)
    for _ in range(3):
        queue_up(stage)
        claim()
    page = bob.get(URL).content.decode()
    assert "Sessions at work, 2 of 3, the longest silent first" in words_of(page)
    assert page.count("data-row") == 2
    assert "3 sessions at work" in words_of(page)
