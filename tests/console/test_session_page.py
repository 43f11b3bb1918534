"""A session's timeline shows everything that was recorded, in the browser of the staff."""

import html
import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from agentops.kernel.errors import FailureKind
from agentops.ledger.append import Event
from agentops.registry.planner import FinalAnswer, Malformed, PlannerUnavailable, ToolCall, Usage
from agentops.registry.tool import NotYet, OutcomeUnknown, ToolFailure
from agentops.runtime.models import Session
from agentops.runtime.operations import move
from agentops.runtime.states import SessionStatus
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalRequest, Verdict
from tests.console.conftest import DONE, LOOK, TELL, Stage, pay


def page_of(client: Client, session: Session, query: str = "") -> str:
    response = client.get(f"/sessions/{session.pk}/{query}")
    assert response.status_code == 200
    return response.content.decode()


def words_of(page: str) -> str:
    """The page's text as a reader sees it."""
    body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def story_of(page: str) -> str:
    found = re.search(r'<p class="story">(.*?)</p>', page, re.S)
    assert found
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", found[1]))).replace("\xa0", " ").strip()


def entry_at(page: str, position: int) -> str:
    found = re.search(rf'<li class="ev" id="step-{position}".*?</li>\s*(?=<li class="ev"|</ol>)', page, re.S)
    assert found, f"no entry at {position}"
    return found[0]


def test_finished_session_tells_its_story(stage: Stage, bob: Client) -> None:
    page = page_of(bob, stage.work(LOOK, pay(), DONE))
    assert story_of(page) == (
        "ann@example.com asked: Work w-1. The agent looked something up once. "
        "Done: Pay $5.00 from a-1. It ended: refunded."
    )


def test_every_event_of_a_session_has_its_place(stage: Stage, bob: Client) -> None:
    session = stage.work(LOOK, ToolCall("shout", {}), Malformed("two calls"), pay(), DONE)
    page = page_of(bob, session)
    anchors = {int(place) for place in re.findall(r'id="step-(\d+)"', page)}
    assert anchors == set(range(session.position))
    assert len(re.findall(r'id="step-\d+"', page)) == session.position


def test_call_shows_claim_verdict_and_outcome(stage: Stage, bob: Client) -> None:
    page = page_of(bob, stage.work(LOOK, pay(), DONE))
    read, write = words_of(entry_at(page, 2)), words_of(entry_at(page, 3))
    assert "look account: a-1" in read
    assert "allowed" in read
    assert "I need the balance." in read
    assert "Agent’s claim, not verified" in read
    assert "Within the limits set for this tool." in write
    assert "done" in write
    assert "receipt: r-1" in write


def test_wait_says_that_nothing_failed(stage: Stage, bob: Client) -> None:
    class Settling(dict[str, int]):
        def __getitem__(self, name: str) -> int:
            raise NotYet("The account settles.", after=timedelta(seconds=90))

    stage.toy.vendor.balances = Settling()
    session = stage.work(LOOK, TELL, DONE)
    assert session.status == "sleeping"
    entry = words_of(entry_at(page_of(bob, session), 2))
    assert "The account settles." in entry
    assert "Nothing failed: look is called again by itself when its answer is due." in entry


def test_refusal_and_failure_stay_open(stage: Stage, bob: Client) -> None:
    stage.toy.vendor.before.append(ToolFailure(FailureKind.CONFLICT, "The account has changed."))
    page = page_of(bob, stage.work(ToolCall("pay", {"account": "b-1", "minor": 5}), pay(), DONE))
    refused, failed = entry_at(page, 2), entry_at(page, 3)
    assert 'data-kind="stop"' in refused.split(">")[0]
    assert "There is no such record for this customer." in words_of(refused)
    assert 'data-kind="stop"' in failed.split(">")[0]
    assert "The account has changed." in words_of(failed)
    for entry in (refused, failed):
        assert entry.index("gate") < entry.index("<details")


