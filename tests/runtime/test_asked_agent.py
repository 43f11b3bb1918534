"""A person asks the agent about its call: it answers once, whatever happens in between, and waits again."""

from datetime import timedelta

import pytest
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.kernel import crashpoints
from agentops.kernel.crashpoints import CrashPoint
from agentops.kernel.errors import FailureKind
from agentops.ledger.queries import payload_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import Usage
from agentops.runtime import control, freezing
from agentops.runtime.deciding import Answering, Frozen
from agentops.runtime.dispatch import claim, work_session
from agentops.runtime.models import Session
from agentops.runtime.states import IllegalTransition
from agentops.runtime.sweep import sweep_once
from approvals.models import Act, ApprovalRequest, Verdict
from tests.factories.explaining import ExplainingPlanner, Said, away
from tests.factories.people import Cast
from tests.factories.runs import DONE, TELL, come_back, decide, events, go_on, lose_worker, pay, pending, start, stream
from tests.factories.toy import Toy
from tests.factories.verbs import WHY, ask, take_over

pytestmark = pytest.mark.django_db


def asks(toy: Toy, agent: Agent, *answers: Said, usage: Usage | None = None) -> Session:
    """Run a session as far as its question to people; its planner explains as told."""
    toy.planner = ExplainingPlanner([pay(5_000), TELL, DONE], *answers, usage=usage)
    return go_on(start(toy, agent))


def answers(session: Session) -> list[str]:
    return [
        payload_of(session.pk, event.position)["answer"]
        for event in stream(session)
        if event.type == "approval.answered"
    ]


