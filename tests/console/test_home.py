"""The home page."""

import re
from datetime import timedelta

from django.test import Client
from django.utils import timezone

from agentops.kernel.errors import FailureKind
from agentops.kernel.ids import new_id
from agentops.registry.planner import PlannerUnavailable
from agentops.runtime.models import Session
from approvals.models import ApprovalRequest
from tests.console.conftest import DONE, Stage, pay
from tests.console.test_session_page import words_of


def test_empty_home_says_so(stage: Stage, bob: Client) -> None:
    words = words_of(bob.get("/").content.decode())
    assert "Nothing waits on people. No session is running. Nothing failed today." in words
    assert "No session was started today." in words


def test_home_counts_what_waits_runs_failed_and_ended(stage: Stage, alice: Client) -> None:
    stage.work(pay(5000), DONE)
    stage.work(pay(0), pay(0), pay(0), pay(0))
    stage.work(PlannerUnavailable(FailureKind.RATE_LIMIT, "slow"), DONE)
    stage.work(pay(), DONE)
    page = alice.get("/").content.decode()
    words = words_of(page)
    assert "1 request waits on people" in words
    assert "1 session is running." in words
    assert "1 failed today." in words
    assert "Pay $50.00 from a-1" in words
    assert "your turn" in words
    assert "LOOP_REFUSED" in words
    assert "4 sessions started today." in words
    assert '<span class="turn" id="turn">1' in page
    assert f'href="/approvals/{ApprovalRequest.objects.get().pk}/"' in page
    assert re.findall(r'<rect class="fill" width="(\d+)"', page) == ["250"] * 4


def test_home_of_support_offers_work_and_no_turn(stage: Stage, alice: Client, bob: Client) -> None:
    stage.work(pay(5000), DONE)
    page = bob.get("/").content.decode()
    assert "/sessions/new/" in page
    assert "your turn" not in page
    assert '<span class="turn" id="turn"></span>' in page
    assert "/sessions/new/" not in alice.get("/").content.decode()


def test_yesterday_is_not_today(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(0), pay(0), pay(0), pay(0))
    long_ago = timezone.now() - timedelta(days=2)
    old_id = (int(long_ago.timestamp() * 1000) << 80) | (new_id().int & ((1 << 80) - 1))
    Session.objects.filter(pk=session.pk).update(
        id=old_id.to_bytes(16, "big").hex(), created_at=long_ago, finished_at=long_ago
    )
    words = words_of(bob.get("/").content.decode())
    assert "Nothing failed today." in words
    assert "No session was started today." in words
    Session.objects.update(finished_at=timezone.now())
    assert "1 failed today." in words_of(bob.get("/").content.decode())
