"""One step after the other, through the door that workers use."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from agentops.agents.models import Agent, Threshold, ToolGrant
from agentops.kernel.errors import FailureKind
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import (
    FinalAnswer,
    Malformed,
    PlanContext,
    PlannerUnavailable,
    Proposal,
    ToolCall,
    Turn,
    Usage,
)
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from agentops.runtime.dispatch import claim, work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import start_session
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalRequest, Verdict
from tests.factories.people import Cast
from tests.factories.runs import (
    DONE,
    LOOK,
    TELL,
    begin,
    come_back,
    decide,
    events,
    go_on,
    pay,
    plan,
    results,
    start,
    work,
)
from tests.factories.sums import sums_of_targets
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db


def test_small_payment_runs_once(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, LOOK, pay(), DONE)
    assert (session.status, session.outcome, session.steps) == ("finished", "refunded", 3)
    assert toy.vendor.balances["a-1"] == 99_500
    assert events(session) == [
        "session.opened",
        "session.claimed",
        "call.read",
        "call.intended",
        "call.succeeded",
        "session.finished",
    ]
    assert Invocation.objects.get().state == "succeeded"
    assert sums_of_targets().get().total_minor == 500


def test_amount_above_the_limit_waits_and_runs_once_when_approved(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, pay(5000), DONE)
    assert (session.status, session.gates) == ("waiting_approval", 1)
    assert toy.vendor.calls == []
    decide(cast)
    go_on(session)
    assert (session.status, session.outcome) == ("finished", "refunded")
    assert toy.vendor.balances["a-1"] == 95_000
    assert len(toy.vendor.calls) == 1
    assert events(session)[2:] == [
        "approval.requested",
        "approval.approved",
        "session.claimed",
        "call.intended",
        "call.succeeded",
        "session.finished",
    ]


def test_rejection_executes_nothing_and_the_session_still_answers(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, pay(5000), TELL, FinalAnswer("Not paid.", blocked=("payment",)))
    decide(cast, Verdict.REJECT)
    go_on(session)
    assert (session.status, session.outcome) == ("finished", "answered")
    assert toy.vendor.calls == []
    assert Invocation.objects.get(tool="pay").state == "refused"


def test_expiry_executes_nothing_and_the_session_still_answers(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, pay(5000), TELL, FinalAnswer("Nobody decided."))
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert sweep_once() == 1
    go_on(session)
    assert session.status == "finished"
    assert ApprovalRequest.objects.get().state == "expired"
    assert "approval.expired" in events(session)
    assert toy.vendor.calls == []


def test_splitting_an_amount_does_not_help(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, pay(2000), pay(501), DONE)
    assert session.status == "waiting_approval"
    assert toy.vendor.balances["a-1"] == 98_000


def test_record_changed_after_approval_voids_it_and_asks_again(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, pay(5000), DONE)
    first = decide(cast)
    toy.vendor.balances["a-1"] -= 1
    toy.vendor.versions["a-1"] += 1
    go_on(session)
    first.refresh_from_db()
    assert (session.status, first.state) == ("waiting_approval", "voided")
    assert toy.vendor.calls == []
    second = decide(cast)
    assert second.supersedes_id == first.pk
    work_until_quiet()
    assert toy.vendor.balances["a-1"] == 94_999


def test_rules_changed_after_approval_void_it(toy: Toy, agent: Agent, cast: Cast) -> None:
    work(toy, agent, pay(5000), DONE)
    first = decide(cast)
    Threshold.objects.update(value=100)
    work_until_quiet()
    first.refresh_from_db()
    assert first.state == "voided"
    assert toy.vendor.calls == []


def test_grant_withdrawn_after_approval_refuses(toy: Toy, agent: Agent, cast: Cast) -> None:
    session = work(toy, agent, pay(5000), TELL, DONE)
    first = decide(cast)
    ToolGrant.objects.filter(tool="pay").update(dial="observe")
    work_until_quiet()
    first.refresh_from_db()
    session.refresh_from_db()
    assert (first.state, session.status) == ("voided", "finished")
    assert toy.vendor.calls == []


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (ToolCall("shout", {}), "UNKNOWN_TOOL"),
        (ToolCall("pay", {"account": "a-1", "minor": "5"}), "VALIDATION"),
        (ToolCall("pay", {"account": "a-1", "minor": 5, "extra": 1}), "VALIDATION"),
        (ToolCall("pay", {"account": "a" * 100_000, "minor": 5}), "VALIDATION"),
        (pay(0), "VALIDATION"),
        (pay(-5), "VALIDATION"),
        (pay(12.5), "VALIDATION"),
        (pay(float("nan")), "VALIDATION"),
        (pay(500.0), "VALIDATION"),
        (pay(account="b-1"), "NOT_FOUND"),
        (pay(account="nobody"), "NOT_FOUND"),
        (pay(200_000), "VALIDATION"),
        (ToolCall("pay", '{"account": "a-1", "minor": 1, "minor": 2}'), "BAD_JSON"),
        (ToolCall("pay", '{"account": "a-1", "minor": NaN}'), "BAD_JSON"),
        (ToolCall("pay", '{"account": "a-1"'), "BAD_JSON"),
        (ToolCall("pay", "[1]"), "BAD_JSON"),
        (ToolCall("note", {"text": "a\x00b"}), "NOT_CANONICAL"),
    ],
)
def test_bad_proposal_is_refused_and_visible(toy: Toy, agent: Agent, call: ToolCall, code: str) -> None:
    session = work(toy, agent, call, TELL, DONE)
    assert session.status == "finished"
    refused = LedgerEvent.objects.get(stream=session.pk, type="call.refused")
    assert refused.facts["code"] == code
    assert toy.vendor.calls == []
    assert toy.notes == ["Told the customer."]


def test_foreign_and_unknown_records_are_refused_in_the_same_words(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, pay(account="b-1"), pay(account="nobody"), TELL, DONE)
    told = [result["message"] for result in results(session, "call.refused")]
    assert told[0] == told[1]


def test_vendor_answers_success_after_the_connection_broke(toy: Toy, agent: Agent) -> None:
    toy.vendor.after.append(ConnectionResetError("gone"))
    session = work(toy, agent, pay(), DONE)
    assert session.status == "finished"
    assert toy.vendor.balances["a-1"] == 99_500
    assert Invocation.objects.get().state == "succeeded"


def test_vendor_that_cannot_be_asked_leaves_it_to_a_person(toy: Toy, agent: Agent) -> None:
    toy.vendor.after.append(OutcomeUnknown("timed out"))
    toy.vendor.deaf = True
    session = work(toy, agent, pay(), DONE)
    for _ in range(2):
        assert (session.status, Invocation.objects.get(tool="pay").state) == ("sleeping", "intended")
        come_back(session)
    assert (session.status, session.stop_code) == ("stopped", "OUTCOME_UNKNOWN")
    assert Invocation.objects.get(tool="pay").state == "unknown"
    assert len(toy.vendor.calls) == 1
    assert toy.handed_over == ["OUTCOME_UNKNOWN"]


def test_retryable_failure_sleeps_and_goes_on_with_the_same_key(toy: Toy, agent: Agent) -> None:
    toy.vendor.before.append(ToolFailure(FailureKind.RATE_LIMIT, "slow down", retry_after=30))
    session = work(toy, agent, pay(), DONE)
    assert session.status == "sleeping"
    assert session.wake_at is not None
    assert session.wake_at > timezone.now() + timedelta(seconds=25)
    come_back(session)
    assert session.status == "finished"
    assert len(set(toy.vendor.calls)) == 1
    assert toy.vendor.balances["a-1"] == 99_500


def test_final_failure_gives_back_amount_and_key(toy: Toy, agent: Agent) -> None:
    toy.vendor.before.append(ToolFailure(FailureKind.CONFLICT, "changed"))
    session = work(toy, agent, pay(), pay(), DONE)
    assert session.status == "finished"
    assert toy.vendor.balances["a-1"] == 99_500
    assert sums_of_targets().get().total_minor == 500


def test_same_action_twice_is_refused_as_done(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, pay(), pay(), DONE)
    assert session.status == "finished"
    assert toy.vendor.balances["a-1"] == 99_500
    assert results(session, "call.refused")[0]["code"] == "ALREADY_DONE"


def test_step_budget_ends_in_a_named_stop_with_a_hand_over(toy: Toy, agent: Agent) -> None:
    agent.current_version.max_steps = 3
    agent.current_version.save()
    session = work(toy, agent, *[ToolCall("note", {"text": f"note {n}"}) for n in range(9)])
    assert (session.status, session.stop_code, session.outcome) == ("stopped", "BUDGET_STEPS", "escalated")
    assert len(toy.notes) == 3
    assert toy.handed_over == ["BUDGET_STEPS"]


def test_step_keeps_what_the_model_was_shown_and_what_it_said(toy: Toy, agent: Agent) -> None:
    turn = Turn(TELL, Usage("m", 10, 5, 70, 3), raw='{"tool": "note"}', context={"digest": "d"})
    session = work(toy, agent, turn, DONE)
    event = LedgerEvent.objects.get(stream=session.pk, type="call.intended")
    payload = payload_of(session.pk, event.position)
    assert (payload["context"], payload["output"]) == ({"digest": "d"}, '{"tool": "note"}')
    assert (event.facts["model"], event.facts["input_tokens"], event.facts["cost_micro"]) == ("m", 10, 70)
    assert (session.input_tokens, session.output_tokens, session.cost_micro) == (10, 5, 70)


def test_cost_budget_stops(toy: Toy, agent: Agent) -> None:
    toy.planner = ScriptedPlanner(
        [ToolCall("note", {"text": f"note {n}"}) for n in range(9)], usage=Usage("m", 10, 10, 600_000)
    )
    session = go_on(start(toy, agent))
    # The second call could have cost more than is left, so it is not made.
    assert (session.stop_code, session.cost_micro) == ("BUDGET_COST", 600_000)


def test_model_that_cannot_be_reached_is_tried_three_times(toy: Toy, agent: Agent) -> None:
    gone = PlannerUnavailable(FailureKind.UNAVAILABLE, "no answer")
    session = work(toy, agent, gone, DONE)
    for _ in range(2):
        assert session.status == "sleeping"
        come_back(session)
    assert (session.status, session.stop_code) == ("stopped", "MODEL_UNAVAILABLE")
    assert toy.handed_over == ["MODEL_UNAVAILABLE"]


def test_model_that_cannot_be_read_gets_one_more_chance(toy: Toy, agent: Agent) -> None:
    assert work(toy, agent, Malformed("two calls"), TELL, DONE).status == "finished"
    session = work(toy, agent, Malformed("two calls"), Malformed("two calls"), work_id="w-2")
    assert (session.status, session.stop_code) == ("stopped", "MODEL_MALFORMED")


def test_planner_that_repeats_what_was_refused_is_stopped(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, *[pay(0)] * 9)
    assert (session.status, session.stop_code) == ("stopped", "LOOP_REFUSED")


def test_failure_inside_the_program_hands_over(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent)
    assert (session.status, session.stop_code) == ("stopped", "INTERNAL")
    assert toy.handed_over == ["INTERNAL"]


def test_end_without_any_outcome_is_sent_back_and_then_handed_over(toy: Toy, agent: Agent) -> None:
    first = work(toy, agent, DONE, TELL, DONE)
    assert first.outcome == "answered"
    session = work(toy, agent, DONE, DONE, DONE, DONE, work_id="w-2")
    assert (session.status, session.stop_code, session.outcome) == ("stopped", "LOOP_SAME_OUTPUT", "escalated")
    assert toy.handed_over == ["LOOP_SAME_OUTPUT"]
    refused = [*results(first, "call.refused"), *results(session, "call.refused")]
    assert [result["code"] for result in refused] == ["NO_OUTCOME"] * 4


def test_session_whose_workers_keep_dying_is_handed_over(toy: Toy, agent: Agent) -> None:
    session = begin(toy, agent, TELL, DONE)
    for _ in range(5):
        assert claim() is not None
        Session.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert sweep_once() == 1
    go_on(session)
    assert (session.status, session.stop_code) == ("stopped", "WORKER_LOST")
    assert toy.handed_over == ["WORKER_LOST"]


def test_session_that_loses_its_database_is_left_to_the_sweep(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, _no_database)
    assert (session.status, session.stop_code) == ("running", "")


def _no_database(context: PlanContext) -> Proposal:
    raise OperationalError("the server closed the connection")


def test_waiting_work_that_was_begun_by_hand_gets_no_second_session(toy: Toy, agent: Agent) -> None:
    plan(toy, TELL, DONE)
    toy.add_work("w-1")
    toy.add_work("w-2")
    start_session(agent=agent, subject_id="w-1", actor="user:bob")
    assert work_until_quiet() == 1
    assert sweep_once() == 1
    assert Session.objects.filter(subject_id="w-1").count() == 1


def test_waiting_work_is_taken_in_once(toy: Toy, agent: Agent) -> None:
    plan(toy, TELL, DONE)
    for number in range(5):
        toy.add_work(f"w-{number}")
    assert (sweep_once(), sweep_once()) == (5, 0)
    assert work_until_quiet() == 5
    assert Session.objects.filter(status="finished").count() == 5
