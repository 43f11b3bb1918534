"""A read whose answer is not due: the session sleeps until then, and the same call is made again."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentops.agents.models import Agent, ToolGrant
from agentops.gateway.models import Breaker
from agentops.kernel import crashpoints
from agentops.kernel.crashpoints import CrashPoint
from agentops.ledger.queries import payload_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import PlanContext, ToolCall
from agentops.registry.tool import CallContext, NotYet
from agentops.runtime import control
from agentops.runtime.dispatch import claim
from agentops.runtime.models import Invocation, Priority, Session
from agentops.runtime.sweep import sweep_once
from agentops.runtime.waking import wake_sessions
from tests.factories.people import Cast
from tests.factories.runs import (
    DONE,
    LOOK,
    TELL,
    begin,
    come_back,
    events,
    go_on,
    lose_worker,
    pay,
    plan,
    results,
    start,
    stream,
    work,
)
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

BOB = "user:bob"


@pytest.fixture
def due() -> list[float]:
    """After how many seconds the next answers are due, in turn; then there is an answer."""
    return []


@pytest.fixture
def asked() -> list[Any]:
    """The arguments with which the tool was called, each time."""
    return []


@pytest.fixture
def toy(toy: Toy, monkeypatch: pytest.MonkeyPatch, due: list[float], asked: list[Any]) -> Toy:
    def look(context: CallContext, arguments: Any) -> dict[str, Any]:
        asked.append(dict(arguments))
        if due:
            raise NotYet("The account settles.", after=timedelta(seconds=due.pop(0)))
        return {"balance": toy.vendor.balances[arguments["account"]]}

    spec = toy.spec()
    tools = tuple(replace(tool, run=look) if tool.name == "look" else tool for tool in spec.tools)
    monkeypatch.setattr(roles, "all_roles", lambda: (replace(spec, tools=tools),))
    return toy


@pytest.fixture
def crash() -> Iterator[list[CrashPoint]]:
    """The points at which a worker ends, each once."""
    points: list[CrashPoint] = []

    def trap(point: CrashPoint) -> None:
        if point in points:
            points.remove(point)
            raise KeyboardInterrupt

    crashpoints.arm(trap)
    yield points
    crashpoints.arm(None)


def waits(session: Session) -> list[tuple[int, int]]:
    return [(e.facts["waits"], e.facts["waited"]) for e in stream(session) if e.type == "session.sleeping"]


def test_session_sleeps_until_the_answer_is_due(toy: Toy, agent: Agent, due: list[float], asked: list[Any]) -> None:
    due += [90, 30.2]
    session = work(toy, agent, LOOK, pay(), DONE)
    assert session.status == "sleeping"
    assert session.wake_at is not None
    assert timedelta(seconds=80) < session.wake_at - timezone.now() <= timedelta(seconds=90)
    assert come_back(session).status == "sleeping"
    assert come_back(session).status == "finished"
    assert waits(session) == [(90, 90), (31, 121)]
    assert asked == [{"account": "a-1"}] * 3
    assert results(session, "call.read") == [{"balance": 100_000}]
    assert toy.vendor.balances["a-1"] == 99_500


def test_wait_says_what_it_is_for(toy: Toy, agent: Agent, due: list[float]) -> None:
    due.append(60)
    session = work(toy, agent, replace(LOOK, rationale="To be sure."), TELL, DONE)
    (told,) = [event for event in stream(session) if event.type == "session.sleeping"]
    expected = {
        "tool": "look",
        "code": "NOT_YET",
        "words": "The account settles.",
        "waits": 60,
        "waited": 60,
    }
    assert expected.items() <= told.facts.items()
    body = payload_of(session.pk, told.position)
    assert (body["arguments"], body["rationale"]) == (LOOK.arguments, "To be sure.")
    come_back(session)
    (read,) = [event for event in stream(session) if event.type == "call.read"]
    assert read.facts["model"] == told.facts["model"]
    assert payload_of(session.pk, read.position) == {**body, "result": {"balance": 100_000}}


def test_waiting_is_no_step_no_attempt_and_no_work(toy: Toy, agent: Agent, due: list[float]) -> None:
    """Twelve waits are as many as there are steps in the budget, and far more than there may be attempts."""
    due += [60] * 12
    session = work(toy, agent, LOOK, TELL, DONE)
    for number in range(12):
        assert (session.status, session.attempts, session.steps) == ("sleeping", 0, 0), number
        come_back(session)
    assert (session.status, session.outcome, session.steps) == ("finished", "answered", 3)
    assert session.worked_ms < 60_000
    assert not Breaker.objects.exists()
    assert "call.read_failed" not in events(session)


def test_planner_is_not_asked_while_it_waits(toy: Toy, agent: Agent, due: list[float]) -> None:
    lengths: list[int] = []

    def noted(line: Any) -> Any:
        def moment(context: PlanContext) -> Any:
            lengths.append(len(context.history))
            return line

        return moment

    due += [60, 60]
    session = work(toy, agent, noted(LOOK), noted(TELL), noted(DONE))
    come_back(session)
    come_back(session)
    assert (session.status, lengths) == ("finished", [0, 1, 2])


@pytest.mark.parametrize(
    ("answers", "slept"),
    [
        ([3_600] * 4, [(600, 600), (600, 1_200), (600, 1_800)]),
        ([599.5, 600, 601, 1], [(600, 600), (600, 1_200), (600, 1_800)]),
        ([500, 500, 500, 500, 5], [(500, 500), (500, 1_000), (500, 1_500), (300, 1_800)]),
    ],
)
def test_wait_is_bounded(
    toy: Toy, agent: Agent, due: list[float], answers: list[float], slept: list[tuple[int, int]]
) -> None:
    due += answers
    session = work(toy, agent, LOOK, TELL, DONE)
    while session.status == "sleeping":
        come_back(session)
    assert (session.status, waits(session), due) == ("finished", slept, [])
    assert results(session, "call.refused") == [
        {
            "code": "NOT_YET",
            "message": "The account settles.",
            "next_step": "It was waited for long enough; do something else, or hand over.",
        }
    ]


def test_next_call_waits_anew(toy: Toy, agent: Agent, due: list[float]) -> None:
    due += [600] * 5
    session = work(toy, agent, LOOK, LOOK, TELL, DONE)
    for _ in range(3):
        come_back(session)
    assert (session.status, events(session).count("call.refused")) == ("sleeping", 1)
    assert waits(session) == [(600, 600), (600, 1_200), (600, 1_800), (600, 600)]
    come_back(session)
    assert (session.status, results(session, "call.read")) == ("finished", [{"balance": 100_000}])


@pytest.mark.parametrize("after", [0, -5])
def test_answer_that_is_said_to_be_due_does_not_spin(toy: Toy, agent: Agent, due: list[float], after: float) -> None:
    due.append(after)
    assert waits(work(toy, agent, LOOK, TELL, DONE)) == [(1, 1)]


def test_person_who_looks_waits_as_well(toy: Toy, agent: Agent, cast: Cast, due: list[float]) -> None:
    session = begin(toy, agent, DONE)
    control.take_over(session_id=session.pk, actor=BOB, reason="Mine.")
    due += [60, 60]
    propose(session)
    assert go_on(session).status == "sleeping"
    come_back(session)
    assert (session.status, waits(session)) == ("sleeping", [(60, 60), (60, 120)])
    assert come_back(session).status == "paused"
    (read,) = [event for event in stream(session) if event.type == "call.read"]
    assert read.actor == BOB


def propose(session: Session) -> None:
    arguments = LOOK.arguments
    assert isinstance(arguments, dict)
    control.propose_call(session_id=session.pk, actor=BOB, tool="look", arguments=arguments, rationale="")


def test_paused_session_waits_on_after_it_was_resumed(toy: Toy, agent: Agent, due: list[float]) -> None:
    due += [60]
    session = work(toy, agent, LOOK, TELL, DONE)
    control.pause_session(session_id=session.pk, actor=BOB, reason="Wait.")
    assert come_back(session).status == "paused"
    control.resume_session(session_id=session.pk, actor=BOB)
    assert (go_on(session).status, results(session, "call.read")) == ("finished", [{"balance": 100_000}])


def test_session_that_was_taken_over_is_planned_anew(
    toy: Toy, agent: Agent, due: list[float], asked: list[Any]
) -> None:
    due += [60]
    session = work(toy, agent, LOOK, TELL, DONE)
    control.take_over(session_id=session.pk, actor=BOB, reason="Mine.")
    assert come_back(session).status == "paused"
    control.hand_back(session_id=session.pk, actor=BOB, note="")
    plan(toy, TELL, DONE)
    assert (go_on(session).status, len(asked)) == ("finished", 1)


def test_cancelled_session_asks_no_more(toy: Toy, agent: Agent, due: list[float], asked: list[Any]) -> None:
    due += [60]
    session = work(toy, agent, LOOK, TELL, DONE)
    control.cancel_session(session_id=session.pk, actor=BOB, reason="Enough.")
    assert (come_back(session).status, len(asked)) == ("cancelled", 1)


def test_session_that_is_woken_early_asks_early(toy: Toy, agent: Agent, due: list[float], asked: list[Any]) -> None:
    due += [600, 400]
    session = work(toy, agent, LOOK, TELL, DONE)
    wake_sessions(tenant_id=session.tenant_id, kind="work", subjects=["w-1"], actor="webhook:bank", words="Settled.")
    assert (go_on(session).status, waits(session)) == ("sleeping", [(600, 600), (400, 1_000)])
    assert (come_back(session).status, len(asked)) == ("finished", 3)


def test_tool_that_was_withdrawn_meanwhile_is_not_called(
    toy: Toy, agent: Agent, due: list[float], asked: list[Any]
) -> None:
    due += [60]
    session = work(toy, agent, LOOK, TELL, DONE)
    ToolGrant.objects.get(tool="look").delete()
    assert (come_back(session).status, len(asked)) == ("finished", 1)
    assert [refusal["code"] for refusal in results(session, "call.refused")] == ["UNKNOWN_TOOL"]


@pytest.mark.django_db(transaction=True)
def test_urgent_session_whose_wait_is_over_takes_its_turn(toy: Toy, agent: Agent, due: list[float]) -> None:
    """The only worker is busy with ordinary work, and lets go of it between two steps."""

    def choose(context: PlanContext) -> Any:
        name, step = context.subject.id, len(context.history)
        if name == "w-u" and step == 0:
            return LOOK
        if name == "w-1" and step == 0:
            Session.objects.filter(status="sleeping").update(wake_at=timezone.now())
            sweep_once()
        return ToolCall("note", {"text": f"{name} {step}"}) if step < 2 else DONE

    toy.planner = ScriptedPlanner(choose)
    due += [600]
    urgent = go_on(start(toy, agent, "w-u", priority=Priority.URGENT))
    assert urgent.status == "sleeping"
    assert go_on(start(toy, agent, "w-1")).status == "finished"
    assert toy.notes == ["w-1 0", "w-u 1", "w-1 1"]


@pytest.mark.parametrize(
    ("point", "times"),
    [(CrashPoint.READ_RETURNED, 3), (CrashPoint.SLEEP_COMMITTED, 2), (CrashPoint.READ_RECORDED, 2)],
)
def test_lost_worker_loses_no_wait(
    toy: Toy,
    agent: Agent,
    due: list[float],
    asked: list[Any],
    crash: list[CrashPoint],
    point: CrashPoint,
    times: int,
) -> None:
    """Before the wait is on record the planner is asked anew; after it the call is made again, by whoever comes."""
    due += [60, 60] if point is CrashPoint.READ_RETURNED else [60]
    session = begin(toy, agent, LOOK, TELL, DONE)
    crash.append(point)
    if point is CrashPoint.READ_RECORDED:
        go_on(session)
        with pytest.raises(KeyboardInterrupt):
            come_back(session)
    else:
        with pytest.raises(KeyboardInterrupt):
            go_on(session)
    session.refresh_from_db()
    if session.status == "running":
        lose_worker(session)
        go_on(session)
    if session.status == "sleeping":
        come_back(session)
    assert (session.status, len(asked), crash) == ("finished", times, [])
    assert (len(waits(session)), events(session).count("call.read"), toy.notes) == (1, 1, ["Told the customer."])


def test_worker_that_dies_while_it_asks_again_is_succeeded(
    toy: Toy, agent: Agent, due: list[float], asked: list[Any]
) -> None:
    due += [60]
    session = work(toy, agent, LOOK, TELL, DONE)
    Session.objects.update(wake_at=timezone.now())
    sweep_once()
    assert claim() is not None
    lose_worker(session)
    assert (go_on(session).status, asked) == ("finished", [{"account": "a-1"}] * 2)


def test_write_that_is_not_yet_due_is_broken(toy: Toy, agent: Agent) -> None:
    toy.vendor.before.append(NotYet("Too early.", after=timedelta(seconds=5)))  # before it acted
    session = work(toy, agent, pay(), DONE)
    (told,) = [event for event in stream(session) if event.type == "session.sleeping"]
    assert (told.facts["code"], told.facts["attempt"], "waits" in told.facts) == ("UNAVAILABLE", 1, False)
    assert (come_back(session).status, toy.vendor.balances["a-1"]) == ("finished", 99_500)
    assert list(Invocation.objects.values_list("tool", "state")) == [("pay", "succeeded")]


def test_write_whose_dry_run_is_not_yet_due_is_refused(toy: Toy, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def preview(context: CallContext, arguments: Any) -> Any:
        raise NotYet("Too early.", after=timedelta(seconds=5))

    spec = roles.get_role("toy")
    tools = tuple(replace(tool, preview=preview) if tool.name == "pay" else tool for tool in spec.tools)
    monkeypatch.setattr(roles, "all_roles", lambda: (replace(spec, tools=tools),))
    session = work(toy, agent, pay(), TELL, DONE)
    assert [refusal["message"] for refusal in results(session, "call.refused")] == ["The tool's dry run failed."]
    assert session.status == "finished"


def test_other_calls_are_let_through_meanwhile(toy: Toy, agent: Agent, due: list[float]) -> None:
    due += [60]
    first = work(toy, agent, LOOK, TELL, DONE)
    second = work(toy, agent, ToolCall("note", {"text": "Another one."}), DONE, work_id="w-2")
    first.refresh_from_db()
    assert (first.status, second.status) == ("sleeping", "finished")
