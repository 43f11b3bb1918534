"""The score of a proposal: documented, explained, and never lower because something is worse."""

import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.policy.evidence import Origin
from agentops.policy.flow import ROWS, SAID
from agentops.policy.risk import (
    CONTRIBUTIONS,
    HIGH_FROM,
    MEDIUM_FROM,
    RISK_VERSION,
    ROW_POINTS,
    Level,
    level_of,
    risk_of,
    table,
)
from tests.factories.effort import lines_of

Facts = dict[str, Any]
PAGE = Path(__file__).parents[2] / "docs/design/risk.md"

TIERS = ["read", "write-soft", "write-hard"]
DATA = ["public", "internal", "personal", "financial"]
SENDS = ["nowhere", "subject", "outside"]
ORIGINS = [*(origin.value for origin in Origin if origin in SAID), *(o.value for o in Origin if o not in SAID)]


def facts(**changes: Any) -> Facts:
    """Facts of a refund of $20.00 that is asked for, usual and can be taken back; ``money_minor=…`` changes one."""
    made: Facts = {
        "tool": {
            "tier": "write-hard",
            "irreversible": False,
            "undoable": True,
            "destructive": False,
            "data_class": "financial",
            "sends": "nowhere",
        },
        "session": {"by_person": False},
        "target": "customer:c-1",
        "money": {
            "present": True,
            "minor": 2000,
            "currency": "USD",
            "customer_day_minor": 2000,
            "usual_minor": 2000,
        },
        "measures": {"capacity_share_pct": -1, "incident_priority": -1},
        "rate": {"first_target": False, "unusual": False},
        "flow": {
            **dict.fromkeys(ROWS, False),
            "untrusted": False,
            "chosen": False,
            "leaves": [["order", "ref", "request", "request"]],
        },
    }
    for name, value in changes.items():
        group, _, fact = name.partition("_")
        if fact:
            made[group][fact] = value
        else:
            made[group] = value
    return made


READ = facts(
    tool={
        "tier": "read",
        "irreversible": False,
        "undoable": False,
        "destructive": False,
        "data_class": "public",
        "sends": "nowhere",
    },
    money={"present": False},
    target="",
    flow_leaves=[],
)


def points(**changes: Any) -> dict[str, int]:
    return {factor.name: factor.points for factor in risk_of(facts(**changes)).factors}


def test_a_score_is_the_sum_of_its_factors() -> None:
    risk = risk_of(facts())
    assert [(factor.name, factor.points) for factor in risk.factors] == [
        ("tier", 30),
        ("data", 8),
        ("amount", 5),
        ("first_target", -3),
        ("reversibility", -5),
        ("request", -5),
    ]
    assert (risk.score, level_of(risk.score)) == (30, Level.LOW)
    assert risk.as_facts() == {
        "score": 30,
        "version": RISK_VERSION,
        "factors": [[factor.name, factor.points, factor.words] for factor in risk.factors],
    }


def test_a_read_in_the_house_has_none() -> None:
    assert risk_of(READ).as_facts() == {"score": 0, "version": RISK_VERSION, "factors": []}


def test_nothing_known_is_the_highest_score() -> None:
    assert risk_of({}).score == 100
    assert risk_of({"tool": 7, "money": [], "rate": None, "flow": "all fine", "measures": True}).score == 100


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (0, Level.LOW),
        (MEDIUM_FROM - 1, Level.LOW),
        (MEDIUM_FROM, Level.MEDIUM),
        (HIGH_FROM - 1, Level.MEDIUM),
        (HIGH_FROM, Level.HIGH),
        (100, Level.HIGH),
        (None, Level.HIGH),
    ],
)
def test_levels(score: int | None, level: Level) -> None:
    assert level_of(score) is level


@pytest.mark.parametrize(
    ("minor", "day", "currency", "expected"),
    [
        (0, 0, "USD", 5),
        (2500, 2500, "USD", 5),
        (2501, 2501, "USD", 8),
        (10_001, 10_001, "USD", 12),
        (50_001, 50_001, "USD", 16),
        (100_001, 100_001, "USD", 20),
        (100, 100_001, "USD", 20),  # many small ones for one target
        (-100_001, -100_001, "USD", 20),
        (1_001, 1_001, "JPY", 20),
        (25_000, 25_000, "KWD", 5),
    ],
)
def test_an_amount_counts_in_whole_units_of_its_currency(minor: int, day: int, currency: str, expected: int) -> None:
    assert points(money_minor=minor, money_customer_day_minor=day, money_currency=currency)["amount"] == expected


@pytest.mark.parametrize(
    ("usual", "expected"),
    [(4000, -5), (3999, 0), (1000, 0), (999, 5), (400, 5), (399, 10), (200, 10), (199, 15), (0, 15), (-1, 15)],
)
def test_an_amount_counts_against_what_is_usual(usual: int, expected: int) -> None:
    assert points(money_usual_minor=usual).get("usual", 0) == expected


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({"tool_irreversible": True}, "reversibility", 20),
        ({"tool_undoable": False}, "reversibility", 5),
        ({"tool_destructive": True}, "destructive", 15),
        ({"tool_sends": "outside"}, "sends", 12),
        ({"rate_first_target": True}, "first_target", 8),
        ({"rate_unusual": True}, "frequency", 15),
        ({"measures": {"capacity_share_pct": 25, "incident_priority": -1}}, "capacity", 10),
        ({"measures": {"capacity_share_pct": -1, "incident_priority": 1}}, "incident", 10),
        ({"flow_untrusted": True}, "untrusted", 15),
        ({"flow_chosen": True}, "chosen", 10),
        ({"flow_leaves": [["order", "ref", "record", "find_order"]]}, "request", 0),
        ({"session_by_person": True}, "person", -10),
        *(({f"flow_{row}": True}, f"flow.{row}", worth) for row, worth in ROW_POINTS.items()),
    ],
)
def test_each_fact_counts(changes: Facts, name: str, expected: int) -> None:
    before, after = points(), points(**changes)
    assert after.pop(name, 0) == expected
    before.pop(name, 0)
    assert after == before


