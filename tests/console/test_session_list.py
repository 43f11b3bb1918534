"""The list of sessions: search, filters, pages, and landing on what a pasted id names."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentops.console.codes import session_code
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.runtime.models import Invocation, Session
from approvals.models import ApprovalRequest
from tests.console.conftest import DONE, TELL, Stage, pay


def titles(client: Client, **params: str) -> list[str]:
    page = client.get("/sessions/", params).content.decode()
    return re.findall(r"data-open><bdi>(.*?)</bdi>", page)


def test_newest_first_with_what_a_reader_needs(stage: Stage, bob: Client) -> None:
    stage.work(DONE)
    session = stage.work(pay(0), pay(0), pay(0), pay(0))
    page = bob.get("/sessions/").content.decode()
    assert titles(bob) == ["Work w-2", "Work w-1"]
    for words in (session_code(session.pk), "Payer v1", "LOOP_REFUSED", "stopped", "no action", "ann@example.com"):
        assert words in page


def test_one_query_count_for_one_and_for_thirty(stage: Stage, bob: Client) -> None:
    counts = []
    for more in (1, 29):
        for _ in range(more):
            stage.work(DONE)
        with CaptureQueriesContext(connection) as queries:
            assert len(titles(bob)) == (1 if more == 1 else 30)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_pages_follow_each_other_without_gap(stage: Stage, bob: Client) -> None:
    for _ in range(32):
        stage.work(TELL, DONE)
    first = bob.get("/sessions/", {"outcome": "answered"}).content.decode()
    following = re.search(r'href="(\?[^"]*)" rel="next"', first)
    assert following
    url = "/sessions/" + following[1].replace("&amp;", "&")
    assert "outcome=answered" in url
    second = bob.get(url).content.decode()
    seen = re.findall(r"<bdi>(Work w-\d+)</bdi>", first) + re.findall(r"<bdi>(Work w-\d+)</bdi>", second)
    assert seen == [f"Work w-{n}" for n in range(32, 0, -1)]
    assert 'rel="next"' not in second
    assert 'rel="first"' in second


def test_filters(stage: Stage, bob: Client) -> None:
    stage.work(pay(), DONE)
    stage.work(pay(5000), DONE)
    stage.work(pay(0), pay(0), pay(0), pay(0))
    assert titles(bob, status="finished") == ["Work w-1"]
    assert titles(bob, status="open") == ["Work w-2"]
    assert titles(bob, status="waiting_approval") == ["Work w-2"]
    assert titles(bob, outcome="refunded") == ["Work w-1"]
    assert titles(bob, stop="LOOP_REFUSED") == ["Work w-3"]
    assert titles(bob, status="stopped", stop="LOOP_REFUSED", q="work") == ["Work w-3"]
    assert titles(bob, q="WORK W-2") == ["Work w-2"]
    assert titles(bob, q="ann@") == ["Work w-3", "Work w-2", "Work w-1"]
    assert titles(bob, q="100%") == []


@pytest.mark.parametrize(
    "params",
    [
        {"status": "nonsense"},
        {"after": "nonsense"},
        {"after": "'; DROP TABLE session; --"},
        {"outcome": "x" * 5000},
        {"q": "   "},
        {"stop": "\x00"},
    ],
)
def test_what_no_filter_offers_restricts_nothing(stage: Stage, bob: Client, params: dict[str, str]) -> None:
    stage.work(DONE)
    assert titles(bob, **params) == ["Work w-1"]


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "S-AAAAAAAA", "AR-AAAAAAAA", "S-1", "%", "_", "x" * 10_000, "١٢٣"])
def test_strange_searches_find_nothing_and_break_nothing(stage: Stage, bob: Client, text: str) -> None:
    assert bob.get("/sessions/", {"q": text}).status_code == 200


def lands(client: Client, text: object) -> str:
    response = client.get("/sessions/", {"q": f" {text} "})
    return response.headers.get("Location", "")


def test_any_id_lands_on_its_step(stage: Stage, bob: Client) -> None:
    first = stage.work(ToolCall("look", {"account": "a-1"}), pay(), DONE)
    second = stage.work(pay(5000), FinalAnswer("x"))
    write, request = Invocation.objects.get(session_id=first.pk), ApprovalRequest.objects.get()
    assert lands(bob, first.pk) == f"/sessions/{first.pk}/"
    assert lands(bob, session_code(first.pk)) == f"/sessions/{first.pk}/"
    assert lands(bob, session_code(first.pk).lower()) == f"/sessions/{first.pk}/"
    assert lands(bob, "w-1") == f"/sessions/{first.pk}/"
    assert lands(bob, write.pk) == f"/sessions/{first.pk}/?at=3#step-3"
    assert lands(bob, write.idempotency_key) == f"/sessions/{first.pk}/?at=3#step-3"
    assert lands(bob, request.pk) == f"/sessions/{second.pk}/?at=2#step-2"
    assert lands(bob, request.code) == f"/sessions/{second.pk}/?at=2#step-2"


def test_id_of_several_sessions_lists_them(stage: Stage, bob: Client) -> None:
    stage.work(DONE)
    stage.work(DONE)
    assert lands(bob, "ann") == ""
    assert titles(bob, q="ann") == ["Work w-2", "Work w-1"]
    Session.objects.filter(subject_id="w-1").update(customer_id="bea")
    assert lands(bob, "bea") == f"/sessions/{Session.objects.get(subject_id='w-1').pk}/"


def test_titles_are_escaped(stage: Stage, bob: Client) -> None:
    stage.work(DONE)
    Session.objects.update(title="<b>bold</b>\u202eevil", requester="<i>\u200b")
    page = bob.get("/sessions/").content.decode()
    assert "<b>bold</b>" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "\u202e" not in page
    assert "\u200b" not in page
