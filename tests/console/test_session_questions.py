"""The agent asks, a person answers on the session's page, and the agent goes on with the answer."""

from datetime import timedelta

from django.test import Client
from django.utils import timezone

from agentops.ledger.queries import events_of, payload_of
from agentops.registry.planner import Question as Asked
from agentops.runtime.models import Question, Session
from agentops.runtime.states import SessionStatus
from agentops.runtime.sweep import sweep_once
from tests.console.conftest import DONE, TELL, Stage, signed_in
from tests.console.test_session_controls import titles
from tests.console.test_session_page import page_of, story_of, words_of

ASKS = Asked("Which of the two accounts\u202e is meant?", ("The first one", "The second one"))


def asked(stage: Stage) -> tuple[Session, str]:
    session = stage.work(ASKS, TELL, DONE)
    question = Question.objects.get(session_id=session.pk)
    return session, f"/sessions/{session.pk}/questions/{question.pk}/answer/"


def given_to_planner(session: Session) -> str:
    event = next(event for event in events_of(session.pk) if event.type == "person.answered")
    body = payload_of(session.pk, event.position)
    assert isinstance(body, dict)
    return str(body["result"]["answer"])  # type: ignore[index,call-overload]


def test_question_stands_at_the_top_with_its_options_and_deadline(stage: Stage, bob: Client, alice: Client) -> None:
    session, url = asked(stage)
    page = page_of(bob, session)
    words = words_of(page)
    assert "Waits for a person’s answer until" in words
    assert "Payer v1 asks Which of the two accounts U+202E right-to-left override is meant?" in words
    assert "The first one" in words
    assert "Answer by" in words
    assert f'hx-post="{url}"' in page
    assert page.index('id="question"') < page.index('id="h-tl"')
    page = page_of(alice, session)
    assert "Which of the two accounts" in words_of(page)
    assert url not in page
    assert alice.post(url, {"words": "The first"}).status_code == 404


def test_answer_is_what_was_chosen_or_written(stage: Stage, bob: Client) -> None:
    session, url = asked(stage)
    answer = bob.post(url, {"words": " "})
    assert answer.status_code == 422
    assert "Choose an answer or write one." in words_of(answer.content.decode())
    assert bob.post(url, {"choice": "1"}).headers["Location"] == f"/sessions/{session.pk}/"
    assert given_to_planner(session) == "The second one"
    page = page_of(bob, stage.go_on(session))
    assert session.status == SessionStatus.FINISHED
    assert "bob answered: “ The second one ”" in words_of(page)
    assert 'id="question"' not in page
    assert "It asked a question. After" in story_of(page)
    assert bob.post(url, {"words": "Too late"}).status_code == 409


def test_words_beside_a_choice_are_added(stage: Stage, bob: Client) -> None:
    session, url = asked(stage)
    bob.post(url, {"choice": "0", "words": "She said so."})
    assert given_to_planner(session) == "The first one. She said so."


def test_question_of_another_session_or_tenant_is_not_found(stage: Stage, bob: Client) -> None:
    session, url = asked(stage)
    other = stage.work(Asked("Really?"), DONE)
    foreign = url.replace(str(session.pk), str(other.pk))
    assert bob.post(foreign, {"words": "x"}).status_code == 404
    assert signed_in(stage.cast.charlie).post(url, {"words": "x"}).status_code == 404


def test_unanswered_question_expires_and_says_so(stage: Stage, bob: Client) -> None:
    session, url = asked(stage)
    Question.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep_once()
    assert bob.post(url, {"words": "The first"}).status_code == 409
    page = page_of(bob, stage.go_on(session))
    assert "Nobody answered in time" in words_of(page)
    assert "Nobody answered in time." in story_of(page)


def test_list_finds_what_waits_for_an_answer(stage: Stage, bob: Client) -> None:
    asked(stage)
    stage.work(TELL, DONE)
    assert titles(bob, status="waiting_person") == ["Work w-1"]
    assert "waits for an answer" in bob.get("/sessions/").content.decode()
