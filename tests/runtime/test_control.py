"""What operators do with a session, in every state it can be in."""

from collections.abc import Callable

import pytest

from agentops.agents.models import Agent
from agentops.kernel.errors import FailureKind
from agentops.registry.planner import PlannerUnavailable, Question
from agentops.registry.tool import ToolFailure
from agentops.runtime import control
from agentops.runtime.control import CannotControl
from agentops.runtime.models import Invocation, Priority, Session
from agentops.runtime.models import Question as Asked
from approvals.models import ApprovalRequest
from approvals.refusals import AlreadyClosed
from tests.factories.people import Cast
from tests.factories.runs import (
    DONE,
    TELL,
    answer_of,
    begin,
    come_back,
    decide,
    events,
    go_on,
    pay,
    stream,
    work,
)
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

BOB, EVE = "user:bob", "user:eve"
ENDED = ["finished", "stopped", "cancelled"]
PARKED = ["queued", "waiting_approval", "approved", "waiting_person", "sleeping"]


def pause(session: Session, actor: str = BOB) -> None:
    control.pause_session(session_id=session.pk, actor=actor, reason="Wait a moment.")


def cancel(session: Session, actor: str = BOB) -> None:
    control.cancel_session(session_id=session.pk, actor=actor, reason="Not needed any more.")


def take_over(session: Session, actor: str = BOB) -> None:
    control.take_over(session_id=session.pk, actor=actor, reason="I know this customer.")


def resume(session: Session) -> None:
    control.resume_session(session_id=session.pk, actor=BOB)


def hand_back(session: Session, actor: str = BOB, note: str = "") -> None:
    control.hand_back(session_id=session.pk, actor=actor, note=note)


def propose(session: Session, tool: str = "pay", actor: str = BOB, **arguments: object) -> None:
    control.propose_call(session_id=session.pk, actor=actor, tool=tool, arguments=arguments, rationale="Right so.")


def finish(session: Session, actor: str = BOB, message: str = "I have settled it.") -> None:
    control.finish_by_person(session_id=session.pk, actor=actor, message=message)


ACTS: dict[str, Callable[[Session], None]] = {
    "pause": pause,
    "cancel": cancel,
    "take over": take_over,
    "resume": resume,
    "hand back": hand_back,
    "propose": lambda session: propose(session, account="a-1", minor=1),
    "finish": finish,
}


@pytest.fixture
def session(request: pytest.FixtureRequest, toy: Toy, agent: Agent, cast: Cast) -> Session:
    """A session in the state that the test names, which goes on to tell the customer and finish."""
    return brought_to(request.param, toy, agent, cast)


def brought_to(state: str, toy: Toy, agent: Agent, cast: Cast) -> Session:
    first = {
        "waiting_approval": pay(5000),
        "approved": pay(5000),
        "waiting_person": Question("Which account?"),
        "sleeping": PlannerUnavailable(FailureKind.UNAVAILABLE, "no answer"),
        "finished": TELL,
        "stopped": pay(0),
    }.get(state, pay())
    rest = [pay(0)] * 9 if state == "stopped" else [DONE] if state == "finished" else [TELL, DONE, DONE]
    session = begin(toy, agent, first, *rest)
    if state == "intended":
        toy.vendor.before.append(ToolFailure(FailureKind.RATE_LIMIT, "slow down"))
    if state not in ("queued", "paused", "taken", "cancelled"):
        go_on(session)
    if state == "approved":
        decide(cast)
    {"paused": pause, "taken": take_over, "cancelled": cancel}.get(state, lambda _: None)(session)
    session.refresh_from_db()
    status = {"approved": "queued", "taken": "paused", "intended": "sleeping"}.get(state, state)
    assert session.status == status
    return session


@pytest.mark.parametrize("session", PARKED, indirect=True)
def test_parked_session_is_paused_at_once_and_resumed(toy: Toy, session: Session) -> None:
    pause(session)
    session.refresh_from_db()
    assert (session.status, session.taken_by, session.wanted) == ("paused", "", "")
    assert nobody_is_asked()
    assert go_on(session).status == "paused"
    resume(session)
    session.refresh_from_db()
    assert session.status == "queued"
    assert events(session)[-2:] == ["session.paused", "session.resumed"]