def test_agent_answers_and_the_request_waits_again(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = asks(toy, agent, "Because it is owed.", usage=Usage("script", input_tokens=7, cost_micro=30))
    request = ask(cast.alice)
    session.refresh_from_db()
    assert session.status == "queued"
    go_on(session)
    assert (session.status, session.cost_micro, session.input_tokens) == ("waiting_approval", 60, 14)
    assert events(session)[-3:] == ["approval.asked", "session.claimed", "approval.answered"]
    assert answers(session) == ["Because it is owed."]
    assert isinstance(toy.planner, ExplainingPlanner)
    assert [(call.tool, question) for call, question in toy.planner.asked] == [("pay", WHY)]
    assert [(act.kind, act.words) for act in Act.objects.filter(kind__in=("asked", "answered"))] == [
        ("asked", WHY),
        ("answered", "Because it is owed."),
    ]
    assert pending() == request
    decide(cast)
    assert go_on(session).status == "finished"
    assert len(toy.vendor.calls) == 1


def test_agent_can_be_asked_again(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = asks(toy, agent, "First.", "Second.")
    for _ in range(2):
        ask(cast.alice)
        go_on(session)
    assert answers(session) == ["First.", "Second."]


def test_nobody_decides_while_the_agent_answers(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = asks(toy, agent, "Because.")
    ask(cast.alice)
    for verdict in Verdict:
        with pytest.raises(Answering, match="is answering a question"):
            decide(cast, verdict)
    with pytest.raises(Answering):
        ask(cast.alice)
    go_on(session)
    decide(cast, Verdict.REJECT)
    assert go_on(session).status == "finished"
    assert toy.vendor.calls == []


def test_nobody_decides_while_the_planner_thinks(toy: Toy, cast: Cast, agent: Agent) -> None:
    def decides() -> str:
        with pytest.raises(IllegalTransition):
            decide(cast)
        sweep_once()
        return "Because."

    session = asks(toy, agent, decides)
    ask(cast.alice)
    ApprovalRequest.objects.update(expires_at=timezone.now() + timedelta(hours=1))
    assert go_on(session).status == "waiting_approval"


PLAIN = {
    "does not explain": (None, "cannot explain"),
    "has a wrong key": (away(FailureKind.AUTH), "could not answer: The model is away."),
    "breaks": (RuntimeError("a bug"), "something failed inside"),
    "says nothing": ("  ", "empty answer"),
}


@pytest.mark.parametrize("what", PLAIN)
def test_planner_that_cannot_answer_is_said_plainly_and_the_request_waits(
    toy: Toy, cast: Cast, agent: Agent, what: str
) -> None:
    said, words = PLAIN[what]
    session = asks(toy, agent, said or "")
    if said is None:
        toy.planner = ScriptedPlanner([pay(5_000), TELL, DONE])
    ask(cast.alice)
    assert go_on(session).status == "waiting_approval"
    assert words in answers(session)[0]
    decide(cast)
    assert go_on(session).status == "finished"


def test_planner_that_is_away_is_asked_again_a_few_times(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = asks(toy, agent, away(), away(), "Back again.")
    ask(cast.alice)
    assert go_on(session).status == "sleeping"
    with pytest.raises(Answering):
        decide(cast)
    assert come_back(session).status == "sleeping"
    assert come_back(session).status == "waiting_approval"
    assert answers(session) == ["Back again."]
    assert session.attempts == 0


def test_planner_that_stays_away_is_given_up(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = asks(toy, agent, away())
    ask(cast.alice)
    go_on(session)
    come_back(session)
    assert come_back(session).status == "waiting_approval"
    assert "could not answer" in answers(session)[0]
    assert "session.stopping" not in events(session)


def test_session_without_money_left_says_so(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = asks(toy, agent, "Never said.", usage=Usage("script", cost_micro=400_000))
    ask(cast.alice)
    go_on(session)
    ask(cast.alice)
    assert go_on(session).status == "waiting_approval"
    assert ["was not asked" in words for words in answers(session)] == [False, True]
    assert session.cost_micro <= 1_000_000


class Died(BaseException):
    """What a kill looks like from inside the process."""


@pytest.mark.parametrize("point", [CrashPoint.QUESTION_ANSWERED, CrashPoint.ANSWER_COMMITTING])
def test_worker_that_dies_before_the_answer_is_recorded_leaves_it_to_the_next(
    toy: Toy, cast: Cast, agent: Agent, point: CrashPoint
) -> None:
    session = asks(toy, agent, "Because.")
    ask(cast.alice)

    def trap(reached: CrashPoint) -> None:
        if reached is point:
            raise Died

    crashpoints.arm(trap)
    try:
        with pytest.raises(Died):
            work_session(claim())
    finally:
        crashpoints.arm(None)
    with pytest.raises(Answering):
        decide(cast)
    lose_worker(session)
    assert go_on(session).status == "waiting_approval"
    assert answers(session) == ["Because."]
    assert Act.objects.filter(kind="answered").count() == 1


def test_question_that_workers_are_lost_at_is_answered_without_the_planner(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = asks(toy, agent, "Never said.")
    ask(cast.alice)
    Session.objects.update(attempts=5)
    assert go_on(session).status == "waiting_approval"
    assert "stopped several times" in answers(session)[0]
    assert pending().state == "pending"


def test_time_runs_out_while_the_question_waits(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = asks(toy, agent, away())
    request = ask(cast.alice)
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep_once()
    request.refresh_from_db()
    assert request.state == "expired"
    assert go_on(session).status == "finished"
    assert answers(session) == []
    assert toy.vendor.calls == []


def test_time_that_runs_out_while_the_planner_thinks_is_not_lost(toy: Toy, cast: Cast, agent: Agent) -> None:
    def thinks() -> str:
        ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        sweep_once()
        return "Too late."

    session = asks(toy, agent, thinks)
    request = ask(cast.alice)
    assert go_on(session).status == "waiting_approval"
    sweep_once()
    request.refresh_from_db()
    assert request.state == "expired"
    assert go_on(session).status == "finished"


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("wish", ["pause", "take over", "cancel", "freeze"])
def test_whoever_steps_in_meanwhile_withdraws_the_request(
    toy: Toy, cast: Cast, agent: Agent, wish: str, thinking: bool
) -> None:
    def step_in() -> str:
        words = {"session_id": session.pk, "actor": "user:bob", "reason": "Wait."}
        if wish == "freeze":
            scope = {"tenant_id": cast.tenant.pk, "agent_id": agent.pk, "tool": ""}
            freezing.freeze(**scope, actor="user:bob", reason="Wait.")
        else:
            {"pause": control.pause_session, "take over": control.take_over, "cancel": control.cancel_session}[wish](
                **words
            )
        return "Because."

    session = asks(toy, agent, step_in if thinking else "Because.")
    request = ask(cast.alice)
    if not thinking:
        step_in()
    go_on(session)
    request.refresh_from_db()
    assert request.state == "voided"
    status = {"pause": "paused", "take over": "paused", "cancel": "cancelled", "freeze": "queued"}[wish]
    assert (session.status, answers(session)) == (status, [])


def test_who_takes_the_work_over_by_the_request_does_so_while_the_agent_is_asked(
    toy: Toy, cast: Cast, agent: Agent
) -> None:
    session = asks(toy, agent, "Because.")
    request = ask(cast.alice)
    take_over(cast.alice)
    request.refresh_from_db()
    session.refresh_from_db()
    assert (request.state, session.status, session.taken_by) == ("voided", "paused", "user:alice")


def test_answer_is_bounded_and_recordable(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = asks(toy, agent, "a\x00\ud800" + "b" * 100_000)
    ask(cast.alice)
    assert go_on(session).status == "waiting_approval"
    assert len(answers(session)[0]) <= 2_000
    assert "\x00" not in answers(session)[0]


def test_frozen_call_is_not_asked_about(toy: Toy, cast: Cast, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    asks(toy, agent, "Because.")
    monkeypatch.setattr(freezing, "_retire", lambda made: False)
    freezing.freeze(tenant_id=cast.tenant.pk, agent_id=None, tool="pay", actor="user:bob", reason="Wait.")
    with pytest.raises(Frozen):
        ask(cast.alice)
