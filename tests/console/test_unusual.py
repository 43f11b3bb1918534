"""A session that paused by itself is seen: at home, in the list, on its page, with what it was about to do."""

import pytest
from django.test import Client
from django.urls import reverse

from agentops.console.said import standing
from agentops.runtime.models import Session
from agentops.runtime.rate_models import RateLimit
from tests.console.conftest import DONE, TELL, Stage, pay, signed_in
from tests.console.test_session_page import page_of, words_of

WHY = "The limit of calls of pay is reached: 1 in 1 hour."


@pytest.fixture
def paused(stage: Stage) -> Session:
    RateLimit.objects.create(
        tenant=stage.cast.tenant, tool="pay", per="tool", most=1, window_seconds=3600, excess="pause"
    )
    session = stage.work(pay(100), pay(200), TELL, DONE)
    assert (session.status, session.stop_code) == ("paused", "ANOMALY")
    return session


@pytest.fixture
def bob(stage: Stage) -> Client:
    return signed_in(stage.cast.bob)


def test_home_leads_to_it(stage: Stage, paused: Session, bob: Client) -> None:
    home = bob.get("/")
    [notice] = home.context["standing"].notices
    assert notice.state.word == "1 session is paused for something unusual"
    assert home.context["standing"].to_look_at == 1
    tab = bob.get(reverse("operations")).context["page"].tabs[-1]
    assert (tab.label, tab.count, tab.url) == ("Unusual sessions", 1, notice.url)
    found = bob.get(notice.url)
    [row] = found.context["page"].rows
    assert (row.pk, row.incident, row.state) == (str(paused.pk), "ANOMALY", standing("paused", ""))
    assert row.meaning.startswith("The session was about to do something unusual")


def test_page_says_why_and_what_it_was_about_to_do(stage: Stage, paused: Session, bob: Client) -> None:
    words = words_of(page_of(bob, paused))
    assert "Paused for something unusual that it was about to do" in words
    assert "Paused by itself instead of calling pay, because that is unusual" in words
    assert "It would have done this: Pay $2.00 from a-1" in words
    assert f"It was paused for something unusual : “ {WHY} ”" in words


def test_resume_lets_it_go_on_and_it_is_gone_from_home(stage: Stage, paused: Session, bob: Client) -> None:
    assert bob.post(reverse("session_resume", args=[paused.pk])).status_code == 302
    assert stage.go_on(paused).status == "finished"
    assert stage.toy.vendor.balances["a-1"] == 100_000 - 300
    assert list(bob.get("/").context["standing"].notices) == []


def test_outsider_sees_nothing_of_it(stage: Stage, paused: Session) -> None:
    charlie = signed_in(stage.cast.charlie)
    assert list(charlie.get("/").context["standing"].notices) == []
