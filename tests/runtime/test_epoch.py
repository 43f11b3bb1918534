"""Rules that change while a session is worked: its next write is decided under them, not under those it began with."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import uuid4

import pgtrigger
import pytest
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from agentops.agents.models import Agent, AgentVersion, Elevation, Threshold, ToolGrant
from agentops.gateway.models import Breaker
from agentops.ledger.models import LedgerEvent
from agentops.llm.scripted import ScriptedPlanner
from agentops.policy.models import RuleSet
from agentops.registry.planner import PlanContext, ToolCall, Usage
from agentops.runtime import brief
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.rate_models import RateLimit
from agentops.tenancy.models import Freeze, Switchboard, Tenant
from approvals.models import ApprovalRequest
from tests.factories.people import Cast
from tests.factories.runs import DONE, TELL, decide, events, go_on, once, pay, plan, results, start, thinking, work
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db


def epoch() -> int:
    return Switchboard.objects.values_list("epoch", flat=True).get()


def set_dial(dial: str) -> None:
    ToolGrant.objects.filter(tool="pay").update(dial=dial)


@pytest.mark.parametrize("dial", ["observe", "suggest"])
def test_dial_that_is_lowered_while_the_model_thinks_forbids(toy: Toy, agent: Agent, dial: str) -> None:
    session = work(toy, agent, thinking(once(partial(set_dial, dial)), pay()), TELL, DONE)
    assert (session.status, toy.vendor.calls) == ("finished", [])
    assert results(session, "call.refused")[0]["code"] == "POLICY"


def test_dial_that_is_lowered_while_the_model_thinks_asks(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, thinking(once(partial(set_dial, "ask")), pay()), DONE)
    assert (session.status, toy.vendor.calls) == ("waiting_approval", [])
    decide(cast)
    assert go_on(session).status == "finished"
    assert toy.vendor.balances["a-1"] == 99_500


def test_threshold_that_is_lowered_while_the_model_thinks_asks(toy: Toy, agent: Agent) -> None:
    lower = once(lambda: Threshold.objects.update(value=100))
    session = work(toy, agent, thinking(lower, pay()), DONE)
    assert (session.status, toy.vendor.calls) == ("waiting_approval", [])


def test_threshold_that_is_raised_while_the_model_thinks_asks_nobody(toy: Toy, agent: Agent) -> None:
    rise = once(lambda: Threshold.objects.update(value=100_000))
    session = work(toy, agent, thinking(rise, pay(5000)), DONE)
    assert (session.status, ApprovalRequest.objects.count()) == ("finished", 0)
    assert toy.vendor.balances["a-1"] == 95_000


def test_grant_that_is_withdrawn_while_the_model_thinks_refuses(toy: Toy, agent: Agent) -> None:
    withdraw = once(lambda: ToolGrant.objects.get(tool="pay").delete())
    session = work(toy, agent, thinking(withdraw, pay()), TELL, DONE)
    assert (session.status, toy.vendor.calls) == ("finished", [])
    assert "call.refused" in events(session)


def test_soft_write_without_money_is_decided_anew_as_well(toy: Toy, agent: Agent) -> None:
    withdraw = once(lambda: ToolGrant.objects.filter(tool="note").update(dial="observe"))
    session = work(toy, agent, thinking(withdraw, TELL), pay(), DONE)
    assert (session.status, toy.notes, session.outcome) == ("finished", [], "refunded")


def test_change_during_a_call_counts_from_the_next_step_on(toy: Toy, agent: Agent) -> None:
    toy.vendor.on_pay = once(partial(set_dial, "suggest"))
    session = work(toy, agent, pay(), pay(700), TELL, DONE)
    assert (session.status, toy.vendor.balances["a-1"]) == ("finished", 99_500)
    assert [e for e in events(session) if e.startswith("call.")][:3] == [
        "call.intended",
        "call.succeeded",
        "call.refused",
    ]


def test_daily_limit_that_is_lowered_stops_the_next_model_call(toy: Toy, agent: Agent) -> None:
    def lower() -> None:
        tenant = Tenant.objects.get(pk=agent.tenant_id)
        tenant.max_day_micro = 100
        tenant.save()

    asked: list[int] = []

    def think(context: PlanContext) -> ToolCall:
        asked.append(len(context.history))
        lower_once()
        return ToolCall("note", {"text": f"note {len(asked)}"})

    lower_once = once(lower)
    toy.planner = ScriptedPlanner(think, usage=Usage("m", 10, 10, 60))
    session = start(toy, agent)
    # The first call was reserved under no limit; the second would go beyond the new one.
    assert (go_on(session).stop_code, asked) == ("BUDGET_DAY", [0])
    assert session.cost_micro == 60


def test_limit_of_steps_that_is_lowered_holds_from_the_next_step_on(toy: Toy, agent: Agent) -> None:
    def lower() -> None:
        version = AgentVersion.objects.get()
        version.max_steps = 1
        version.save()

    session = work(toy, agent, thinking(once(lower), TELL), DONE)
    assert (session.stop_code, session.outcome) == ("BUDGET_STEPS", "escalated")


def test_unchanged_rules_are_read_once(toy: Toy, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    grants_of = brief.grants_of
    monkeypatch.setattr(brief, "grants_of", lambda version: read.append(version) or grants_of(version))
    work(toy, agent, *[ToolCall("note", {"text": f"note {n}"}) for n in range(6)], DONE)
    assert len(read) == 1


def made_of(model: type[Model], agent: Agent) -> Model:
    """Return a row of the model that is not saved yet."""
    version = agent.current_version
    now = timezone.now()
    rows: dict[type[Model], Callable[[], Model]] = {
        Tenant: lambda: Tenant(slug="fresh", name="Fresh"),
        Agent: lambda: Agent(tenant_id=agent.tenant_id, role="toy", name="Second"),
        AgentVersion: lambda: AgentVersion(
            agent=agent, number=9, instructions="", max_steps=1, max_seconds=1, max_cost_micro=1
        ),
        ToolGrant: lambda: ToolGrant(version=version, tool="shout", dial="ask"),
        Threshold: lambda: Threshold(
            grant=ToolGrant.objects.get(tool="note"), fact="session.steps", op=">", value=1, effect="ask", words="Many."
        ),
        Elevation: lambda: Elevation(
            tenant_id=agent.tenant_id,
            session_id=uuid4(),
            scope="x",
            reason="r",
            given_by="user:bob",
            given_at=now,
            expires_at=now + timedelta(hours=1),
        ),
        RateLimit: lambda: RateLimit(
            tenant_id=agent.tenant_id, tool="pay", per="tool", most=5, window_seconds=60, excess="ask"
        ),
        RuleSet: lambda: RuleSet(
            tenant_id=agent.tenant_id, number=1, document={"rules": []}, digest="0" * 64, made_by="bob", made_at=now
        ),
        Freeze: lambda: Freeze(tenant_id=agent.tenant_id, reason="r", frozen_by="user:bob", frozen_at=now),
        Breaker: lambda: Breaker(
            id=uuid4(), tenant_id=agent.tenant_id, name="tool:pay", state="closed", changed_at=now
        ),
    }
    return rows[model]()


TABLES = [Tenant, Agent, AgentVersion, ToolGrant, Threshold, Elevation, Freeze, Breaker, RateLimit, RuleSet]


def test_every_table_with_the_trigger_is_tested() -> None:
    assert {model for model, trigger in pgtrigger.registered() if trigger.name == "bumps_epoch"} == set(TABLES)


@pytest.mark.parametrize("model", TABLES)
def test_every_change_of_a_table_that_decides_raises_the_epoch(toy: Toy, agent: Agent, model: type[Model]) -> None:
    row, seen = made_of(model, agent), [epoch()]
    for change in (row.save, row.save, row.delete):
        change()
        seen.append(epoch())
    assert seen == sorted(set(seen))


@pytest.mark.django_db(transaction=True)
def test_epoch_is_raised_with_the_commit_and_not_before_nor_without(toy: Toy, agent: Agent) -> None:
    before = epoch()
    with transaction.atomic():
        set_dial("ask")
        assert epoch() == before
    assert epoch() == before + 1
    with transaction.atomic():
        set_dial("observe")
        transaction.set_rollback(True)
    assert epoch() == before + 1


@pytest.mark.django_db(transaction=True)
def test_rule_of_another_connection_counts_for_the_write_that_is_being_decided(toy: Toy, agent: Agent) -> None:
    """The change is committed by somebody else between the decision and its record."""

    def tighten() -> None:
        other = connection.copy()
        try:
            with other.cursor() as cursor:
                cursor.execute("UPDATE agentops_toolgrant SET dial = 'suggest' WHERE tool = 'pay'")
        finally:
            other.close()

    plan(toy, thinking(once(tighten), pay()), TELL, DONE)
    start(toy, agent)
    work_until_quiet()
    assert (Session.objects.get().status, toy.vendor.calls) == ("finished", [])
    assert not Invocation.objects.filter(tool="pay").exists()
    assert LedgerEvent.objects.filter(type="call.refused", facts__tool="pay").count() == 1
