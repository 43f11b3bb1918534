"""A planner's question to a person: it parks the session, and the answer goes on with it."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.ledger.queries import payload_of
from agentops.registry.planner import PlanContext, ToolCall
from agentops.registry.planner import Question as Ask
from agentops.runtime import control, freezing
from agentops.runtime.models import Question
from agentops.runtime.questions import CannotAnswer, answer_question
from agentops.runtime.sweep import sweep_once
from tests.factories.people import Cast
from tests.factories.runs import DONE, TELL, decide, events, go_on, once, pay, stream, thinking, work
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

WHICH = Ask("Which account shall pay?", ("a-1", "b-1"))


def answer(words: str = "a-1", actor: str = "user:bob") -> None:
    answer_question(question_id=Question.objects.latest("asked_at").pk, actor=actor, answer=words)


def as_answered(context: PlanContext) -> ToolCall:
    """Pay from the account that the person named."""
    return ToolCall("pay", {"account": context.history[-1].result["answer"], "minor": 500})


def test_question_parks_the_session_and_the_answer_goes_on_with_it(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, WHICH, as_answered, DONE)
    assert (session.status, session.lease_owner) == ("waiting_person", "")
    question = Question.objects.get()
    assert (question.text, question.options, question.closed_at) == (WHICH.text, ["a-1", "b-1"], None)
    assert go_on(session).status == "waiting_person"
    answer(" a-1 ")
    assert go_on(session).status == "finished"
    assert toy.vendor.balances["a-1"] == 99_500
    question.refresh_from_db()
    assert (question.answered_by, question.answer) == ("user:bob", "a-1")
    assert events(session)[2:4] == ["person.asked", "person.answered"]
    assert payload_of(session.pk, 3)["result"] == {"answer": "a-1", "by": "user:bob"}


def test_empty_second_and_unknown_answers_are_refused(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, WHICH, as_answered, DONE)
    with pytest.raises(CannotAnswer):
        answer(" \n")
    answer()
    with pytest.raises(CannotAnswer):
        answer("b-1", "user:eve")
    with pytest.raises(Question.DoesNotExist):
        answer_question(question_id=uuid4(), actor="user:bob", answer="a-1")
    assert go_on(session).status == "finished"
    assert Question.objects.get().answered_by == "user:bob"


def test_answer_is_recorded_as_far_as_it_can_be(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, WHICH, TELL, DONE)
    answer("a\x00b" + "x" * 9_000)
    assert go_on(session).status == "finished"
    assert Question.objects.get().answer.startswith("a\ufffdbxxx")
    assert Question.objects.get().answer.endswith("cut, 9003 characters")


def test_question_that_nobody_answers_in_time_is_told_to_the_planner(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, WHICH, TELL, DONE)
    assert sweep_once() == 0
    Question.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert sweep_once() == 1
    assert go_on(session).status == "finished"
    expired = next(e for e in stream(session) if e.type == "question.expired")
    assert payload_of(session.pk, expired.position)["result"]["code"] == "EXPIRED"
    with pytest.raises(CannotAnswer):
        answer()
    assert Question.objects.get().answered_by == ""


def test_second_question_is_another_one(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, WHICH, Ask("Are you sure?"), as_answered, DONE)
    answer("yes")
    assert go_on(session).status == "waiting_person"
    answer("a-1")
    assert go_on(session).status == "finished"
    assert Question.objects.count() == 2


@pytest.mark.parametrize("stop", ["pause", "take_over", "cancel"])
def test_question_of_a_session_that_is_stopped_cannot_be_answered(toy: Toy, agent: Agent, stop: str) -> None:
    session = work(toy, agent, WHICH, TELL, DONE)
    act = {"pause": control.pause_session, "take_over": control.take_over, "cancel": control.cancel_session}[stop]
    act(session_id=session.pk, actor="user:bob", reason="Not now.")
    with pytest.raises(CannotAnswer):
        answer()
    go_on(session)
    assert session.status == ("cancelled" if stop == "cancel" else "paused")


def test_session_that_is_resumed_asks_again(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, WHICH, as_answered, DONE)
    control.pause_session(session_id=session.pk, actor="user:bob", reason="")
    control.resume_session(session_id=session.pk, actor="user:bob")
    assert go_on(session).status == "waiting_person"
    answer()
    assert go_on(session).status == "finished"


def test_answer_while_frozen_is_kept_until_it_is_lifted(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, WHICH, as_answered, DONE)
    made = freezing.freeze(tenant_id=agent.tenant_id, agent_id=None, tool="", actor="user:bob", reason="Stop.")
    answer()
    assert (go_on(session).status, toy.vendor.calls) == ("queued", [])
    freezing.ask_to_lift(freeze_id=made.pk, actor="user:bob", reason="Go.")
    freezing.lift(freeze_id=made.pk, actor="user:eve")
    assert go_on(session).status == "finished"


def test_question_of_rules_that_changed_meanwhile_is_asked_once(toy: Toy, agent: Agent, cast: Cast) -> None:
    def touch() -> None:
        cast.tenant.save()

    session = work(toy, agent, thinking(once(touch), WHICH), TELL, pay(5000), DONE)
    assert (session.status, Question.objects.count()) == ("waiting_person", 1)
    answer()
    assert go_on(session).status == "waiting_approval"
    decide(cast)
    assert go_on(session).status == "finished"


def test_what_may_be_asked_again_and_again_runs_into_the_step_budget(toy: Toy, agent: Agent) -> None:
    agent.current_version.max_steps = 4
    agent.current_version.save()
    session = work(toy, agent, *[Ask(f"And number {n}?") for n in range(9)])
    for number in range(3):
        assert session.status == "waiting_person"
        answer(f"Number {number}.")
        go_on(session)
    assert session.status == "waiting_person"
    answer("Enough.")
    assert (go_on(session).status, session.stop_code) == ("stopped", "BUDGET_STEPS")
