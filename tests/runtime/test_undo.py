"""Undo by a person: one proposal under policy, after which the session ends as it had ended."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from agentops.agents.models import Agent, ToolGrant
from agentops.kernel.errors import FailureKind
from agentops.registry.planner import ToolCall
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from agentops.runtime import control, reconciling
from agentops.runtime.control import CannotControl, propose_undo
from agentops.runtime.models import Invocation, Session
from approvals.models import Verdict
from tests.factories.people import Cast
from tests.factories.runs import (
    DONE,
    TELL,
    begin,
    come_back,
    decide,
    events,
    go_on,
    lose_worker,
    once,
    pay,
    pending,
    start,
    stream,
    work,
)
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

BOB = "user:bob"


@pytest.fixture
def session(toy: Toy, agent: Agent) -> Session:
    """A session that paid and finished."""
    session = work(toy, agent, pay(), TELL, DONE)
    assert (session.status, session.outcome, toy.vendor.balances["a-1"]) == ("finished", "refunded", 99_500)
    return session


def paid() -> Invocation:
    return Invocation.objects.get(tool="pay", arguments__minor=500)


def undo(actor: str = BOB) -> None:
    propose_undo(invocation_id=paid().pk, actor=actor, reason="It was not owed.")


def set_dial(dial: str) -> None:
    ToolGrant.objects.filter(tool="pay_back").update(dial=dial)


def test_undo_is_made_and_the_session_ends_as_it_had_ended(toy: Toy, session: Session) -> None:
    before = (session.status, session.outcome, session.stop_code)
    undo()
    session.refresh_from_db()
    assert (session.status, session.finished_at) == ("queued", None)
    go_on(session)
    assert (session.status, session.outcome, session.stop_code) == before
    assert session.finished_at is not None
    assert (paid().state, toy.vendor.balances["a-1"]) == ("compensated", 100_000)
    back = Invocation.objects.get(tool="pay_back")
    assert (back.undoes, back.state, back.arguments) == (paid().pk, "succeeded", paid().arguments)
    assert events(session)[-6:] == [
        "session.reopened",
        "session.claimed",
        "call.intended",
        "call.succeeded",
        "call.compensated",
        "session.finished",
    ]
    assert {e.actor for e in stream(session)[-4:-1]} == {BOB}
    # The planner was not asked: its script has no further line.
    assert toy.notes == ["Told the customer."]


def test_stopped_session_keeps_its_code(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, pay(), *[pay(0)] * 9)
    assert (session.status, session.stop_code, session.outcome) == ("stopped", "LOOP_REFUSED", "escalated")
    undo()
    go_on(session)
    assert (session.status, session.stop_code, session.outcome) == ("stopped", "LOOP_REFUSED", "escalated")
    assert paid().state == "compensated"
    assert toy.handed_over == ["LOOP_REFUSED"]


def test_cancelled_session_can_be_undone_too(toy: Toy, agent: Agent) -> None:
    session = begin(toy, agent, pay(), TELL, DONE)
    toy.vendor.on_pay = once(partial(control.cancel_session, session_id=session.pk, actor=BOB, reason=""))
    assert go_on(session).status == "cancelled"
    undo()
    assert (go_on(session).status, session.stop_code, paid().state) == ("cancelled", "CANCELLED", "compensated")


def test_policy_asks_before_it_is_undone(toy: Toy, cast: Cast, session: Session) -> None:
    set_dial("ask")
    undo()
    assert go_on(session).status == "waiting_approval"
    assert paid().state == "succeeded"
    decide(cast)
    assert go_on(session).status == "finished"
    assert (paid().state, toy.vendor.balances["a-1"], session.outcome) == ("compensated", 100_000, "refunded")


def test_rejected_undo_leaves_everything_as_it_was(toy: Toy, cast: Cast, session: Session) -> None:
    set_dial("ask")
    undo()
    go_on(session)
    decide(cast, Verdict.REJECT)
    assert (go_on(session).status, session.outcome) == ("finished", "refunded")
    assert (paid().state, toy.vendor.balances["a-1"]) == ("succeeded", 99_500)
    undo()
    assert go_on(session).status == "waiting_approval"


@pytest.mark.parametrize("dial", ["observe", "suggest"])
def test_policy_refuses_to_undo(toy: Toy, session: Session, dial: str) -> None:
    set_dial(dial)
    undo()
    assert (go_on(session).status, paid().state, toy.vendor.balances["a-1"]) == ("finished", "succeeded", 99_500)
    assert stream(session)[-2].facts["code"] == "POLICY"


def test_undo_is_made_once(toy: Toy, session: Session) -> None:
    undo()
    with pytest.raises(CannotControl):
        undo("user:eve")
    go_on(session)
    with pytest.raises(CannotControl, match="already undone"):
        undo()
    assert toy.vendor.balances["a-1"] == 100_000


def test_undo_that_waits_for_a_decision_cannot_be_asked_for_again(toy: Toy, cast: Cast, session: Session) -> None:
    set_dial("ask")
    undo()
    go_on(session)
    with pytest.raises(CannotControl, match="being undone already"):
        undo()
    request = pending()
    control.cancel_session(session_id=session.pk, actor=BOB, reason="Leave it.")
    request.refresh_from_db()
    assert request.state == "voided"
    assert paid().state == "succeeded"


def test_window_that_is_over_and_calls_without_undo(toy: Toy, session: Session) -> None:
    Invocation.objects.filter(tool="pay").update(undo_until=timezone.now() - timedelta(seconds=1))
    with pytest.raises(CannotControl, match="too late"):
        undo()
    note = Invocation.objects.get(tool="note")
    with pytest.raises(CannotControl, match="nothing to undo"):
        propose_undo(invocation_id=note.pk, actor=BOB, reason="")


def test_window_that_closes_while_people_decide_is_the_vendors_matter(toy: Toy, cast: Cast, session: Session) -> None:
    """The proposal was in time; the vendor refuses what really is too late."""
    set_dial("ask")
    undo()
    go_on(session)
    Invocation.objects.filter(tool="pay").update(undo_until=timezone.now() - timedelta(seconds=1))
    decide(cast)
    toy.vendor.before_back.append(ToolFailure(FailureKind.CONFLICT, "That is settled for good."))
    assert (go_on(session).status, session.outcome) == ("finished", "refunded")
    assert (paid().state, Invocation.objects.get(tool="pay_back").state) == ("succeeded", "failed")


@pytest.mark.django_db(transaction=True)
def test_session_is_not_reopened_while_another_works_on_the_same(toy: Toy, agent: Agent, session: Session) -> None:
    other = start(toy, agent, "w-1")
    with pytest.raises(CannotControl, match="Another session"):
        undo()
    assert go_on(other).status == "stopped"
    undo()
    go_on(session)
    assert paid().state == "compensated"


def test_work_at_hand_must_be_taken_over_before_something_of_it_is_undone(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, pay(), pay(5000), TELL, DONE)
    assert session.status == "waiting_approval"
    with pytest.raises(CannotControl, match="still at work"):
        undo()
    control.take_over(session_id=session.pk, actor=BOB, reason="")
    with pytest.raises(CannotControl, match="still at work"):
        undo("user:eve")
    undo()
    assert (go_on(session).status, session.taken_by, paid().state) == ("paused", BOB, "compensated")
    control.hand_back(session_id=session.pk, actor=BOB)


@pytest.mark.parametrize("late", [True, False])
def test_worker_that_is_lost_while_undoing_is_succeeded_by_one_that_concludes_it(
    toy: Toy, agent: Agent, session: Session, late: bool
) -> None:
    toy.vendor.before_back.append(KeyboardInterrupt())  # type: ignore[arg-type]
    undo()
    with pytest.raises(KeyboardInterrupt):
        go_on(session)
    back = Invocation.objects.get(tool="pay_back")
    assert back.state == "intended"
    if late:
        toy.vendor.pay_back(back.idempotency_key or "", "a-1", 500)
    lose_worker(session)
    assert (go_on(session).status, session.outcome, paid().state) == ("finished", "refunded", "compensated")
    assert toy.vendor.balances["a-1"] == 100_000


def test_undo_of_unknown_outcome_is_left_to_people_and_compensates_nothing(toy: Toy, session: Session) -> None:
    toy.vendor.before_back.append(OutcomeUnknown("timed out"))
    toy.vendor.deaf = True
    undo()
    go_on(session)
    while session.status == "sleeping":
        come_back(session)
    assert (session.status, session.outcome) == ("finished", "refunded")
    assert (paid().state, Invocation.objects.get(tool="pay_back").state) == ("succeeded", "unknown")
    with pytest.raises(CannotControl, match="being undone already"):
        undo()
    back = Invocation.objects.get(tool="pay_back")
    reconciling.settle_by_person(invocation_id=back.pk, actor=BOB, happened=True, evidence="It is on the statement.")
    assert paid().state == "compensated"
    assert events(session)[-2:] == ["call.reconciled", "call.compensated"]


def test_what_is_found_out_about_another_call_meanwhile_does_not_stand_in_the_way(toy: Toy, agent: Agent) -> None:
    toy.vendor.on_pay = lambda: (
        toy.vendor.after.append(OutcomeUnknown("timed out")) if len(toy.vendor.done) > 1 else None
    )
    session = begin(toy, agent, pay(), pay(700), DONE)
    toy.vendor.deaf = True
    go_on(session)
    while session.status == "sleeping":
        come_back(session)
    assert session.stop_code == "OUTCOME_UNKNOWN"
    toy.vendor.deaf = False
    undo()
    reconciling.ask_again(invocation_id=Invocation.objects.get(state="unknown").pk, actor="user:eve")
    assert (go_on(session).status, session.stop_code) == ("stopped", "OUTCOME_UNKNOWN")
    assert (paid().state, toy.vendor.balances["a-1"]) == ("compensated", 99_300)


def test_undo_goes_on_after_it_was_paused(toy: Toy, session: Session) -> None:
    undo()
    control.pause_session(session_id=session.pk, actor=BOB, reason="")
    assert go_on(session).status == "paused"
    control.resume_session(session_id=session.pk, actor=BOB)
    assert (go_on(session).status, paid().state) == ("finished", "compensated")


@pytest.mark.django_db(transaction=True)
def test_planner_may_undo_by_an_ordinary_call(toy: Toy, agent: Agent) -> None:
    back = ToolCall("pay_back", {"account": "a-1", "minor": 500})
    session = work(toy, agent, pay(), back, TELL, DONE)
    assert (session.status, toy.vendor.balances["a-1"]) == ("finished", 100_000)
    undo()
    go_on(session)
    # It was done already, under the same key, so it is not done again.
    assert (toy.vendor.balances["a-1"], stream(session)[-2].facts["code"]) == (100_000, "ALREADY_DONE")
