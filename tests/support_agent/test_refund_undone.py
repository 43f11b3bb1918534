"""The undo of the role through the door that workers use: by a session that stops, and by a person afterwards."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agentops.kernel.errors import FailureKind
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, PlannerUnavailable, ToolCall
from agentops.runtime.control import propose_undo
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, ProcessInstance, Session
from agentops.runtime.operations import employ_agent, start_session
from approvals.models import ApprovalRequest, Verdict
from support_agent import models
from support_agent.role import ROLE
from tests.factories.deciding import decide_fully
from tests.factories.people import Cast, make_cast
from tests.factories.support import Shop, make_shop

pytestmark = pytest.mark.django_db

REFUND = ToolCall(
    "issue_refund",
    {
        "order_id": "#W1",
        "amount_minor": 2000,
        "currency": "USD",
        "payment_method_id": "card-1",
        "reason": "It arrived broken.",
    },
    "The customer asked for it.",
)
LOOK = ToolCall("lookup_order", {"order_id": "#W1"})
TELL = ToolCall("send_reply", {"body": "$20.00 goes back to your card."}, "The customer has to know.")
DONE = FinalAnswer("All done.")


@pytest.fixture
def cast() -> Cast:
    return make_cast(queue="refunds")


@pytest.fixture
def shop(cast: Cast) -> Shop:
    return make_shop(cast.tenant)


def run(monkeypatch: pytest.MonkeyPatch, cast: Cast, *steps: ToolCall | FinalAnswer | PlannerUnavailable) -> Session:
    """Work the shop's ticket with the real role and a script."""
    role = replace(ROLE, playbook=lambda: ScriptedPlanner(steps))
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    agent = employ_agent(tenant_id=cast.tenant.pk, role=role, name="Support", actor="user:bob")
    words = "My mug arrived broken. Please refund $20.00 for order #W1."
    models.Ticket.objects.update(taken_at=datetime(2026, 11, 1, tzinfo=UTC), body=words)
    session = start_session(agent=agent, subject_id="T-1", actor="user:bob")
    work_until_quiet()
    return now(session)


def now(session: Session) -> Session:
    session.refresh_from_db()
    return session


def decide(cast: Cast, verdict: Verdict) -> ApprovalRequest:
    """Decide the one open question, as Alice."""
    request = ApprovalRequest.objects.get(state="pending")
    decide_fully(request, cast.alice, verdict)
    work_until_quiet()
    return request


def calls() -> list[tuple[str, str]]:
    return list(Invocation.objects.order_by("position").values_list("tool", "state"))


def process() -> str:
    return ProcessInstance.objects.get(process="refund").state


GIVEN_UP = PlannerUnavailable(FailureKind.AUTH, "The key is no longer valid.")
BEFORE = [("payment", 4500, "card-1"), ("refund", 2000, "card-1")]
STOPPED = [*BEFORE, ("payment", 2000, "card-1")]


def test_money_of_a_session_that_stops_before_the_answer_is_stopped_when_a_person_agrees(
    monkeypatch: pytest.MonkeyPatch, cast: Cast, shop: Shop
) -> None:
    session = run(monkeypatch, cast, LOOK, REFUND, GIVEN_UP)
    assert (session.status, shop.history("#W1")) == ("waiting_approval", BEFORE)
    request = decide(cast, Verdict.APPROVE)
    words = "Stop the refund of $20.00 for order #W1 to card-1, before it is paid out to Dana Ruiz"
    assert (request.tool, request.effect) == ("stop_payout", words)
    assert (now(session).status, session.stop_code, process()) == ("stopped", "MODEL_UNAVAILABLE", "compensated")
    assert calls()[:2] == [("issue_refund", "compensated"), ("stop_payout", "succeeded")]
    assert shop.history("#W1") == STOPPED
    assert models.Ticket.objects.get().status == "escalated"


def test_money_stays_and_a_person_has_it_when_the_stop_is_turned_down(
    monkeypatch: pytest.MonkeyPatch, cast: Cast, shop: Shop
) -> None:
    session = run(monkeypatch, cast, LOOK, REFUND, GIVEN_UP)
    decide(cast, Verdict.REJECT)
    assert (now(session).status, process()) == ("stopped", "failed")
    assert shop.history("#W1") == BEFORE
    assert models.Ticket.objects.get().status == "escalated"


def test_money_that_the_customer_was_told_of_stays_when_the_session_stops(
    monkeypatch: pytest.MonkeyPatch, cast: Cast, shop: Shop
) -> None:
    session = run(monkeypatch, cast, LOOK, REFUND, TELL, GIVEN_UP)
    assert (session.status, process()) == ("stopped", "told")
    assert shop.history("#W1") == BEFORE
    assert not ApprovalRequest.objects.exists()


def test_a_refund_of_an_order_that_was_not_looked_up_is_refused(
    monkeypatch: pytest.MonkeyPatch, cast: Cast, shop: Shop
) -> None:
    session = run(monkeypatch, cast, REFUND, TELL, DONE)
    assert (session.status, session.outcome, process()) == ("finished", "answered", "told")
    assert (calls(), shop.history("#W1")) == ([("send_reply", "succeeded")], BEFORE[:1])


@pytest.mark.parametrize(("tool", "asks", "after"), [("issue_refund", True, STOPPED), ("send_reply", False, BEFORE)])
def test_a_person_takes_back_what_a_finished_session_did(
    monkeypatch: pytest.MonkeyPatch, cast: Cast, shop: Shop, tool: str, asks: bool, after: object
) -> None:
    session = run(monkeypatch, cast, LOOK, REFUND, TELL, DONE)
    assert session.status == "finished"
    call = Invocation.objects.get(tool=tool)
    assert call.undo_until is not None
    propose_undo(invocation_id=call.pk, actor="user:bob", reason="The wrong order.")
    work_until_quiet()
    if asks:
        decide(cast, Verdict.APPROVE)
    call.refresh_from_db()
    assert (call.state, now(session).status) == ("compensated", "finished")
    assert shop.history("#W1") == after
    assert models.Ticket.objects.get().status == "escalated"