@pytest.mark.parametrize("session", [*PARKED, "paused", "taken"], indirect=True)
def test_session_that_nobody_works_is_cancelled_at_once(toy: Toy, session: Session) -> None:
    cancel(session)
    session.refresh_from_db()
    assert (session.status, session.stop_code, session.taken_by) == ("cancelled", "CANCELLED", "")
    assert nobody_is_asked()
    assert answer_of(session)["left"]
    assert (session.finished_at is not None, go_on(session).status) == (True, "cancelled")
    assert (toy.vendor.calls, toy.handed_over) == ([], [])


@pytest.mark.parametrize("session", [*PARKED, "paused"], indirect=True)
def test_session_that_nobody_works_is_taken_over_at_once(toy: Toy, session: Session) -> None:
    take_over(session)
    session.refresh_from_db()
    assert (session.status, session.taken_by) == ("paused", BOB)
    assert nobody_is_asked()
    assert go_on(session).status == "paused"
    assert toy.vendor.calls == []


def nobody_is_asked() -> bool:
    """No request can be decided, none counts as approved, and no question is open."""
    asked = ApprovalRequest.objects.exclude(state="voided").exists() or Asked.objects.filter(closed_at=None).exists()
    return not asked and not Invocation.objects.filter(state="awaiting_approval").exists()


ALLOWED = {
    **{state: {"pause", "cancel", "take over"} for state in [*PARKED, "intended"]},
    "paused": {"cancel", "take over", "resume"},
    "taken": {"cancel", "hand back", "propose", "finish"},
    **{state: set() for state in ENDED},
}


@pytest.mark.parametrize("state", list(ALLOWED))
def test_what_cannot_be_done_now_is_refused_and_changes_nothing(toy: Toy, agent: Agent, cast: Cast, state: str) -> None:
    session = brought_to(state, toy, agent, cast)
    before = Session.objects.filter(pk=session.pk).values().get()
    for name in ACTS.keys() - ALLOWED[state]:
        with pytest.raises(CannotControl):
            ACTS[name](session)
        assert Session.objects.filter(pk=session.pk).values().get() == before, name


@pytest.mark.parametrize("act", ["pause", "cancel", "take over"])
def test_approving_what_was_withdrawn_is_refused_and_runs_nothing(toy: Toy, agent: Agent, cast: Cast, act: str) -> None:
    session = brought_to("waiting_approval", toy, agent, cast)
    request = ApprovalRequest.objects.get()
    ACTS[act](session)
    request.refresh_from_db()
    assert "bob" in request.void_reason
    with pytest.raises(AlreadyClosed):
        decide(cast, request=request)
    go_on(session)
    assert (toy.vendor.calls, Invocation.objects.get().state) == ([], "refused")


@pytest.mark.parametrize("effect", [True, False])
def test_cancel_with_a_call_of_unknown_fate_first_finds_out(toy: Toy, agent: Agent, cast: Cast, effect: bool) -> None:
    session = brought_to("intended", toy, agent, cast)
    call = Invocation.objects.get()
    if effect:
        toy.vendor.done[call.idempotency_key or ""] = {"receipt": "r-1", "minor": 500}
    cancel(session)
    session.refresh_from_db()
    assert (session.status, session.wanted) == ("queued", "cancel")
    assert go_on(session).status == "cancelled"
    call.refresh_from_db()
    assert call.state == ("succeeded" if effect else "failed")
    assert len(toy.vendor.calls) == 1
    assert ("pay was done." in answer_of(session)["verified"]) == effect


