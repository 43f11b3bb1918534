"""The words that make somebody look twice: from facts of any shape."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.chips import MOST_CHIPS, chips_of, risk_word

MONEY = {"present": True, "minor": 8600, "usual_minor": 4095}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, []),
        ({"flow": {"untrusted": True}}, ["untrusted origin"]),
        ({"flow": {"untrusted": False, "leaves": []}}, []),
        ({"rate": {"first_target": True, "unusual": True}}, ["first-time target", "unusually often"]),
        ({"money": MONEY}, ["2.1 × usual amount"]),
        ({"money": {**MONEY, "usual_minor": 8600}}, []),
        ({"money": {**MONEY, "usual_minor": -1}}, []),
        ({"measures": {"capacity_share_pct": 71, "incident_priority": 1}}, ["71 % of capacity", "P1 incident"]),
        ({"measures": {"change_freeze": 1}}, ["change freeze"]),
        ({"measures": {"change_freeze": 0}}, []),
        ({"measures": {"change_freeze": -1}}, []),
        ({"compliance": {"findings": [["pack"]]}}, ["compliance finding"]),
    ],
)
def test_chips(facts: dict[str, Any], words: list[str]) -> None:
    assert [chip.words for chip in chips_of(facts)] == words


def test_chips_that_are_left_out_are_counted() -> None:
    flow = dict.fromkeys(("untrusted", "unplanned", "exit", "leaks", "chosen", "amount", "repeated"), True)
    chips = chips_of({"flow": flow})
    assert len(chips) == MOST_CHIPS
    assert chips[-1].words == "3 more"


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({}, "high"),
        ({"risk": {"score": None}}, "high"),
        ({"risk": {"score": "10"}}, "high"),
        ({"risk": {"score": 10}}, "low"),
        ({"risk": {"score": 40}}, "medium"),
        ({"risk": {"score": 90}}, "high"),
    ],
)
def test_risk_word_is_high_when_nobody_knows(facts: dict[str, Any], word: str) -> None:
    assert risk_word(facts) == word


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
GROUPS = st.sampled_from(["flow", "rate", "money", "measures", "compliance", "risk"])


@given(st.dictionaries(GROUPS, JUNK))
def test_facts_of_any_shape_are_no_error(facts: dict[str, Any]) -> None:
    assert len(chips_of(facts)) <= MOST_CHIPS
    assert risk_word(facts) in ("low", "medium", "high")