def test_every_row_of_the_flow_has_its_points() -> None:
    assert set(ROW_POINTS) == set(ROWS)


def test_the_page_lists_every_factor() -> None:
    page = PAGE.read_text()
    rows = re.findall(r"^\| `([a-z._]+)` \| ([+-]\d+) \| (.+) \|$", page, re.MULTILINE)
    assert [(name, int(worth), words) for name, worth, words in rows] == [
        (factor.name, factor.points, factor.words) for factor in table()
    ]
    assert f"## Version {RISK_VERSION}" in page
    bounds = f"| low | 0 to {MEDIUM_FROM - 1} |\n| medium | {MEDIUM_FROM} to {HIGH_FROM - 1} |\n| high | {HIGH_FROM} to"
    assert bounds in page


# Worse means further along one of these, from harmless to worst; None takes the fact away.
SCALES: dict[str, tuple[Any, ...]] = {
    "tool.tier": (*TIERS, "write-terrible", None),
    "tool.irreversible": (False, True, "no", None),
    "tool.undoable": (True, False, "yes", None),
    "tool.destructive": (False, True, None),
    "tool.data_class": (*DATA, "secret", None),
    "tool.sends": (*SENDS, "everywhere", None),
    "money.present": (False, True),
    "money.minor": (0, 1, 2500, 2501, 9_999, 100_000, 10**9, "much", None),
    "money.customer_day_minor": (0, 1, 2500, 2501, 50_001, 10**9, None),
    "money.usual_minor": (10**9, 5_000, 2_500, 1_000, 1, 0, -1, None),
    "measures.capacity_share_pct": (-1, 0, 9, 10, 30, 50, 80, 100, None),
    "measures.incident_priority": (-1, 4, 3, 2, 1, 0, None),
    "rate.first_target": (False, True, 0, None),
    "rate.unusual": (False, True, None),
    "flow.untrusted": (False, True, None),
    "flow.chosen": (False, True, None),
    **{f"flow.{row}": (False, True, None) for row in ROWS},
    "session.by_person": (True, False, "perhaps", None),
}


def put(made: Facts, path: str, value: Any) -> None:
    group, fact = path.split(".")
    if value is None:
        made[group].pop(fact, None)
    else:
        made[group][fact] = value


@st.composite
def positions(draw: Callable[[st.SearchStrategy[int]], int]) -> dict[str, int]:
    return {path: draw(st.integers(0, len(scale) - 1)) for path, scale in SCALES.items()}


@given(positions(), st.sampled_from(sorted(SCALES)), st.integers(1, 9), st.lists(st.sampled_from(ORIGINS), max_size=3))
def test_making_one_fact_worse_never_lowers_the_score(
    at: dict[str, int], path: str, further: int, origins: list[str]
) -> None:
    before = facts(flow_leaves=[["a", "value", origin, ""] for origin in origins])
    for other, index in at.items():
        put(before, other, SCALES[other][index])
    after = deepcopy(before)
    put(after, path, SCALES[path][min(at[path] + further, len(SCALES[path]) - 1)])
    assert risk_of(before).score <= risk_of(after).score
    for leaf in before["flow"]["leaves"]:
        leaf[2] = Origin.NOWHERE.value
    assert risk_of(before).score >= risk_of({**before, "session": {"by_person": True}}).score


@given(st.lists(st.sampled_from(ORIGINS), min_size=1, max_size=4), st.data())
def test_a_worse_origin_never_lowers_the_score(origins: list[str], data: st.DataObject) -> None:
    changed = data.draw(st.integers(0, len(origins) - 1))
    worse = data.draw(st.integers(ORIGINS.index(origins[changed]), len(ORIGINS) - 1))
    after = [*origins]
    after[changed] = ORIGINS[worse]
    one, other = ([["a", "value", origin, ""] for origin in those] for those in (origins, after))
    assert risk_of(facts(flow_leaves=one)).score <= risk_of(facts(flow_leaves=other)).score


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5))
def test_whatever_a_fact_is_there_is_a_score(value: Any) -> None:
    for path in SCALES:
        made = facts()
        group, fact = path.split(".")
        made[group][fact] = value
        assert 0 <= risk_of(made).score <= 100
        assert risk_of({**made, group: value}).score <= 100


def test_the_worst_of_a_contribution_is_its_heaviest_factor() -> None:
    worst = {c.worst.name: c.worst.points for c in CONTRIBUTIONS if c.worst is not None}
    assert worst == {
        "tier": 30,
        "amount": 20,
        "usual": 15,
        "reversibility": 20,
        "destructive": 15,
        "data": 8,
        "sends": 12,
        "first_target": 8,
        "frequency": 15,
        "capacity": 20,
        "incident": 15,
        "untrusted": 15,
        "chosen": 10,
    }


def test_a_score_is_little_work() -> None:
    assert lines_of(lambda: risk_of(facts()).as_facts()) < 300
    many = facts(flow_leaves=[["order", "ref", "nowhere", ""]] * 10_000)
    assert lines_of(lambda: risk_of(many).as_facts()) < 300
