"""Questions of agents that wait for an answer."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from agentops.registry import planner
from agentops.runtime.models import Question, Session
from agentops.runtime.questions import answer_question
from tests.console.conftest import DONE, TELL, Stage
from tests.console.operators import queries_of, read

URL = "/operations/questions/"


def ask(stage: Stage, text: str = "Which account?") -> Session:
    return stage.work(planner.Question(text), TELL, DONE)


def test_open_questions_lead_to_their_sessions(stage: Stage, alice: Client) -> None:
    assert "No question waits." in read(alice, URL)
    first, second = ask(stage), ask(stage, "<b>How</b> much?")
    page = alice.get(URL).content.decode()
    assert re.findall(r"data-open><bdi>(.*?)</bdi>", page) == ["Which account?", "&lt;b&gt;How&lt;/b&gt; much?"]
    assert f'href="/sessions/{first.pk}/"' in page
    assert f'href="/sessions/{second.pk}/"' in page
    words = read(alice, "/")
    assert "2 questions wait for an answer" in words
    assert "Operations 2 to look at" in words
    assert "No request waits for a decision." in words
    assert "Nothing waits on people." not in words
    answer_question(question_id=Question.objects.earliest("id").pk, actor="user:bob", answer="The first.")
    assert "Which account?" not in read(alice, URL)


def test_outsider_finds_none(stage: Stage, charlie: Client) -> None:
    ask(stage)
    assert "No question waits." in read(charlie, URL)


def test_thirty_a_page_at_one_query_count(stage: Stage, bob: Client) -> None:
    session = ask(stage)
    one = queries_of(bob, URL)
    asked = Question.objects.get()
    for n in range(31):
        # One open question a session, so each further one needs a session of its own.
        row = Session.objects.get(pk=session.pk)
        row.pk, row.subject_id = Session().pk, f"copy-{n}"
        row.save(force_insert=True)
        Question.objects.create(
            tenant_id=row.tenant_id, session_id=row.pk, text=f"Number {n}?", asked_at=timezone.now(),
            expires_at=asked.expires_at,
        )  # fmt: skip
    assert queries_of(bob, URL) == one
    first = bob.get(URL).content.decode()
    following = re.search(r'href="(\?after=[^"]*)" rel="next"', first)
    assert following
    second = bob.get(URL + following[1]).content.decode()
    seen = re.findall(r"Number (\d+)\?", first) + re.findall(r"Number (\d+)\?", second)
    assert seen == [str(n) for n in range(31)]


@pytest.mark.parametrize("after", ["nonsense", "x" * 5000, "\x00"])
def test_what_is_no_page_is_the_first_one(stage: Stage, bob: Client, after: str) -> None:
    ask(stage)
    assert "Which account?" in read(bob, URL, after=after)
