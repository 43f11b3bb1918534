"""Proposals read back from the ledger: real sessions, people who decide, and what came of it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentops.agents.models import ToolGrant
from agentops.agents.operations import create_agent
from agentops.policy.rules import Effect
from agentops.policy.ruleset import NO_RULES, compiled
from agentops.policy.simulate import Outcome, Record, exchanged, simulate
from agentops.registry import roles
from agentops.runtime import control, history
from agentops.runtime.history import present_rules, proposals, under_present_grants
from agentops.runtime.models import Invocation
from approvals.models import Verdict
from tests.console.conftest import DONE, LOOK, TELL, Stage, cast, pay, stage, toy
from tests.policy.rule_sets import rule, when

__all__ = ["cast", "stage", "toy"]


def read(stage: Stage, *, since: datetime | None = None, until: datetime | None = None) -> list[Record]:
    now = timezone.now()
    return list(
        proposals(
            tenant_id=stage.cast.tenant.pk,
            since=since or now - timedelta(days=7),
            until=until or now + timedelta(minutes=1),
        )
    )


def told(records: list[Record]) -> list[tuple[str, Effect, Outcome]]:
    return [(record.tool, record.effect, record.outcome) for record in records]


def test_each_proposal_is_read_once_with_what_people_decided(stage: Stage) -> None:
    stage.work(LOOK, TELL, pay(500), DONE)
    asked = stage.work(pay(9_000), DONE)
    stage.decide(asked, Verdict.APPROVE)
    stage.go_on(asked)
    rejected = stage.work(pay(9_500), TELL, DONE)
    stage.decide(rejected, Verdict.REJECT, "Too much.")
    stage.go_on(rejected)
    stage.work(pay(9_700), DONE)
    found = read(stage)
    assert told(found) == [
        ("note", Effect.ALLOW, Outcome.NONE),
        ("pay", Effect.ALLOW, Outcome.NONE),
        ("pay", Effect.ASK, Outcome.APPROVED),
        ("pay", Effect.ASK, Outcome.REJECTED),
        ("note", Effect.ALLOW, Outcome.NONE),
        ("pay", Effect.ASK, Outcome.OPEN),
    ]
    assert [record.facts["money"].get("minor") for record in found] == [None, 500, 9_000, 9_500, None, 9_700]
    assert found[2].place[0] == str(asked.pk)


def test_call_that_was_taken_back_is_told_of(stage: Stage) -> None:
    stage.work(pay(500), DONE)
    session = stage.work(pay(700), DONE)
    call = Invocation.objects.get(session_id=session.pk)
    control.propose_undo(invocation_id=call.pk, actor="user:bob", reason="It was a mistake.")
    stage.go_on(session)
    found = read(stage)
    assert [(record.tool, record.undone) for record in found] == [("pay", False), ("pay", True), ("pay_back", False)]
    assert found[1].invocation == str(call.pk)
    asked = simulate(found, exchanged(compiled({"rules": [rule(when=[])]}, "d"))).cell(Effect.ALLOW, Effect.ASK)
    assert (asked.count, asked.undone) == (2, 1)


def test_refusal_by_policy_is_among_them_and_any_other_is_not(stage: Stage) -> None:
    ToolGrant.objects.filter(tool="note").update(dial="observe")
    stage.work(TELL, pay(10**8), LOOK, pay(100), DONE)
    found = read(stage)
    assert [(record.tool, record.effect) for record in found] == [("note", Effect.FORBID), ("pay", Effect.ALLOW)]
    summary = simulate(found, exchanged(NO_RULES))
    assert summary.cell(Effect.FORBID, Effect.FORBID).count == 1


def test_window_and_tenant_bound_what_is_read(stage: Stage) -> None:
    stage.work(pay(500), DONE)
    now = timezone.now()
    assert read(stage, since=now + timedelta(minutes=1)) == []
    assert read(stage, since=now - timedelta(hours=2), until=now - timedelta(hours=1)) == []
    create_agent(tenant_id=stage.cast.other.pk, role=roles.get_role("toy"), name="Far", actor="user:bob")
    others = proposals(tenant_id=stage.cast.other.pk, since=now - timedelta(days=1), until=now + timedelta(days=1))
    assert list(others) == []


def test_pages_and_batches_hide_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        stage.work(pay(100), TELL, pay(200), DONE)
    whole = read(stage)
    assert len(whole) == 15
    monkeypatch.setattr(history, "_EVENTS_AT_ONCE", 1)
    monkeypatch.setattr(history, "_SESSIONS_AT_ONCE", 2)
    assert read(stage) == whole


def test_queries_do_not_grow_with_the_sessions(stage: Stage) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as counted:
            read(stage)
        return len(counted)

    stage.work(pay(100), DONE)
    one = queries()
    for _ in range(9):
        stage.work(pay(100), DONE)
    assert queries() == one


@pytest.mark.parametrize("body", [None, b"", b"\x01spoiled", b"{", b"[]"])
def test_payload_that_is_gone_leaves_what_was_decided(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, body: bytes | None
) -> None:
    stage.work(pay(500), DONE)
    real = history._fetch

    def spoiled(sql: str, params: Any) -> list[tuple[Any, ...]]:
        rows = real(sql, params)
        return [(*row[:-1], body) if len(row) > 2 else row for row in rows]

    monkeypatch.setattr(history, "_fetch", spoiled)
    found = read(stage)
    assert [(record.tool, record.effect, record.facts) for record in found] == [("pay", Effect.ALLOW, {})]
    tried = compiled({"rules": [rule(when=[when("session.steps", ">", 99)])]}, "d")
    asked = simulate(found, exchanged(tried)).cell(Effect.ALLOW, Effect.ASK)
    assert (asked.count, asked.not_recorded) == (1, 1)


def test_present_grants_and_rules_decide_about_the_past(stage: Stage) -> None:
    stage.work(TELL, pay(500), DONE)
    as_it_was = simulate(under_present_grants(read(stage)), present_rules(NO_RULES))
    assert as_it_was.changed == 0
    ToolGrant.objects.filter(tool="note").update(dial="ask")
    ToolGrant.objects.filter(tool="pay").delete()
    now = simulate(under_present_grants(read(stage)), present_rules(NO_RULES))
    assert {key: cell.count for key, cell in now.matrix.items()} == {
        (Effect.ALLOW, Effect.ASK): 1,
        (Effect.ALLOW, Effect.FORBID): 1,
    }


def test_first_form_of_the_record_is_decided_by_what_it_knew() -> None:
    kept = {
        "tool": {"name": "pay", "version": 1, "tier": "write-hard", "destructive": False, "irreversible": False},
        "grant": {"present": True, "dial": "bounded", "bounded_here": True},
        "session": {"steps": 1, "writes": 0},
        "target": "customer:ann",
        "money": {"present": True, "minor": 500, "currency": "USD", "customer_day_minor": 500},
    }
    facts = history._facts({"facts": kept, "arguments": {"minor": 500}})
    assert facts["tool"]["write"] is True
    reasons = (("dial.bounded", Effect.ALLOW, "Within limits."),)
    old = Record(("s", 1), "i", "v", "pay", facts, Effect.ALLOW, reasons)
    money = compiled({"rules": [rule()]}, "d")
    newer = compiled({"rules": [rule(when=[when("flow.untrusted", "=", True)])]}, "d")
    assert simulate([old], exchanged(money)).changed == 0
    assert simulate([old], exchanged(newer)).cell(Effect.ALLOW, Effect.ASK).not_recorded == 1