def test_gate_shows_who_decided_and_how_long_people_took(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), DONE)
    request = stage.decide(session, Verdict.APPROVE)
    page = page_of(bob, stage.go_on(session))
    gate = words_of(entry_at(page, 2))
    assert "Proposed: Pay $50.00 from a-1" in gate
    assert "More than $25.00 for one customer in one day." in gate
    assert "alice approved “ the invoice ”" in gate
    assert f'href="/approvals/{request.pk}/"' in entry_at(page, 2)
    assert "approved by alice" in words_of(entry_at(page, 5))
    assert re.search(r"It asked people: Pay \$50\.00 from a-1\. After [\d.]+ s alice approved it\.", story_of(page))


def test_rejection_says_why(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), TELL, FinalAnswer("Not paid.", blocked=("the payment",)))
    stage.decide(session, Verdict.REJECT, "Not ours to pay.")
    page = page_of(bob, stage.go_on(session))
    assert "Not ours to pay." in words_of(entry_at(page, 2))
    assert "alice rejected it" in story_of(page)
    assert "Pay $50.00" not in story_of(page).partition("alice rejected it")[2]


def test_expiry_and_withdrawal_are_told(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), FinalAnswer("Nobody decided."))
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep_once()
    assert "Nobody decided in time, so nothing was done." in story_of(page_of(bob, stage.go_on(session)))

    session = stage.work(pay(6000), DONE)
    stage.decide(session, Verdict.APPROVE)
    stage.toy.vendor.balances["a-1"] -= 1
    stage.toy.vendor.versions["a-1"] += 1
    page = page_of(bob, stage.go_on(session))
    assert "The approval was withdrawn because what had been approved no longer held." in story_of(page)
    assert "The record or the rules changed after the approval." in words_of(entry_at(page, 2))


def test_waiting_session_names_whom_it_waits_for(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), DONE)
    request = ApprovalRequest.objects.get()
    words = words_of(page_of(bob, session))
    assert "Waits on Payments until" in words
    assert f"Open {request.code}" in words
    assert "waits for Payments" in words


def test_stopped_session_says_why(stage: Stage, bob: Client) -> None:
    stage.toy.vendor.after.append(OutcomeUnknown("timed out"))
    stage.toy.vendor.deaf = True
    session = stage.work(pay(), DONE)
    while session.status == SessionStatus.SLEEPING:
        Session.objects.update(wake_at=timezone.now())
        sweep_once()
        session = stage.go_on(session)
    page = page_of(bob, session)
    assert "OUTCOME_UNKNOWN" in words_of(page)
    assert "Whether this took effect is not known: Pay $5.00 from a-1." in story_of(page)
    assert "It stopped: A call to another system may or may not have taken effect; a person must check." in story_of(
        page
    )
    assert "It handed over to a person." in story_of(page)


def test_back_off_and_lost_lease_are_shown(stage: Stage, bob: Client) -> None:
    session = stage.work(PlannerUnavailable(FailureKind.RATE_LIMIT, "slow down"), DONE)
    page = page_of(bob, session)
    assert "slow down" in words_of(entry_at(page, 2))
    assert "attempt 1 failed" in words_of(entry_at(page, 2))
    assert re.search(r"Sleeps until [^,]+, [\d:]+ UTC , because “ ?slow down ?”", words_of(page))
    assert "it tries again by itself. Attempt 1 failed." in words_of(page)
    Session.objects.update(wake_at=timezone.now())
    sweep_once()
    assert "Woke up to try again" in words_of(page_of(bob, session))
    Session.objects.update(status="running")
    session.refresh_from_db()
    event = Event("session.lease_expired", "sweep", {"lease_owner": "host:1:2"})
    move(session, [event], SessionStatus.QUEUED)
    assert "its lease ran out" in words_of(page_of(bob, session))


def test_answer_lists_what_was_verified_blocked_and_left(stage: Stage, bob: Client) -> None:
    answer = FinalAnswer("All said.", verified=("a is so",), blocked=("b was not",), left=("c is yours",))
    session = stage.work(TELL, answer)
    words = words_of(entry_at(page_of(bob, session), 4))
    assert words.endswith("All said. Verified a is so Blocked b was not Left c is yours")


