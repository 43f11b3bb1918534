"""What a role is told of the calls that were made for a piece of work."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentops.console import subject_calls
from agentops.kernel.errors import FailureKind
from agentops.kernel.ids import new_id
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.call_record import call_record
from agentops.registry.made import Became, ToldCall
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from agentops.runtime.models import Invocation
from agentops.runtime.operations import start_session
from approvals.models import ApprovalRequest, Verdict
from approvals.operations import decide_request
from tests.console.conftest import DONE, LOOK, TELL, Stage, pay
from tests.factories.people import make_approver
from tests.factories.requests import rewritten

BOOKED = FinalAnswer("Done.")


def told(stage: Stage, subject: str = "w-1") -> list[ToldCall]:
    return list(call_record().of_subject(stage.cast.tenant.pk, "toy", subject))


def payments(stage: Stage, subject: str = "w-1") -> list[ToldCall]:
    return [call for call in told(stage, subject) if call.tool == "pay"]


def test_a_write_is_told_with_its_dry_run_answer_and_undo(stage: Stage) -> None:
    session = stage.work(LOOK, pay(), TELL, DONE)
    row = Invocation.objects.get(tool="pay")
    paid, note = told(stage)
    assert (paid.tool, paid.became, paid.actor, paid.approvers) == ("pay", Became.DONE, "agent:Payer v1", ())
    assert paid.arguments == {"account": "a-1", "minor": 500}
    assert (paid.preview, paid.result) == (row.preview, {"receipt": "r-1", "minor": 500})
    assert (paid.key, paid.at, paid.made_at) == (row.idempotency_key, row.created_at, row.intended_at)
    assert (paid.session_id, paid.position, paid.undo) == (session.pk, row.position, row.undo)
    assert (note.tool, note.became) == ("note", Became.DONE)


def test_who_approved_or_turned_it_down_is_told(stage: Stage) -> None:
    first = stage.work(LOOK, pay(5_000), DONE)
    assert [(call.became, call.approvers, call.key) for call in told(stage)] == [(Became.WAITS, (), "")]
    stage.decide(first, Verdict.APPROVE)
    stage.go_on(first)
    assert [(call.became, call.approvers) for call in told(stage)] == [(Became.DONE, ("user:alice",))]

    second = stage.work(LOOK, pay(5_000), DONE)
    stage.decide(second, Verdict.REJECT, "It was paid already.")
    stage.go_on(second)
    assert [(call.became, call.approvers) for call in payments(stage, "w-2")] == [(Became.REFUSED, ())]
    result = {"code": "REJECTED", "by": "user:alice", "message": "It was paid already."}
    assert [call.result for call in payments(stage, "w-2")] == [result]


def test_what_was_refused_failed_or_is_not_known_is_told_with_the_reason(stage: Stage) -> None:
    stage.toy.vendor.before = [ToolFailure(FailureKind.CONFLICT, "The account is closed.")]
    stage.work(LOOK, ToolCall("pay", {"account": "b-1", "minor": 1}), pay(), DONE)
    refused, failed = payments(stage)
    assert (refused.tool, refused.became, refused.made_at, refused.key) == ("pay", Became.REFUSED, None, "")
    assert refused.arguments == {"account": "b-1", "minor": 1}
    assert refused.result["message"]
    assert (failed.became, failed.key, failed.result["code"]) == (Became.FAILED, "", "CONFLICT")

    stage.toy.vendor.after, stage.toy.vendor.deaf = [OutcomeUnknown("No answer.")], True
    stage.work(LOOK, pay(), DONE)
    assert [(call.became, bool(call.key)) for call in payments(stage, "w-2")] == [(Became.UNDER_WAY, True)]
    Invocation.objects.filter(state="intended").update(state="unknown", unknown_since=timezone.now())
    assert [(call.became, bool(call.key)) for call in payments(stage, "w-2")] == [(Became.UNKNOWN, True)]


@pytest.mark.parametrize("strange", ["text", [1, 2], None, 7])
def test_arguments_that_are_no_object_are_told_as_none(stage: Stage, strange: object) -> None:
    stage.work(LOOK, replace(pay(), arguments=strange), DONE)
    assert [(call.became, call.arguments) for call in payments(stage)] == [(Became.REFUSED, {})]


def test_only_the_look_ups_that_are_asked_for_are_told(stage: Stage) -> None:
    stage.work(LOOK, pay(), DONE)
    calls = call_record().of_subject(stage.cast.tenant.pk, "toy", "w-1", reads=("look",))
    assert [(call.tool, call.became) for call in calls] == [("look", Became.DONE), ("pay", Became.DONE)]
    assert calls[0].arguments == {"account": "a-1"}
    assert calls[0].result
    assert [call.tool for call in told(stage)] == ["pay"]


def test_nobody_is_told_of_a_vote_before_the_last(stage: Stage) -> None:
    session = stage.work(LOOK, pay(5_000), DONE)
    request = rewritten(ApprovalRequest.objects.get(session_id=session.pk), people=2)
    dave = make_approver("dave", stage.cast.queue)
    vote(request, stage.cast.alice)
    assert [(call.became, call.approvers) for call in told(stage)] == [(Became.WAITS, ())]
    vote(request, dave)
    stage.go_on(session)
    assert [(call.became, call.approvers) for call in payments(stage)] == [(Became.DONE, ("user:alice", "user:dave"))]


def vote(request: ApprovalRequest, person: User) -> None:
    decide_request(
        request_id=request.pk,
        person=person,
        verdict=Verdict.APPROVE,
        digest=request.digest,
        reason="",
        checked="The invoice.",
        now=timezone.now(),
    )


def test_nothing_of_other_tenants_roles_and_pieces_of_work_is_told(stage: Stage) -> None:
    stage.work(LOOK, pay(), DONE)
    record = call_record()
    assert record.of_subject(stage.cast.other.pk, "toy", "w-1") == []
    assert record.of_subject(stage.cast.tenant.pk, "support", "w-1") == []
    assert record.of_subject(stage.cast.tenant.pk, "toy", "w-2") == []


def test_all_sessions_of_a_piece_of_work_are_told_in_order(stage: Stage) -> None:
    stage.work(LOOK, pay(1), BOOKED)
    stage.toy.planner = ScriptedPlanner([LOOK, pay(2), BOOKED])
    stage.go_on(start_session(agent=stage.agent, subject_id="w-1", actor="user:bob"))
    assert [call.arguments["minor"] for call in told(stage)] == [1, 2]


def test_many_calls_are_three_queries_and_the_latest(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    session = stage.work(LOOK, pay(), DONE)

    def queries() -> int:
        with CaptureQueriesContext(connection) as made:
            told(stage)
        return len(made)

    few = queries()
    row = Invocation.objects.get(tool="pay")
    for number in range(30):
        row.pk, row.position, row.idempotency_key = new_id(), 1_000 + number, f"key-{number}"
        row.created_at = timezone.now() + timedelta(seconds=number)
        row.save(force_insert=True)
    assert (few, queries()) == (3, 3)

    monkeypatch.setattr(subject_calls, "MOST_TOLD", 5)
    latest = told(stage)
    assert [call.position for call in latest] == [1_025, 1_026, 1_027, 1_028, 1_029]
    assert {call.session_id for call in latest} == {session.pk}
