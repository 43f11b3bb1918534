"""What becomes of open sessions of an erased person, and of workers that hold one at that moment."""

from typing import Any

import pytest

from agentops.agents.models import Agent
from agentops.kernel.clock import utcnow
from agentops.kernel.ids import derived_id
from agentops.ledger import keys
from agentops.ledger.erasing import erase
from agentops.ledger.payloads import Erased, Opened
from agentops.ledger.queries import events_of, reads_of
from agentops.ledger.vault_models import LedgerKey
from agentops.registry.planner import Question as Ask
from agentops.runtime.control import pause_session
from agentops.runtime.dispatch import claim
from agentops.runtime.models import Invocation, Question, Session
from agentops.runtime.operations import start_session
from approvals.acts import record_act
from approvals.models import Act, ActKind, ApprovalRequest
from tests.factories.people import Cast
from tests.factories.runs import DONE, LOOK, TELL, begin, go_on, once, pay, stream, thinking
from tests.factories.toy import Toy

ANN = "customer:ann"


def erase_ann(cast: Cast) -> None:
    erase(tenant_id=cast.tenant.pk, subject=ANN, actor="user:dpo")


def stops(session: Session) -> None:
    session.refresh_from_db()
    assert (session.status, session.stop_code, session.title) == ("stopped", "SUBJECT_ERASED", "Erased")
    (ending,) = [event for event in stream(session) if event.type == "session.stopped"]
    assert ending.facts["erased"] is True
    assert {event.body for event in events_of(session.pk)} == {None}


@pytest.mark.django_db
def test_queued_session_stops(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = begin(toy, agent, DONE)
    erase_ann(cast)
    stops(session)
    assert claim() is None


@pytest.mark.django_db
def test_session_that_waits_for_a_decision_stops_and_its_request_is_withdrawn(
    toy: Toy, agent: Agent, cast: Cast
) -> None:
    session = go_on(begin(toy, agent, pay(5_000), DONE))
    assert session.status == "waiting_approval"
    erase_ann(cast)
    stops(session)
    request = ApprovalRequest.objects.get(session_id=session.pk)
    assert (request.state, request.effect, request.money_minor) == ("voided", "Erased", 5_000)
    assert Invocation.objects.get(session_id=session.pk).state == "refused"


@pytest.mark.django_db
def test_what_people_wrote_about_the_request_goes_too(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = go_on(begin(toy, agent, pay(5_000), DONE))
    request = ApprovalRequest.objects.get(session_id=session.pk)
    record_act(request, ActKind.ASKED, person=cast.alice, at=utcnow(), words="Is Ann Ash the owner?")
    stream_id = derived_id(str(cast.tenant.pk), f"request:{request.pk}")
    (event,) = [event for event in events_of(stream_id) if event.type == "request.asked"]
    assert event.body == b'{"words":"Is Ann Ash the owner?"}'
    erase_ann(cast)
    assert [(one.body, one.erased_at is None) for one in events_of(stream_id) if one.type == "request.asked"] == [
        (None, False)
    ]
    assert Act.objects.get(kind=ActKind.ASKED).words == ""


@pytest.mark.django_db
def test_session_that_waits_for_an_answer_stops_and_nobody_is_asked_any_more(
    toy: Toy, agent: Agent, cast: Cast
) -> None:
    session = go_on(begin(toy, agent, Ask("Is Ann in?", ("yes",)), DONE))
    assert session.status == "waiting_person"
    erase_ann(cast)
    stops(session)
    question = Question.objects.get(session_id=session.pk)
    assert (question.text, question.options, question.closed_at is None) == ("Erased", [], False)


@pytest.mark.django_db
def test_paused_session_stops(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = begin(toy, agent, DONE)
    pause_session(session_id=session.pk, actor="user:bob", reason="A look.")
    erase_ann(cast)
    stops(session)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("line", [LOOK, TELL, pay(500), pay(5_000), DONE], ids=str)
def test_worker_that_plans_meanwhile_writes_nothing_more(toy: Toy, agent: Agent, cast: Cast, line: Any) -> None:
    """It has the key in its memory, and is about to use it."""
    session = begin(toy, agent, LOOK, thinking(once(lambda: erase_ann(cast)), line))
    go_on(session)
    stops(session)
    assert [event.type for event in stream(session)][-1] == "session.stopped"
    assert (toy.vendor.calls, toy.notes) == ([], [])


@pytest.mark.django_db(transaction=True)
def test_worker_uses_a_new_key_for_the_same_person_afterwards(toy: Toy, agent: Agent, cast: Cast) -> None:
    first = go_on(begin(toy, agent, pay(500), DONE))
    erase_ann(cast)
    second = go_on(begin(toy, agent, pay(600), DONE, work_id="w-2"))
    assert second.status == "finished"
    kinds = [{type(read) for read in reads_of(one.pk, range(one.position)).values()} for one in (first, second)]
    assert kinds == [{Erased}, {Opened}]


@pytest.mark.django_db(transaction=True)
def test_steps_ask_for_no_key(toy: Toy, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """One look-up for whoever opens the session, one for whoever works it, however many steps it takes."""
    asked: list[str] = []
    real = keys.KeyRing._find

    def find(self: keys.KeyRing, purpose: keys.Purpose) -> Any:
        asked.append(purpose.subject)
        return real(self, purpose)

    monkeypatch.setattr(keys.KeyRing, "_find", find)

    def looked_up(steps: int, work_id: str) -> int:
        asked.clear()
        session = begin(toy, agent, *[pay(100 + n) for n in range(steps)], DONE, work_id=work_id)
        assert go_on(session).status == "finished"
        assert set(asked) == {ANN}
        return len(asked)

    assert [looked_up(1, "w-1"), looked_up(6, "w-2")] == [2, 1]


@pytest.mark.django_db
def test_open_session_whose_records_ran_out_stops_and_hands_over(toy: Toy, agent: Agent) -> None:
    session = begin(toy, agent, LOOK, DONE)
    LedgerKey.objects.update(wrapped=None, destroyed_at=utcnow(), destroyed_by="retention")
    go_on(session)
    assert (session.status, session.stop_code) == ("stopped", "SUBJECT_ERASED")
    assert toy.handed_over == ["SUBJECT_ERASED"]


@pytest.mark.django_db
def test_ended_session_of_an_erased_person_is_not_reopened(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = go_on(begin(toy, agent, pay(500), DONE))
    assert Invocation.objects.get().undo is not None
    erase_ann(cast)
    assert Invocation.objects.get().undo is None
    session.refresh_from_db()
    assert (session.status, session.title) == ("finished", "Erased")


@pytest.mark.django_db
def test_other_peoples_sessions_go_on(toy: Toy, agent: Agent, cast: Cast) -> None:
    begin(toy, agent, pay(500, "b-1"), DONE)
    toy.add_work("w-7", customer="bea")
    other = start_session(agent=agent, subject_id="w-7", actor="user:bob")
    erase_ann(cast)
    assert go_on(other).status == "finished"
    assert {event.erased_at for event in events_of(other.pk)} == {None}
