"""Stopping a session that a worker holds: while its planner thinks, during a call, and just after it was claimed."""

import threading
from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection

from agentops.agents.models import Agent
from agentops.registry.planner import Question, Turn, Usage
from agentops.registry.tool import OutcomeUnknown
from agentops.runtime import control
from agentops.runtime.control import CannotControl
from agentops.runtime.dispatch import claim, work_session, work_until_quiet
from agentops.runtime.models import Invocation, Priority, Session
from agentops.runtime.models import Question as Asked
from approvals.models import ApprovalRequest
from tests.factories.people import Cast
from tests.factories.runs import (
    DONE,
    LOOK,
    TELL,
    answer_of,
    begin,
    come_back,
    decide,
    events,
    go_on,
    lose_worker,
    once,
    pay,
    plan,
    start,
    stream,
    thinking,
    work,
)
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

BOB = "user:bob"
STOPS: dict[str, Callable[..., None]] = {
    "pause": control.pause_session,
    "take over": control.take_over,
    "cancel": control.cancel_session,
}
LEADS_TO = {"pause": ("paused", ""), "take over": ("paused", BOB), "cancel": ("cancelled", "")}
every_stop = pytest.mark.parametrize("stop", list(STOPS))


def stop_it(name: str) -> None:
    """Do it to the newest session, as Bob."""
    session_id = Session.objects.order_by("-id").values_list("pk", flat=True)[0]
    STOPS[name](session_id=session_id, actor=BOB, reason="Hold on.")


def standing(session: Session) -> tuple[str, str]:
    session.refresh_from_db()
    return session.status, session.taken_by


@every_stop
def test_write_that_was_being_thought_of_is_dropped(toy: Toy, agent: Agent, stop: str) -> None:
    turn = Turn(pay(), Usage("m", 10, 5, 70))
    session = work(toy, agent, thinking(once(partial(stop_it, stop)), turn), DONE)
    assert standing(session) == LEADS_TO[stop]
    assert (toy.vendor.calls, Invocation.objects.count()) == ([], 0)
    # What the model took for it is counted all the same.
    assert (session.input_tokens, session.output_tokens, session.cost_micro) == (10, 5, 70)
    assert session.wanted == ""


@every_stop
def test_read_that_was_being_thought_of_is_recorded(toy: Toy, agent: Agent, stop: str) -> None:
    session = work(toy, agent, thinking(once(partial(stop_it, stop)), LOOK), pay(), DONE)
    assert standing(session) == LEADS_TO[stop]
    assert "call.read" in events(session)
    assert toy.vendor.calls == []


@every_stop
def test_question_and_request_that_were_being_thought_of_are_not_put(toy: Toy, agent: Agent, stop: str) -> None:
    for work_id, line in (("w-1", Question("Which one?")), ("w-2", pay(5000))):
        session = work(toy, agent, thinking(once(partial(stop_it, stop)), line), DONE, work_id=work_id)
        assert standing(session) == LEADS_TO[stop]
    assert not Asked.objects.exists()
    assert not ApprovalRequest.objects.exists()


@every_stop
def test_effect_of_a_call_under_way_is_recorded_first(toy: Toy, agent: Agent, stop: str) -> None:
    toy.vendor.on_pay = once(partial(stop_it, stop))
    session = work(toy, agent, pay(), TELL, DONE)
    assert standing(session) == LEADS_TO[stop]
    assert (Invocation.objects.get().state, toy.vendor.balances["a-1"]) == ("succeeded", 99_500)
    assert toy.notes == []
    if stop == "cancel":
        assert answer_of(session)["verified"] == ["pay was done."]
        assert (session.outcome, session.stop_code) == ("refunded", "CANCELLED")
        assert toy.handed_over == []


@every_stop
def test_stop_that_comes_just_before_a_back_off_is_not_forgotten(toy: Toy, agent: Agent, stop: str) -> None:
    toy.vendor.on_pay = once(partial(stop_it, stop))
    toy.vendor.after.append(OutcomeUnknown("timed out"))
    toy.vendor.deaf = True
    session = work(toy, agent, pay(), TELL, DONE)
    assert (session.status, Invocation.objects.get().state) == ("sleeping", "intended")
    toy.vendor.deaf = False
    come_back(session)
    assert standing(session) == LEADS_TO[stop]
    # A pause can wait for what became of the call; the others cannot.
    assert Invocation.objects.get().state == ("intended" if stop == "pause" else "succeeded")
    assert len(toy.vendor.calls) == 1
    if stop == "pause":
        control.resume_session(session_id=session.pk, actor=BOB)
        assert go_on(session).status == "finished"
        assert (Invocation.objects.get(tool="pay").state, len(toy.vendor.calls)) == ("succeeded", 1)


