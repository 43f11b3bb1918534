"""An audit finds rows that say something else than their ledger."""

import pytest

from agentops.agents.models import Agent
from agentops.ledger.append import Event
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.runtime.audit import audit_session
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import note, start_session
from tests.factories.toy import Toy

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("spoils_rows")]


@pytest.fixture
def finished(toy: Toy, agent: Agent) -> Session:
    """A session that paid and ended, in order."""
    toy.add_work("w-1")
    toy.taken.add("w-1")
    toy.planner = ScriptedPlanner([ToolCall("pay", {"account": "a-1", "minor": 500}, "Asked."), FinalAnswer("Done.")])
    session = start_session(agent=agent, subject_id="w-1", actor="user:bob")
    work_until_quiet()
    session.refresh_from_db()
    assert session.status == "finished"
    assert audit_session(session.pk) == []
    return session


def test_status_without_its_event_is_found(finished: Session) -> None:
    Session.objects.filter(pk=finished.pk).update(status="cancelled")
    assert audit_session(finished.pk) == ["status: the row says cancelled, the ledger finished"]


def test_call_that_says_something_else_than_its_events_is_found(finished: Session) -> None:
    Invocation.objects.update(state="compensated")
    assert [line.partition(":")[0] for line in audit_session(finished.pk)] == ["calls"]


def test_call_without_any_event_is_found(finished: Session) -> None:
    call = Invocation.objects.get()
    call.pk, call.position, call.idempotency_key = finished.pk, 99, "another"
    call.save(force_insert=True)
    assert [line.partition(":")[0] for line in audit_session(finished.pk)] == ["calls"]


def test_lease_of_a_session_that_nobody_runs_is_found(finished: Session) -> None:
    Session.objects.filter(pk=finished.pk).update(lease_owner="host:1:2")
    assert audit_session(finished.pk) == ["the session is finished and its lease belongs to host:1:2"]


def test_stream_that_cannot_be_is_found(finished: Session) -> None:
    call = Invocation.objects.get()
    note(finished, [Event("call.succeeded", "runtime", {}, {"invocation": str(call.pk)})])
    assert audit_session(finished.pk) == ["call.succeeded may not come while the session is finished"]
