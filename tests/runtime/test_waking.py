"""Something happens outside that a session may wait for: it goes on at once, and on record."""

import pytest

from agentops.agents.models import Agent
from agentops.kernel.errors import FailureKind
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.registry.planner import Question as Ask
from agentops.registry.tool import ToolFailure
from agentops.runtime import control
from agentops.runtime.audit import audit_session
from agentops.runtime.models import Question, Session
from agentops.runtime.questions import CannotAnswer, answer_question
from agentops.runtime.waking import wake_sessions
from tests.factories.people import Cast
from tests.factories.runs import DONE, TELL, begin, events, go_on, pay, work
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

WHICH = Ask("Which account shall pay?", ())


def wake(session: Session, *subjects: str) -> list[str]:
    wanted = subjects or (session.subject_id,)
    return wake_sessions(
        tenant_id=session.tenant_id,
        kind=session.subject_kind,
        subjects=wanted,
        actor="webhook:toy",
        words="A card came.\x00",
    )


def test_a_session_that_sleeps_goes_on_at_once(toy: Toy, agent: Agent) -> None:
    toy.vendor.before.append(ToolFailure(FailureKind.RATE_LIMIT, "slow down", retry_after=3000))
    session = work(toy, agent, pay(), DONE)
    assert session.status == "sleeping"
    assert wake(session) == ["w-1"]
    session = go_on(session)
    assert session.status == "finished"
    woken = LedgerEvent.objects.get(stream=session.pk, type="session.woken")
    assert (woken.actor, woken.facts) == ("webhook:toy", {"told": "A card came.\ufffd"})
    assert audit_session(session.pk) == []


def test_a_session_that_waits_for_an_answer_looks_again_and_nobody_has_answered(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, WHICH, TELL, DONE)
    assert wake(session) == ["w-1"]
    assert go_on(session).status == "finished"
    question = Question.objects.get()
    assert (question.closed_at is not None, question.answered_by, question.answer) == (True, "", "")
    assert events(session)[2:4] == ["person.asked", "question.overtaken"]
    told = payload_of(session.pk, 3)["result"]
    assert (told["code"], told["message"]) == (
        "OVERTAKEN",
        "Nobody has answered yet, but something happened: A card came.\ufffd",
    )
    assert audit_session(session.pk) == []
    with pytest.raises(CannotAnswer):
        answer_question(question_id=question.pk, actor="user:bob", answer="a-1")


def test_whoever_decides_or_paused_it_is_not_passed_over(toy: Toy, agent: Agent, cast: Cast) -> None:
    asked = work(toy, agent, pay(9_000), DONE)
    assert (asked.status, wake(asked), go_on(asked).status) == ("waiting_approval", [], "waiting_approval")
    control.cancel_session(session_id=asked.pk, actor="user:bob", reason="")
    assert wake(asked) == []
    paused = begin(toy, agent, DONE, work_id="w-2")
    control.pause_session(session_id=paused.pk, actor="user:bob", reason="")
    assert wake(paused) == []
    paused.refresh_from_db()
    assert paused.status == "paused"


def test_other_subjects_kinds_and_tenants_sleep_on(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, WHICH, DONE)
    assert wake(session, "w-9") == []
    where = {"kind": session.subject_kind, "subjects": ["w-1"], "actor": "webhook:toy", "words": ""}
    assert wake_sessions(tenant_id=cast.other.pk, **where) == []
    assert wake_sessions(tenant_id=session.tenant_id, **{**where, "kind": "ticket"}) == []
    assert wake_sessions(tenant_id=session.tenant_id, **{**where, "subjects": []}) == []
    session.refresh_from_db()
    assert session.status == "waiting_person"
