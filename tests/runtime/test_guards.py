"""Stops, back-off and state tables, without a database."""

import pytest

from agentops.kernel.canonical import fingerprint_bytes
from agentops.kernel.errors import IncidentCode
from agentops.registry.planner import Observation, ObservationStatus
from agentops.runtime import guards
from agentops.runtime.answers import honest_answer, outcome_of
from agentops.runtime.guards import REPEATED, Budget, Limits, Progress, Used, backoff_seconds, over_budget, warnings
from agentops.runtime.states import (
    ENDED,
    INVOCATION_TRANSITIONS,
    SESSION_TRANSITIONS,
    IllegalTransition,
    InvocationState,
    SessionStatus,
    require_invocation_transition,
    require_transition,
)

LIMITS = Limits(max_steps=3, max_seconds=10, max_cost_micro=100, max_tokens=50, max_identical=3)
OK, FAILED, REFUSED = ObservationStatus.OK, ObservationStatus.FAILED, ObservationStatus.REFUSED


def seen(*statuses: ObservationStatus, tool: str = "pay", arguments: object = None) -> list[Observation]:
    return [
        Observation(n, tool, arguments or {"n": n}, status, {"message": "no"})
        for n, status in enumerate(statuses, start=1)
    ]


def look(result: object, account: object = "a-1", status: ObservationStatus = OK) -> Observation:
    return Observation(1, "look", {"account": account}, status, result)


def told(code: str = REPEATED, account: str = "a-1") -> Observation:
    return look({"code": code, "message": "no", "next_step": ""}, account, REFUSED)


def after(*observations: Observation, output: str = "", wrote: bool = False, most: int = 3) -> Progress:
    progress = Progress(max_identical=most)
    for observation in observations:
        progress.see(observation, output, wrote=wrote)
    return progress


@pytest.mark.parametrize(
    ("used", "code"),
    [
        (Used(2, 9_999, 99, 49), None),
        (Used(steps=3), IncidentCode.BUDGET_STEPS),
        (Used(worked_ms=10_000), IncidentCode.BUDGET_TIME),
        (Used(cost_micro=100), IncidentCode.BUDGET_COST),
        (Used(tokens=50), IncidentCode.BUDGET_TOKENS),
    ],
)
def test_budget_is_named_when_used_up(used: Used, code: IncidentCode | None) -> None:
    assert over_budget(LIMITS, **vars(used)) is code


def test_warnings_name_what_was_crossed_and_only_once() -> None:
    limits = Limits(max_steps=20, max_seconds=10, max_cost_micro=100, max_tokens=1000)
    assert warnings(limits, Used(), Used(9, 4_999, 49, 499)) == []
    assert warnings(limits, Used(9), Used(10)) == [(Budget.STEPS, 50)]
    assert warnings(limits, Used(10), Used(11)) == []
    assert warnings(limits, Used(15), Used(16)) == [(Budget.STEPS, 80)]
    assert warnings(limits, Used(cost_micro=10, tokens=499), Used(worked_ms=5_000, cost_micro=90, tokens=500)) == [
        (Budget.TIME, 50),
        (Budget.COST, 50),
        (Budget.COST, 80),
        (Budget.TOKENS, 50),
    ]
    assert warnings(Limits(0, 0, 0, 0), Used(), Used(1, 1, 1, 1)) == []


def test_refusals_in_a_row_and_equal_ones_stop() -> None:
    assert after().problem() is None
    assert after(*seen(*[REFUSED] * 5)).problem() is None
    assert after(*seen(*[REFUSED] * 6)).problem() is IncidentCode.LOOP_REFUSED
    assert after(*seen(*[REFUSED] * 5, OK)).problem() is None
    same = {"x": 1}
    assert after(*seen(REFUSED, REFUSED, arguments=same)).problem() is None
    assert after(*seen(REFUSED, OK, REFUSED, OK, REFUSED, arguments=same)).problem() is IncidentCode.LOOP_REFUSED


def test_what_cannot_be_read_stops_at_the_second_in_a_row() -> None:
    assert after(*seen(REFUSED, tool="")).problem() is None
    assert after(*seen(REFUSED, REFUSED, tool="")).problem() is IncidentCode.MODEL_MALFORMED
    assert after(*seen(REFUSED, tool=""), *seen(OK), *seen(REFUSED, tool="")).problem() is None


def test_unknown_outcome_stops_until_it_is_found_out() -> None:
    unknown = seen(ObservationStatus.UNKNOWN, arguments={"x": 1})
    assert after(*unknown, *seen(OK)).problem() is IncidentCode.OUTCOME_UNKNOWN
    assert after(*unknown, *seen(OK, arguments={"x": 1})).problem() is None
    assert after(*unknown, *seen(FAILED, arguments={"x": 1})).problem() is None


def test_same_call_with_the_same_result_is_refused_from_the_fourth_time_on() -> None:
    progress = after(look("x"), look("x"))
    assert not progress.repeats("look", {"account": "a-1"})
    progress.see(look("x"))
    assert progress.repeats("look", {"account": "a-1"})
    assert not progress.repeats("look", {"account": "a-2"})
    assert not progress.repeats("pay", {"account": "a-1"})
    assert progress.problem() is None


