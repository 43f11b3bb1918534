import pytest

from agentops.kernel.errors import FailureKind
from agentops.llm.scripted import ScriptedPlanner, ScriptEnded
from agentops.registry.planner import FinalAnswer, Malformed, PlannerUnavailable, ToolCall, Turn, Usage
from tests.llm.contexts import make_context, make_observation

CALL = ToolCall("look_up_order", {"order_id": "#W1"})
DONE = FinalAnswer("done")


def test_lines_follow_the_length_of_the_history():
    planner = ScriptedPlanner([CALL, Malformed("two calls"), DONE], name="demo")
    histories = [tuple(make_observation(step) for step in range(count)) for count in (0, 2, 1, 0)]
    said = [planner.propose(make_context(history=history)) for history in histories]
    assert [turn.proposal for turn in said] == [CALL, DONE, Malformed("two calls"), CALL]
    assert said[0] == Turn(CALL, Usage(model="demo"))
    assert planner.name == "demo"


def test_whole_turns_and_costs_are_given_as_written():
    turn = Turn(DONE, Usage(model="dear", cost_micro=5), raw="{}")
    planner = ScriptedPlanner([turn, DONE], usage=Usage(model="script", input_tokens=7, cost_micro=3))
    assert planner.propose(make_context()) == turn
    second = planner.propose(make_context(history=(make_observation(1),)))
    assert second.usage == Usage(model="script", input_tokens=7, cost_micro=3)


def test_callable_sees_the_context():
    planner = ScriptedPlanner(lambda context: FinalAnswer(context.subject.title))
    assert planner.propose(make_context()).proposal == FinalAnswer("Broken lamp")


def test_unavailable_line_is_raised():
    planner = ScriptedPlanner([PlannerUnavailable(FailureKind.RATE_LIMIT, "slow down", retry_after=3)])
    with pytest.raises(PlannerUnavailable) as caught:
        planner.propose(make_context())
    assert (caught.value.kind, caught.value.retry_after) == (FailureKind.RATE_LIMIT, 3)


def test_end_of_script_is_an_error():
    with pytest.raises(ScriptEnded, match="no line 1"):
        ScriptedPlanner([CALL]).propose(make_context(history=(make_observation(1),)))