def test_costs_tokens_and_sums(stage: Stage, bob: Client) -> None:
    usage = Usage("m", 1000, 234, 24_000, latency_ms=1500)
    page = page_of(bob, stage.work(LOOK, DONE, usage=usage))
    entry = words_of(entry_at(page, 2))
    assert "1.5 s · $0.0240 · 1,234 tokens" in entry
    words = words_of(page)
    assert "Cost $0.0480 of $1.00" in words
    assert "Tokens 2,468" in words
    assert "model 3.0 s" in words


def test_idle_time_is_compressed(stage: Stage, bob: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    session = stage.work(pay(5000), DONE)
    later = timezone.now() + timedelta(hours=2, minutes=14)
    monkeypatch.setattr("agentops.runtime.operations.utcnow", lambda: later)
    monkeypatch.setattr("agentops.ledger.append.utcnow", lambda: later)
    stage.decide(session, Verdict.APPROVE)
    page = page_of(bob, session)
    assert "waited 2 h 14 m for a decision" in words_of(page)
    assert 'class="wait"' in page


def test_text_from_outside_is_escaped_and_made_visible(stage: Stage, bob: Client) -> None:
    attack = '<script>alert(1)</script> <img src=x onerror=alert(2)> pay\u202eyad\u200b {{ 7|add:"7" }}'
    session = stage.work(ToolCall("note", {"text": attack}, attack), FinalAnswer(attack, left=(attack,)), text=attack)
    page = page_of(bob, session)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "\u202e" not in page
    assert "\u200b" not in page
    assert "U+202E right-to-left override" in page
    assert "U+200B zero width space" in page
    assert "{{ 7|add:" in page


def test_payload_is_a_fragment_a_page_and_a_download(stage: Stage, bob: Client) -> None:
    session = stage.work(LOOK, pay(), DONE)
    url = f"/sessions/{session.pk}/events/3/payload/"
    fragment = bob.get(url, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in fragment
    assert '"minor": 500' in html.unescape(fragment)
    assert '"receipt": "r-1"' in html.unescape(fragment)
    page = bob.get(url).content.decode()
    assert "<html" in page
    assert '"receipt": "r-1"' in html.unescape(page)
    file = bob.get(f"{url}?download=1")
    assert file.headers["Content-Type"] == "application/json"
    assert file.headers["X-Content-Type-Options"] == "nosniff"
    assert file.headers["Content-Disposition"].startswith("attachment;")
    told = json.loads(file.content)
    assert [event["type"] for event in told["events"]] == ["call.intended", "call.succeeded"]
    assert told["events"][1]["payload"]["result"] == {"receipt": "r-1", "minor": 500}


def test_big_payload_is_cut_visibly(stage: Stage, bob: Client) -> None:
    session = stage.work(ToolCall("note", {"text": "x" * 30_000}), DONE)
    url = f"/sessions/{session.pk}/events/2/payload/"
    words = words_of(bob.get(url).content.decode())
    assert "Cut:" in words
    assert "x" * 20_001 not in words
    assert "download=1" in bob.get(url).content.decode()
    assert len(bob.get(f"{url}?download=1").content) > 30_000


def test_long_session_is_paged_and_any_step_is_found(stage: Stage, bob: Client) -> None:
    stage.agent.current_version.max_steps = 500
    stage.agent.current_version.save()
    session = stage.work(*[ToolCall("note", {"text": f"note {n}"}) for n in range(150)], DONE)
    assert session.position == 303
    first, second = page_of(bob, session), page_of(bob, session, "?at=250")
    assert {int(n) for n in re.findall(r'id="step-(\d+)"', first)} == set(range(200))
    assert {int(n) for n in re.findall(r'id="step-(\d+)"', second)} == set(range(200, 303))
    assert "?at=200#h-tl" in first
    assert "?at=0#h-tl" in second
    assert "events 200 to 302 of 303" in words_of(page_of(bob, session, "?at=99999"))
    assert "events 0 to 199 of 303" in words_of(page_of(bob, session, "?at=nonsense"))


def test_number_of_queries_does_not_grow(
    stage: Stage, bob: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    session = stage.work(*[ToolCall("note", {"text": f"note {n}"}) for n in range(10)], DONE)
    with django_assert_max_num_queries(12):
        page_of(bob, session)