def test_same_call_repeats_also_between_other_calls_and_failures_count() -> None:
    progress = after(look("x"), look("y", "a-2"), look("x"), *seen(OK), look("x"))
    assert progress.repeats("look", {"account": "a-1"})
    assert after(*[look({"code": "GONE"}, status=FAILED)] * 3).repeats("look", {"account": "a-1"})


def test_same_call_with_other_results_does_not_repeat() -> None:
    assert not after(*[look(n) for n in range(9)]).repeats("look", {"account": "a-1"})
    assert not after(look(1), look(2), look(1), look(2)).repeats("look", {"account": "a-1"})
    assert after(look(1), most=1).repeats("look", {"account": "a-1"})


def test_arguments_without_a_canonical_form_are_compared_as_text() -> None:
    strange = float("nan")
    progress = after(*[look("x", account=strange)] * 3)
    assert progress.repeats("look", {"account": strange})
    assert not progress.repeats("look", {"account": 1.5})
    assert after(*[look("x", account="\ud800")] * 3).repeats("look", {"account": "\ud800"})


def test_order_of_keys_makes_no_other_call() -> None:
    first = Observation(1, "look", {"a": 1, "b": 2}, OK, "x")
    assert after(first, most=1).repeats("look", {"b": 2, "a": 1})


def test_refused_repetition_stops_only_when_it_is_ignored() -> None:
    thrice = [look("x")] * 3
    assert after(*thrice, told()).problem() is None
    assert after(*thrice, told(), look("y", "a-2")).problem() is None
    assert after(*thrice, told(), told(account="a-2")).problem() is None
    assert after(*thrice, told(), look("y", "a-2"), told()).problem() is IncidentCode.LOOP_REPEATED
    assert after(*thrice, told("POLICY"), told("POLICY")).problem() is None


def test_three_equal_outputs_in_a_row_stop() -> None:
    def outputs(*said: str) -> IncidentCode | None:
        progress = Progress()
        for n, output in enumerate(said):
            progress.see(look(n), output)
        return progress.problem()

    assert outputs("d", "d") is None
    assert outputs("d", "d", "d") is IncidentCode.LOOP_SAME_OUTPUT
    assert outputs("d", "d", "e", "d") is None
    assert outputs("d", "d", "", "d") is None
    assert outputs("", "", "", "") is None


def test_twelve_steps_without_anything_new_stop() -> None:
    flat = [look("x", n) for n in range(12)]
    assert after(look("x"), *flat[:11]).problem() is None
    assert after(look("x"), *flat).problem() is IncidentCode.NO_PROGRESS
    assert after(look("x"), *flat[:11], look("new"), *flat[:11]).problem() is None
    failed = [look(n, n, FAILED) for n in range(12)]
    assert after(*failed).problem() is IncidentCode.NO_PROGRESS


def test_write_that_took_effect_is_progress_whatever_it_returned() -> None:
    assert after(*[look("done", n) for n in range(30)], wrote=True).problem() is None
    assert after(*[look("done", n, FAILED) for n in range(30)], wrote=True).problem() is IncidentCode.NO_PROGRESS


def test_step_costs_the_same_at_the_three_hundredth(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[object] = []

    def counted(value: object) -> bytes:
        hashed.append(value)
        return fingerprint_bytes(value)

    monkeypatch.setattr(guards, "fingerprint_bytes", counted)
    progress = Progress()
    for n in range(300):
        before = len(hashed)
        progress.see(look(n, n))
        progress.repeats("look", {"account": n})
        progress.problem()
        assert len(hashed) - before == 3


def test_backoff_grows_and_honours_the_other_side() -> None:
    assert [backoff_seconds(n, retry_after=None, jitter=0.5) for n in (1, 2, 3)] == [2, 4, 8]
    assert backoff_seconds(1, retry_after=30, jitter=0.0) == 30
    assert backoff_seconds(1, retry_after=99_999, jitter=0.0) == 600
    assert backoff_seconds(1, retry_after=None, jitter=0.0) == 1.5


def test_transitions_are_exactly_those_of_the_tables() -> None:
    for before in SessionStatus:
        for after in SessionStatus:
            if after in SESSION_TRANSITIONS[before]:
                require_transition(before, after)
            else:
                with pytest.raises(IllegalTransition):
                    require_transition(before, after)
    only_reopened = {s for s in SessionStatus if SESSION_TRANSITIONS[s] == {SessionStatus.QUEUED}}
    assert only_reopened == ENDED
    for state in InvocationState:
        for target in InvocationState:
            if target in INVOCATION_TRANSITIONS[state]:
                require_invocation_transition(state, target)
            else:
                with pytest.raises(IllegalTransition):
                    require_invocation_transition(state, target)


def test_answer_of_a_stopped_session_tells_only_what_is_on_record() -> None:
    history = [*seen(ObservationStatus.OK), *seen(ObservationStatus.FAILED), *seen(ObservationStatus.OK, tool="look")]
    answer = honest_answer(history, IncidentCode.BUDGET_STEPS, writes=frozenset({"pay"}), handed_over=True)
    assert answer.verified == ("pay was done.",)
    assert answer.blocked == ("pay: no",)
    assert answer.message.startswith(IncidentCode.BUDGET_STEPS.words)
    assert answer.left


def test_outcome_is_what_somebody_must_act_on() -> None:
    assert outcome_of({"answered", "refunded", "escalated"}) == "escalated"
    assert outcome_of({"answered", "refunded"}) == "refunded"
    assert outcome_of(set()) == "no action"