def test_take_over_with_a_call_of_unknown_fate_first_finds_out(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = brought_to("intended", toy, agent, cast)
    take_over(session)
    assert (go_on(session).status, session.taken_by) == ("paused", BOB)
    assert (Invocation.objects.get().state, len(toy.vendor.calls)) == ("failed", 1)


def test_pause_with_an_intended_call_leaves_it_for_later_and_makes_it_once(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = brought_to("intended", toy, agent, cast)
    pause(session)
    assert go_on(session).status == "paused"
    resume(session)
    assert go_on(session).status == "finished"
    assert (toy.vendor.balances["a-1"], len(set(toy.vendor.calls))) == (99_500, 1)


def test_second_person_cannot_take_over_nor_act(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = brought_to("taken", toy, agent, cast)
    for act in (
        lambda: take_over(session, EVE),
        lambda: propose(session, actor=EVE, account="a-1", minor=1),
        lambda: finish(session, EVE),
    ):
        with pytest.raises(CannotControl):
            act()
    session.refresh_from_db()
    assert session.taken_by == BOB


def test_person_does_steps_through_the_same_policy_and_hands_back(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = brought_to("taken", toy, agent, cast)
    propose(session, account="a-1", minor=700)
    assert (go_on(session).status, session.taken_by) == ("paused", BOB)
    assert toy.vendor.balances["a-1"] == 99_300
    propose(session, account="a-1", minor=5000)
    assert go_on(session).status == "waiting_approval"
    decide(cast)
    assert (go_on(session).status, session.taken_by) == ("paused", BOB)
    assert toy.vendor.balances["a-1"] == 94_300
    propose(session, account="b-1", minor=1)
    assert go_on(session).status == "paused"
    assert stream(session)[-2].facts["code"] == "NOT_FOUND"
    assert {e.actor for e in stream(session) if e.type in ("call.intended", "call.refused")} == {BOB}
    hand_back(session, note="Paid both parts.")
    assert go_on(session).taken_by == ""


def test_note_of_the_person_is_told_to_the_planner(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = brought_to("taken", toy, agent, cast)
    hand_back(session, note="The customer waits at the desk.")
    assert go_on(session).status == "finished"
    handed = next(e for e in stream(session) if e.type == "session.handed_back")
    assert (handed.actor, handed.facts["from"]) == (BOB, BOB)
    assert toy.notes == ["Told the customer."]


def test_person_ends_the_session_with_their_own_words(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = brought_to("taken", toy, agent, cast)
    with pytest.raises(CannotControl):
        finish(session, message="  ")
    finish(session)
    assert (go_on(session).status, session.taken_by, session.outcome) == ("finished", "", "no action")
    assert answer_of(session)["message"] == "I have settled it."
    assert stream(session)[-1].actor == BOB


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("shout", {}), ("pay", {"account": "a\x00"}), ("pay", {"account": "a" * 100_001}), ("pay", {"minor": 1.5e400})],
)
def test_step_that_cannot_be_recorded_is_refused_at_once(
    toy: Toy, agent: Agent, cast: Cast, tool: str, arguments: dict[str, object]
) -> None:
    session = brought_to("taken", toy, agent, cast)
    with pytest.raises(CannotControl):
        propose(session, tool, **arguments)
    session.refresh_from_db()
    assert session.status == "paused"


def test_priority_counts_as_if_the_session_had_always_had_it(toy: Toy, agent: Agent) -> None:
    first, second = begin(toy, agent, TELL, DONE), begin(toy, agent, TELL, DONE, work_id="w-2")
    second.refresh_from_db()
    before = second.rank_at
    control.set_priority(session_id=second.pk, actor=BOB, priority=Priority.URGENT)
    second.refresh_from_db()
    assert (before - second.rank_at).total_seconds() == 2 * 600
    go_on(first)
    claims = [e.at for session in (second, first) for e in stream(session) if e.type == "session.claimed"]
    assert claims == sorted(claims)
    with pytest.raises(CannotControl):
        control.set_priority(session_id=first.pk, actor=BOB, priority=Priority.LOW)


def test_cancel_during_a_back_off_of_the_planner_hands_nothing_over(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = brought_to("sleeping", toy, agent, cast)
    cancel(session)
    assert come_back(session).status == "cancelled"
    assert work(toy, agent, TELL, DONE, work_id="w-2").status == "finished"
