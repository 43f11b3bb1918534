"""Stops, back-off and state tables, without a database."""

import pytest

from agentops.kernel.errors import IncidentCode
from agentops.registry.planner import Observation, ObservationStatus
from agentops.runtime.answers import honest_answer, outcome_of
from agentops.runtime.guards import Limits, backoff_seconds, going_in_circles, over_budget
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

LIMITS = Limits(max_steps=3, max_seconds=10, max_cost_micro=100)


def seen(*statuses: ObservationStatus, tool: str = "pay", arguments: object = None) -> list[Observation]:
    return [
        Observation(n, tool, arguments or {"n": n}, status, {"message": "no"})
        for n, status in enumerate(statuses, start=1)
    ]


@pytest.mark.parametrize(
    ("used", "code"),
    [
        ((2, 9_999, 99), None),
        ((3, 0, 0), IncidentCode.BUDGET_STEPS),
        ((0, 10_000, 0), IncidentCode.BUDGET_TIME),
        ((0, 0, 100), IncidentCode.BUDGET_COST),
    ],
)
def test_budget_is_named_when_used_up(used: tuple[int, int, int], code: IncidentCode | None) -> None:
    steps, worked_ms, cost_micro = used
    assert over_budget(LIMITS, steps=steps, worked_ms=worked_ms, cost_micro=cost_micro) is code


def test_circles_are_seen() -> None:
    refused, ok = ObservationStatus.REFUSED, ObservationStatus.OK
    assert going_in_circles([]) is None
    assert going_in_circles(seen(*[refused] * 5)) is None
    assert going_in_circles(seen(*[refused] * 6)) is IncidentCode.LOOP_REFUSED
    assert going_in_circles(seen(*[refused] * 5, ok)) is None
    same = {"x": 1}
    assert going_in_circles(seen(refused, refused, arguments=same)) is None
    assert going_in_circles(seen(refused, ok, refused, ok, refused, arguments=same)) is IncidentCode.LOOP_REFUSED
    assert going_in_circles(seen(refused, tool="")) is None
    assert going_in_circles(seen(refused, refused, tool="")) is IncidentCode.MODEL_MALFORMED
    assert going_in_circles(seen(ObservationStatus.UNKNOWN, ok)) is IncidentCode.OUTCOME_UNKNOWN


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