@every_stop
def test_stop_after_the_approval_was_claimed_runs_nothing(toy: Toy, agent: Agent, cast: Cast, stop: str) -> None:
    session = work(toy, agent, pay(5000), TELL, DONE)
    request = decide(cast)
    held = claim()
    stop_it(stop)
    work_session(held)
    assert standing(session) == LEADS_TO[stop]
    request.refresh_from_db()
    assert (request.state, Invocation.objects.get().state, toy.vendor.calls) == ("voided", "refused", [])


@every_stop
def test_stop_of_a_worker_that_is_lost_is_carried_out_by_the_next(
    toy: Toy, agent: Agent, cast: Cast, stop: str
) -> None:
    session = work(toy, agent, pay(5000), TELL, DONE)
    decide(cast)
    claim()
    stop_it(stop)
    assert lose_worker(session).wanted != ""
    go_on(session)
    assert standing(session) == LEADS_TO[stop]
    assert toy.vendor.calls == []


def test_final_answer_that_is_already_given_stands(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, TELL, thinking(once(partial(stop_it, "cancel")), DONE))
    assert (session.status, session.wanted, session.stop_code) == ("finished", "", "")
    assert "session.cancel_requested" in events(session)


def test_stop_is_asked_for_once_and_a_stronger_one_wins(toy: Toy, agent: Agent) -> None:
    refused: list[str] = []

    def insist() -> None:
        for name in ("pause", "pause", "cancel", "pause", "take over", "cancel"):
            try:
                stop_it(name)
            except CannotControl as error:
                refused.append(error.message)

    session = work(toy, agent, thinking(once(insist), pay()), DONE)
    assert session.status == "cancelled"
    assert [name for name in events(session) if name.endswith("requested")] == [
        "session.pause_requested",
        "session.cancel_requested",
    ]
    assert refused == ["The session is being paused already."] + ["The session is being cancelled already."] * 3


def test_session_of_a_person_that_is_at_work_can_be_cancelled_by_another(toy: Toy, agent: Agent) -> None:
    session = begin(toy, agent, TELL, DONE)
    stop_it("take over")
    control.propose_call(
        session_id=session.pk, actor=BOB, tool="pay", arguments={"account": "a-1", "minor": 300}, rationale="Owed."
    )
    toy.vendor.on_pay = once(
        lambda: control.cancel_session(session_id=session.pk, actor="user:eve", reason="That customer is gone.")
    )
    assert go_on(session).status == "cancelled"
    assert (toy.vendor.balances["a-1"], session.taken_by) == (99_700, "")


def test_priority_of_a_session_at_work_is_followed(toy: Toy, agent: Agent) -> None:
    def rush() -> None:
        pk = Session.objects.values_list("pk", flat=True).get()
        control.set_priority(session_id=pk, actor=BOB, priority=Priority.HIGH)

    session = work(toy, agent, thinking(once(rush), pay()), DONE)
    assert (session.status, session.priority) == ("finished", Priority.HIGH)
    assert (len(toy.vendor.calls), events(session).count("call.intended")) == (1, 1)


@pytest.mark.django_db(transaction=True)
@every_stop
def test_stop_from_another_connection_during_a_call(toy: Toy, agent: Agent, stop: str) -> None:
    """The operator commits while the worker waits for the vendor; neither waits for the other."""
    calling, stopped = threading.Event(), threading.Event()

    def wait() -> None:
        calling.set()
        assert stopped.wait(30)

    toy.vendor.on_pay = wait
    plan(toy, pay(), TELL, DONE)
    session = start(toy, agent)
    worker = threading.Thread(target=_work_apart, daemon=True)
    worker.start()
    assert calling.wait(30)
    stop_it(stop)
    session.refresh_from_db()
    assert (session.status, session.wanted) == ("running", stop.replace(" ", "_"))
    stopped.set()
    worker.join(30)
    assert standing(session) == LEADS_TO[stop]
    assert Invocation.objects.get().state == "succeeded"
    assert [e.type for e in stream(session)][-3:-1] == [f"session.{stop.replace(' ', '_')}_requested", "call.succeeded"]


def _work_apart() -> None:
    try:
        work_until_quiet()
    finally:
        connection.close()
