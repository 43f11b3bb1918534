"""A state chart lets through its steps and nothing else, and says what does not hold together."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.registry.planner import Observation, ObservationStatus
from agentops.registry.process import (
    Edge,
    Inadmissible,
    ProcessFacts,
    ProcessSpec,
    Step,
    next_step,
    problems_of_process,
)

NOTHING = ProcessFacts({}, ())


def small(facts: ProcessFacts) -> str:
    return "" if facts.arguments["minor"] <= 100 else "More than 100 needs the other way."


def large(facts: ProcessFacts) -> str:
    return "" if facts.arguments["minor"] > 100 else "So little needs no second look."


def looked(facts: ProcessFacts) -> str:
    return "" if any(seen.tool == "look" for seen in facts.history) else "Look first."


PAY = Edge("pay", "open", "paid", "pay", small, "at most 100")
PAY_MUCH = Edge("pay much", "open", "checked", "pay", large, "more than 100")
TELL = Edge("tell", "paid", "told", "tell", looked, "it was looked up")
SPEC = ProcessSpec(
    name="payment",
    version=3,
    title="Payment",
    initial="open",
    final=frozenset({"told"}),
    edges=(PAY, PAY_MUCH, Edge("check", "checked", "paid", "check"), TELL),
)


def words(spec: ProcessSpec) -> list[str]:
    return list(problems_of_process(spec))


def test_a_chart_names_its_tools_and_states() -> None:
    assert SPEC.tools == {"pay", "check", "tell"}
    assert SPEC.states == ("open", "paid", "checked", "told")


@pytest.mark.parametrize(
    ("state", "tool", "minor", "edge"),
    [
        ("open", "pay", 100, "pay"),
        ("open", "pay", 101, "pay much"),
        ("checked", "check", 0, "check"),
    ],
)
def test_the_first_edge_whose_guard_holds_is_taken(state: str, tool: str, minor: int, edge: str) -> None:
    step = next_step(SPEC, state, tool, ProcessFacts({"minor": minor}, ()))
    assert isinstance(step, Step)
    assert (step.process, step.edge.name) == (SPEC, edge)


def test_a_guard_sees_the_history() -> None:
    seen = Observation(1, "look", {}, ObservationStatus.OK, {})
    assert isinstance(next_step(SPEC, "paid", "tell", ProcessFacts({}, (seen,))), Step)
    assert next_step(SPEC, "paid", "tell", NOTHING) == Inadmissible("Look first.", ("tell",))


@pytest.mark.parametrize(
    ("state", "tool", "expected"),
    [
        ("open", "tell", Inadmissible("Payment stands at 'open', where tell is no step.", ("pay",))),
        ("checked", "pay", Inadmissible("Payment stands at 'checked', where pay is no step.", ("check",))),
        ("told", "tell", Inadmissible("Payment stands at 'told', where tell is no step.", ())),
        ("nowhere", "pay", Inadmissible("Payment stands at 'nowhere', where pay is no step.", ())),
        ("open", "sing", Inadmissible("Payment stands at 'open', where sing is no step.", ("pay",))),
    ],
)
def test_what_is_no_step_is_refused_with_what_is_one(state: str, tool: str, expected: Inadmissible) -> None:
    assert next_step(SPEC, state, tool, NOTHING) == expected


def test_when_no_guard_holds_the_first_says_why() -> None:
    def never(facts: ProcessFacts) -> str:
        return "Never."

    spec = replace(SPEC, edges=(replace(PAY, guard=never), replace(PAY_MUCH, guard=looked)))
    assert next_step(spec, "open", "pay", NOTHING) == Inadmissible("Never.", ("pay",))


@pytest.mark.parametrize("arguments", [{}, {"minor": "much"}, {"minor": None}])
def test_a_guard_that_fails_lets_nothing_through(arguments: dict[str, Any]) -> None:
    found = next_step(SPEC, "open", "pay", ProcessFacts(arguments, ()))
    assert isinstance(found, Inadmissible)
    assert found.words.startswith("The guard of 'pay' failed: ")


def edge(source: str, target: str, name: str = "") -> Edge:
    return Edge(name or f"{source} to {target}", source, target, "pay")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"edges": (*SPEC.edges, edge("told", "paid"))}, []),
        ({"edges": (*SPEC.edges, edge("told", "told"))}, []),
        ({"edges": (*SPEC.edges, replace(TELL, source="checked"))}, ["two edges are named 'tell'"]),
        ({"final": frozenset({"told", "gone"})}, ["the final state 'gone' stands on no edge"]),
        ({"edges": (*SPEC.edges, edge("lost", "told"))}, ["the state 'lost' cannot be reached"]),
        ({"edges": (*SPEC.edges, edge("open", "stuck"))}, ["the state 'stuck' has no way out and is not final"]),
        ({"final": frozenset()}, ["the state 'told' has no way out and is not final"]),
        (
            {"initial": "elsewhere"},
            [
                "the state 'elsewhere' has no way out and is not final",
                *(f"the state '{state}' cannot be reached" for state in ("open", "paid", "checked", "told")),
            ],
        ),
        (
            {"edges": ()},
            ["the final state 'told' stands on no edge", "the state 'open' has no way out and is not final"],
        ),
    ],
)
def test_a_chart_that_does_not_hold_together_is_named(changes: dict[str, Any], expected: list[str]) -> None:
    assert words(replace(SPEC, **changes)) == expected


STATES = st.sampled_from("abcde")
EDGES = st.lists(st.tuples(STATES, STATES, st.sampled_from(["pay", "tell"]), st.booleans()), max_size=12)


@given(EDGES, STATES, st.frozensets(STATES), st.lists(st.sampled_from(["pay", "tell", "sing"]), max_size=20))
def test_a_walk_stays_on_the_edges(
    rows: list[tuple[str, str, str, bool]], initial: str, final: frozenset[str], calls: list[str]
) -> None:
    """Whatever the chart, a step starts where the process stands, bears the called tool, and its guard holds."""
    edges = tuple(
        Edge(str(number), source, target, tool, None if free else (lambda facts: "No."))
        for number, (source, target, tool, free) in enumerate(rows)
    )
    spec = ProcessSpec("any", 1, "Any", initial, final, edges)
    state = initial
    for tool in calls:
        found = next_step(spec, state, tool, NOTHING)
        open_edges = [one for one in edges if one.source == state and one.tool == tool and one.guard is None]
        if isinstance(found, Step):
            assert found.edge == open_edges[0]
            state = found.edge.target
        else:
            assert open_edges == []
            assert set(found.possible) == {one.tool for one in edges if one.source == state}


@given(EDGES, STATES, st.frozensets(STATES))
def test_a_chart_without_problems_leads_somewhere_from_everywhere(
    rows: list[tuple[str, str, str, bool]], initial: str, final: frozenset[str]
) -> None:
    edges = tuple(Edge(str(number), *row[:3]) for number, row in enumerate(rows))
    spec = ProcessSpec("any", 1, "Any", initial, final, edges)
    if words(spec):
        return
    reached = {initial}
    for _ in spec.states:
        reached |= {one.target for one in edges if one.source in reached}
    assert reached == set(spec.states)
    assert final <= reached
    assert all(state in final or any(one.source == state for one in edges) for state in spec.states)
