"""A tool that is off, as sessions meet it."""

import pytest

from agentops.agents.models import Agent
from agentops.gateway.breakers import breaker_id, report_failure, reset_breaker
from agentops.kernel.errors import FailureKind
from agentops.ledger.models import LedgerEvent
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.registry.tool import ToolFailure
from agentops.runtime.models import Invocation
from tests.factories.people import Cast
from tests.factories.runs import DONE, come_back, decide, go_on, pay, work
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db


def switch_off(agent: Agent, tool: str) -> None:
    for _ in range(5):
        report_failure(tenant_id=agent.tenant_id, name=f"tool:{tool}", kind=FailureKind.UNAVAILABLE, words="down")


def test_write_on_a_tool_that_is_off_is_refused_before_any_intent(toy: Toy, agent: Agent) -> None:
    switch_off(agent, "pay")
    session = work(toy, agent, pay(), ToolCall("note", {"text": "it is off"}), FinalAnswer("off"))
    assert (session.status, session.outcome) == ("finished", "answered")
    assert toy.vendor.calls == []
    assert not Invocation.objects.filter(tool="pay").exists()
    refused = LedgerEvent.objects.get(stream=session.pk, type="call.refused")
    assert refused.facts["code"] == "UNAVAILABLE"


def test_what_was_approved_waits_for_the_tool_and_runs_once_it_is_on(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, pay(minor=5_000), DONE)
    request = decide(cast)
    switch_off(agent, "pay")
    go_on(session)
    request.refresh_from_db()
    assert (session.status, session.attempts, request.state) == ("sleeping", 0, "approved")
    reset_breaker(breaker_id=breaker_id(agent.tenant_id, "tool:pay"), actor="user:bob")
    come_back(session)
    assert (session.status, toy.vendor.balances["a-1"]) == ("finished", 95_000)


def test_failures_of_one_session_switch_the_tool_off_for_the_next(toy: Toy, agent: Agent) -> None:
    toy.vendor.before += [ToolFailure(FailureKind.UNAVAILABLE, "down")] * 5
    for n in range(5):
        work(toy, agent, pay(), DONE, work_id=f"w-{n}")
    assert len(toy.vendor.calls) == 5
    work(toy, agent, pay(), ToolCall("note", {"text": "off"}), FinalAnswer("off"), work_id="w-9")
    assert len(toy.vendor.calls) == 5
    assert LedgerEvent.objects.filter(type="breaker.opened").count() == 1
