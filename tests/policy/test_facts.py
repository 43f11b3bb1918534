"""What the ledger keeps of the facts of a call is enough to have them all back."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.kernel.canonical import dumps, loads
from agentops.kernel.money import Money
from agentops.policy.compliance import Finding, review_facts
from agentops.policy.facts import (
    MEASURES,
    UNRATED,
    GrantFacts,
    Proposed,
    SessionFacts,
    Spent,
    Switches,
    facts_of,
    recorded,
    restored,
)
from agentops.policy.flow import ROWS, Flowing, Leaf
from agentops.policy.risk import risk_of
from agentops.policy.rules import Effect
from agentops.policy.traces import Origin, Trace
from agentops.policy.vocabulary import VOCABULARY
from agentops.registry.flow import Argument, Flow, Kind, Sends
from agentops.registry.tool import Dial, Preview, Tier, ToolSpec
from tests.policy.rule_sets import PAY

FLAG, COUNT = st.booleans(), st.integers(0, 3)
TOOLS: st.SearchStrategy[ToolSpec] = st.builds(
    replace,
    st.just(PAY),
    tier=st.sampled_from(Tier),
    destructive=FLAG,
    irreversible=FLAG,
    undo_call=st.sampled_from([None, lambda arguments, result: None]),
    flow=st.builds(Flow, st.sampled_from(["", "pay"]), st.sampled_from(Sends)),
)
PREVIEWS = st.builds(
    Preview,
    st.just("Pay."),
    st.sampled_from(["", "customer:ann"]),
    money=st.none() | st.builds(Money, st.integers(1, 10**6), st.sampled_from(["USD", "JPY"])),
    measures=st.dictionaries(st.sampled_from(MEASURES), st.integers(-1, 2)),
)
LEAVES = st.builds(
    Leaf,
    st.just("to"),
    st.just("ann"),
    st.builds(Argument, st.sampled_from(Kind)),
    st.builds(Trace, st.sampled_from(Origin), st.just("request"), span=st.none() | st.just((0, 3))),
)
CALLS = st.builds(
    Proposed,
    tool=TOOLS,
    grant=st.none() | st.builds(GrantFacts, st.sampled_from([dial.value for dial in Dial]), FLAG),
    session=st.builds(SessionFacts, COUNT, COUNT, COUNT, FLAG),
    preview=st.none() | PREVIEWS,
    arguments=st.just({"to": "ann", "minor": 5}),
    switches=st.builds(Switches, FLAG, FLAG),
    spent=st.builds(Spent, COUNT, COUNT, COUNT, st.none() | COUNT),
    flow=st.builds(
        Flowing,
        st.sampled_from(["", "pay"]),
        st.lists(LEAVES, max_size=2).map(tuple),
        st.frozensets(st.sampled_from(sorted(ROWS))),
        FLAG,
    ),
    rate=st.fixed_dictionaries({name: FLAG if isinstance(usual, bool) else COUNT for name, usual in UNRATED.items()}),
    requester_benefits=FLAG,
)
FINDING = Finding("pack", 1, "rule", "to", 0, 3, "No.", Effect.ASK)
FINDINGS = st.lists(st.builds(replace, st.just(FINDING), effect=st.sampled_from(Effect)), max_size=2)


@given(CALLS, FINDINGS, FLAG)
def test_recorded_facts_are_restored(call: Proposed, findings: list[Finding], with_rules: bool) -> None:
    facts = facts_of(call)
    facts |= {"risk": risk_of(facts).as_facts(), "compliance": review_facts(findings)}
    if with_rules:
        facts["rules"] = {"digest": "d"}
    kept: Any = loads(dumps(recorded(facts)))
    facts["risk"]["factors"] = [[name, points] for name, points, _ in facts["risk"]["factors"]]
    assert _exactly(restored(kept, call.arguments)) == _exactly(facts)


def _exactly(facts: dict[str, Any]) -> str:
    """As text, in which 0 and False are two things."""
    return json.dumps(facts, sort_keys=True)


def test_what_is_as_usual_is_not_kept() -> None:
    tool = replace(PAY, undo_call=lambda arguments, result: None)
    switches = Switches(frozen=False, elevated=True)
    facts = facts_of(Proposed(tool, GrantFacts("bounded", True), SessionFacts(0, 0), None, {"to": "ann"}, switches))
    kept = recorded({**facts, "risk": risk_of(facts).as_facts()})
    assert set(kept) == {"form", "tool", "grant", "session", "target", "money", "flow", "risk"}
    assert set(kept["tool"]) == {"name", "version", "tier", "write", "data_class", "capability"}
    assert kept["flow"] == {"capability": "", "leaves": []}


@pytest.mark.parametrize("older", [{}, {"form": 1}])
def test_older_facts_stay_without_what_they_did_not_know(older: dict[str, Any]) -> None:
    assert restored({**older, "tool": {"tier": "read"}}, {"a": 1}) == {"tool": {"tier": "read"}, "arguments": {"a": 1}}


def test_facts_of_the_second_form_know_nothing_of_people() -> None:
    facts = restored({"form": 2, "tool": {"tier": "read"}}, {})
    assert "people" not in facts
    assert (facts["session"], facts["tool"]["undoable"]) == ({"priority": 1, "by_person": False}, True)
    assert restored({"form": 3}, {})["people"] == {"requester_benefits": False}


@pytest.mark.parametrize("form", [2, 3])
def test_facts_of_the_third_form_knew_two_measures(form: int) -> None:
    facts = restored({"form": form, "measures": {"capacity_share_pct": 40}}, {})
    assert facts["measures"] == {"capacity_share_pct": 40, "incident_priority": -1}


def test_facts_of_this_form_know_of_disruptions_and_freezes() -> None:
    facts = restored({"form": 4, "measures": {"change_freeze": 1}}, {})
    unknown = {"capacity_share_pct": -1, "incident_priority": -1, "minutes_since_disruption": -1}
    assert facts["measures"] == {**unknown, "change_freeze": 1}


def test_every_measure_can_be_compared_and_may_be_unknown() -> None:
    assert [VOCABULARY[f"measures.{name}"].unknown for name in MEASURES] == [-1] * len(MEASURES)
