"""A session in a process: which step may come next, and what is taken back when it stops in the middle."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from agentops.agents.models import Agent, ToolGrant
from agentops.kernel import crashpoints
from agentops.kernel.crashpoints import CrashPoint
from agentops.kernel.errors import FailureKind
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, Question, ToolCall
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from agentops.runtime import control
from agentops.runtime.models import Invocation, ProcessInstance, Session
from agentops.runtime.models import Question as Asked
from agentops.runtime.questions import answer_question
from approvals.models import Verdict
from tests.factories.people import Cast
from tests.factories.runs import DONE, LOOK, TELL, come_back, decide, events, go_on, lose_worker, pay, results, stream
from tests.factories.runs import begin as begin_session
from tests.factories.runs import work as work_session
from tests.factories.toy import Toy
from tests.factories.toy_order import ORDER, PARCEL, Shelf, order_role

pytestmark = pytest.mark.django_db

HOLD, WRAP, TIE = (ToolCall(verb, {"item": "lamp"}) for verb in ("hold", "wrap", "tie"))
NEVER = [ToolCall("shout", {})] * 9


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def toy(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Toy:
    toy = Toy()
    spec = order_role(toy, shelf)
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
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


def where(name: str = "order") -> tuple[str, bool]:
    return ProcessInstance.objects.values_list("state", "compensating").get(process=name)


def told(session: Session, type_: str) -> list[tuple[str, str, str]]:
    found = [event.facts for event in stream(session) if event.type == type_]
    return [(facts["process"], facts["from"], facts["to"]) for facts in found]


def test_steps_move_the_process_and_say_why(toy: Toy, agent: Agent) -> None:
    session = work_session(toy, agent, HOLD, LOOK, pay(), TELL, DONE)
    assert (session.status, where()) == ("finished", ("told", False))
    assert told(session, "process.began") == [("order", "open", "held")]
    assert told(session, "process.moved") == [("order", "held", "paid"), ("order", "paid", "told")]
    moved = [event for event in stream(session) if event.type.startswith("process.")]
    calls = [str(Invocation.objects.get(tool=tool).pk) for tool in ("hold", "pay", "note")]
    assert [event.facts["rationale"] for event in moved] == calls
    assert [event.facts["edge"] for event in moved] == ["hold", "pay", "tell"]


def test_step_that_may_not_come_now_is_refused_with_what_may(toy: Toy, agent: Agent) -> None:
    session = work_session(toy, agent, pay(), HOLD, LOOK, pay(), HOLD, TELL, TELL, FinalAnswer("Done."))
    assert session.status == "finished"
    refusals = results(session, "call.refused")
    assert [refusal["code"] for refusal in refusals] == ["PROCESS"] * 3
    assert [refusal["next_step"] for refusal in refusals] == [
        "Possible now: hold.",
        "Possible now: note.",
        "This process is over.",
    ]
    assert "'open'" in refusals[0]["message"]
    assert toy.vendor.balances["a-1"] == 99_500


def test_guard_that_does_not_hold_says_why(toy: Toy, agent: Agent) -> None:
    session = work_session(toy, agent, HOLD, pay(), LOOK, pay(), TELL, DONE)
    assert session.status == "finished"
    assert results(session, "call.refused")[0]["message"] == "The account was not looked at."


def test_session_does_not_end_in_the_middle(toy: Toy, agent: Agent) -> None:
    session = work_session(toy, agent, HOLD, DONE, LOOK, pay(), TELL, DONE)
    assert (session.status, where()) == ("finished", ("told", False))
    refusal = results(session, "call.refused")[0]
    assert (refusal["code"], "order" in refusal["message"]) == ("PROCESS", True)


def test_stop_in_the_middle_takes_everything_back_in_reverse_order(toy: Toy, agent: Agent, shelf: Shelf) -> None:
    session = work_session(toy, agent, HOLD, LOOK, pay(), *NEVER)
    assert (session.status, session.stop_code, session.outcome) == ("stopped", "LOOP_REFUSED", "escalated")
    assert (where(), shelf.log, toy.vendor.balances["a-1"]) == (
        ("compensated", False),
        ["hold lamp", "release lamp"],
        100_000,
    )
    assert states() == {"hold": "compensated", "pay": "compensated", "pay_back": "succeeded", "release": "succeeded"}
    told_of = [str(e.refs["invocation"]) for e in stream(session) if e.type == "call.compensated"]
    assert told_of == [str(Invocation.objects.get(tool=tool).pk) for tool in ("pay", "hold")]
    assert (told(session, "process.failed"), told(session, "process.compensated")) == (
        [("order", "paid", "paid")],
        [("order", "paid", "compensated")],
    )
    assert toy.handed_over == ["LOOP_REFUSED"]
    assert events(session).index("process.compensated") < events(session).index("session.stopped")


def test_nothing_is_taken_back_while_nobody_knows_how_the_last_step_ended(toy: Toy, agent: Agent, shelf: Shelf) -> None:
    toy.vendor.after.append(TimeoutError("no answer"))
    toy.vendor.deaf = True
    session = work_session(toy, agent, HOLD, LOOK, pay(), DONE)
    come_back(session)
    come_back(session)
    assert (session.stop_code, states()) == ("OUTCOME_UNKNOWN", {"hold": "succeeded", "pay": "unknown"})
    assert (shelf.log, where()) == (["hold lamp"], ("held", False))
    assert toy.handed_over == ["OUTCOME_UNKNOWN"]


def states() -> dict[str, str]:
    return dict(Invocation.objects.exclude(tool="hand_over").values_list("tool", "state"))


@pytest.mark.parametrize(
    "point",
    [
        CrashPoint.COMPENSATION_BEGUN,
        CrashPoint.UNDO_RETURNED,
        CrashPoint.UNDO_RECORDED,
    ],
)
def test_worker_that_is_lost_while_taking_back_is_succeeded(
    toy: Toy, agent: Agent, shelf: Shelf, crash: list[CrashPoint], point: CrashPoint
) -> None:
    crash.append(point)
    session = begin_session(toy, agent, HOLD, LOOK, pay(), *NEVER)
    with pytest.raises(KeyboardInterrupt):
        go_on(session)
    lose_worker(session)
    assert (go_on(session).status, session.stop_code) == ("stopped", "LOOP_REFUSED")
    assert (crash, where(), shelf.log) == ([], ("compensated", False), ["hold lamp", "release lamp"])
    assert toy.vendor.balances["a-1"] == 100_000
    assert set(states().values()) == {"compensated", "succeeded"}
    assert events(session).count("session.stopping") == events(session).count("process.failed") == 1


def test_undo_whose_worker_died_before_the_call_is_made_by_the_next(toy: Toy, agent: Agent, shelf: Shelf) -> None:
    shelf.before["release"] = [KeyboardInterrupt()]
    session = begin_session(toy, agent, HOLD, *NEVER)
    with pytest.raises(KeyboardInterrupt):
        go_on(session)
    assert states() == {"hold": "succeeded", "release": "intended"}
    lose_worker(session)
    assert (go_on(session).status, shelf.log) == ("stopped", ["hold lamp", "release lamp"])
    assert states() == {"hold": "compensated", "release": "succeeded"}


def test_undo_that_is_slow_is_tried_again(toy: Toy, agent: Agent, shelf: Shelf) -> None:
    shelf.before["release"] = [ToolFailure(FailureKind.UNAVAILABLE, "closed")]
    session = work_session(toy, agent, HOLD, *NEVER)
    assert session.status == "sleeping"
    assert (come_back(session).status, where()) == ("stopped", ("compensated", False))


@pytest.mark.parametrize("fault", [ToolFailure(FailureKind.CONFLICT, "gone"), OutcomeUnknown("timed out"), None])
def test_undo_that_cannot_be_made_is_handed_to_a_person(
    toy: Toy, agent: Agent, shelf: Shelf, fault: Exception | None
) -> None:
    """It failed, nobody knows whether it did, or it is too late for it."""
    session = begin_session(toy, agent, HOLD, LOOK, pay(), *NEVER)
    if fault is None:
        crashpoints.arm(_age)
    else:
        toy.vendor.before_back.append(fault)
        toy.vendor.deaf = True
    go_on(session)
    crashpoints.arm(None)
    while session.status == "sleeping":
        come_back(session)
    assert (session.status, session.stop_code, where()) == ("stopped", "UNDO_FAILED", ("failed", False))
    assert toy.handed_over == ["UNDO_FAILED"]
    # What came before it is left as it is: whoever puts it right has to know that nothing else moved.
    assert shelf.log == ["hold lamp"]
    assert states()["pay"] == "succeeded"
    assert told(session, "process.compensated") == [("order", "paid", "failed")]


def _age(point: CrashPoint) -> None:
    """Let the time in which the payment can be taken back be over when the session stops."""
    if point is CrashPoint.COMPENSATION_BEGUN:
        Invocation.objects.filter(tool="pay").update(undo_until=timezone.now() - timedelta(seconds=1))


def test_undo_that_asks_a_person_waits_and_goes_on(toy: Toy, agent: Agent, cast: Cast, shelf: Shelf) -> None:
    ToolGrant.objects.filter(tool="pay_back").update(dial="ask")
    session = work_session(toy, agent, HOLD, LOOK, pay(), *NEVER)
    assert (session.status, where(), shelf.log) == ("waiting_approval", ("paid", True), ["hold lamp"])
    decide(cast)
    assert (go_on(session).status, where()) == ("stopped", ("compensated", False))
    assert (toy.vendor.balances["a-1"], shelf.log) == (100_000, ["hold lamp", "release lamp"])


def test_undo_that_a_person_rejects_is_left_to_people(toy: Toy, agent: Agent, cast: Cast) -> None:
    ToolGrant.objects.filter(tool="pay_back").update(dial="ask")
    session = work_session(toy, agent, HOLD, LOOK, pay(), *NEVER)
    decide(cast, Verdict.REJECT)
    assert (go_on(session).stop_code, where()) == ("UNDO_FAILED", ("failed", False))


def test_failure_inside_the_program_takes_back_as_well(toy: Toy, agent: Agent, shelf: Shelf) -> None:
    session = work_session(toy, agent, HOLD)
    assert (session.status, session.stop_code) == ("stopped", "INTERNAL")
    assert (where(), shelf.log) == (("compensated", False), ["hold lamp", "release lamp"])


def test_two_processes_fail_in_one_moment(toy: Toy, agent: Agent, shelf: Shelf) -> None:
    session = work_session(toy, agent, HOLD, WRAP, LOOK, pay(), *NEVER)
    assert session.status == "stopped"
    assert (where("order"), where("wrapped parcel")) == (("compensated", False), ("compensated", False))
    assert shelf.log == ["hold lamp", "wrap lamp", "unwrap lamp", "release lamp"]
    assert len(told(session, "process.failed")) == 2


def test_process_that_is_at_its_end_is_left_alone(toy: Toy, agent: Agent, shelf: Shelf) -> None:
    session = work_session(toy, agent, WRAP, TIE, HOLD, *NEVER)
    assert (session.status, where("wrapped parcel"), where()) == ("stopped", ("tied", False), ("compensated", False))
    assert shelf.log == ["wrap lamp", "tie lamp", "hold lamp", "release lamp"]


def test_process_that_takes_nothing_back_stays_where_it_stands(
    toy: Toy, agent: Agent, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = order_role(toy, shelf, replace(ORDER, compensates=False), PARCEL)
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
    session = work_session(toy, agent, HOLD, *NEVER)
    assert (session.status, where(), shelf.log) == ("stopped", ("held", False), ["hold lamp"])


def test_chart_that_changed_is_not_continued_but_taken_back(
    toy: Toy, agent: Agent, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = work_session(toy, agent, HOLD, Question("Which account?"), LOOK, pay(), *NEVER)
    assert session.status == "waiting_person"
    spec = order_role(toy, shelf, replace(ORDER, version=2), PARCEL)
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
    answer_question(question_id=Asked.objects.get().pk, actor="user:bob", answer="a-1")
    assert (go_on(session).status, where(), shelf.log) == (
        "stopped",
        ("compensated", False),
        ["hold lamp", "release lamp"],
    )
    assert results(session, "call.refused")[0]["message"] == "The process has changed since it began."
    assert toy.vendor.calls == []


def test_cancelled_process_is_not_taken_back_by_itself(toy: Toy, agent: Agent, shelf: Shelf) -> None:
    """Cancelling makes no further call. What was done can be undone by hand, call by call."""
    session = begin_session(toy, agent, HOLD, LOOK, pay(5000), DONE)
    assert go_on(session).status == "waiting_approval"
    control.cancel_session(session_id=session.pk, actor="user:bob", reason="")
    assert (go_on(session).status, where(), shelf.log) == ("cancelled", ("held", False), ["hold lamp"])
    control.propose_undo(invocation_id=Invocation.objects.get(tool="hold").pk, actor="user:bob", reason="")
    go_on(session)
    assert (session.status, states()["hold"], shelf.log) == ("cancelled", "compensated", ["hold lamp", "release lamp"])
