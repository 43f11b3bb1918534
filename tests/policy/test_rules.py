"""Conditions of a tenant's rules: what they compare, and what counts when nobody knows."""

from typing import Any

import pytest

from agentops.kernel.money import Money
from agentops.policy.engine import decide
from agentops.policy.facts import GrantFacts, Proposed, SessionFacts, Switches, facts_of
from agentops.policy.flow import Flowing
from agentops.policy.risk import risk_of
from agentops.policy.rules import Condition, Effect, NotRecorded, Rule, RuleError
from agentops.policy.vocabulary import NUMBERS, VOCABULARY, Type
from agentops.registry.tool import Preview
from tests.policy.rule_sets import PAY, facts

ALWAYS = Rule("always", Effect.ALLOW, "yes")
ITEMS = [{"sku": "a", "count": 1}, {"sku": "b", "count": 5}]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Condition("session.steps", ">", 2), True),
        (Condition("session.steps", ">=", 4), False),
        (Condition("session.steps", "<", 4), True),
        (Condition("session.steps", "<=", 2), False),
        (Condition("session.steps", "!=", 3), False),
        (Condition("session.steps", "one of", (1, 3)), True),
        (Condition("session.steps", "one of", (1, 2)), False),
        (Condition("tool.tier", "one of", ("read", "write-hard")), True),
        (Condition("session.by_person", "=", False), True),
        (Condition("measures.capacity_share_pct", ">", 30, -1), True),
        (Condition("arguments.to", "=", "ann"), True),
        (Condition("arguments.minor", ">", 500), False),
        (Condition("arguments.items[].count", ">", 4), True),
        (Condition("arguments.items[].count", ">", 5), False),
        (Condition("arguments.empty[].count", ">", 5), False),
        (Condition("origin.to", "=", "untrusted"), True),
        (Condition("origin.to", "one of", ("request", "operator")), False),
        (Condition("origin.items[].sku", "=", "nowhere"), True),
    ],
)
def test_condition_compares_what_is_known(condition: Condition, holds: bool) -> None:
    leaves = [
        ["to", "target", "untrusted", "step 1"],
        ["items[].sku", "label", "record", "step 2"],
        ["items[].sku", "label", "nowhere", ""],
    ]
    given = facts(to="ann", minor=500, items=ITEMS, empty=[], leaves=leaves)
    assert condition.holds(given) is holds


@pytest.mark.parametrize(
    "condition",
    [
        Condition("arguments.speed", "=", "fast"),
        Condition("arguments.speed", "!=", "fast"),
        Condition("arguments.nothing", "=", "x"),
        Condition("arguments.items[].weight", ">", 1),
        Condition("arguments.to.inside", "=", "x"),
        Condition("origin.speed", "=", "request"),
    ],
)
def test_argument_that_is_not_given_counts_against_the_call(condition: Condition) -> None:
    """The tool puts something in its place, and leaving an argument out must not be a way around a rule."""
    given = facts(to="ann", nothing=None, items=ITEMS)
    assert condition.holds(given)


def test_what_a_person_proposes_comes_from_the_operator() -> None:
    given = facts(to="ann")
    given["session"]["by_person"] = True
    assert Condition("origin.to", "=", "operator").holds(given)
    assert not Condition("origin.to", "one of", ("untrusted", "nowhere")).holds(given)


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        (Condition("risk.none", ">", 1), NotRecorded),
        (Condition("risk.score", ">", "1"), RuleError),
        (Condition("risk.score", ">", True), RuleError),
        (Condition("risk.score", "one of", ()), RuleError),
        (Condition("risk.score", "one of", ("1",)), RuleError),
        (Condition("risk.score", "matches", 1), RuleError),
        (Condition("arguments.to", ">", 5), RuleError),
    ],
)
def test_condition_that_cannot_be_evaluated_denies(condition: Condition, error: type[RuleError]) -> None:
    given = facts(to="ann")
    with pytest.raises(error):
        condition.holds(given)
    found = decide(given, [ALWAYS, Rule("broken", Effect.ASK, "ask", (condition,))])
    assert found.effect is Effect.FORBID
    assert found.reasons[0].rule == "broken"


def test_facts_without_arguments_are_older_than_the_rule() -> None:
    given = facts()
    del given["arguments"]
    with pytest.raises(NotRecorded):
        Condition("arguments.to", "=", "ann").holds(given)


def test_missing_fact_of_the_past_asks_and_is_told_apart() -> None:
    broken = Rule("newer", Effect.FORBID, "no", (Condition("rate.tool_hour", ">", 3),))
    found = decide(facts(), [ALWAYS, broken], not_recorded=Effect.ASK)
    assert (found.effect, [reason.recorded for reason in found.reasons]) == (Effect.ASK, [False, True])


def asking(queue: str = "", people: int = 1, *, fires: bool = True) -> Rule:
    return Rule("r", Effect.ASK, "ask", () if fires else (Condition("session.steps", ">", 99),), queue, people)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([asking()], ("", 1)),
        ([asking("legal")], ("legal", 1)),
        ([asking("legal"), asking("payments")], ("legal", 1)),
        ([asking("legal"), asking("payments", 2)], ("payments", 2)),
        ([asking("legal"), asking("", 3)], ("legal", 3)),
        ([asking("legal", 3, fires=False), asking("payments", 2)], ("payments", 2)),
        ([], ("", 1)),
    ],
)
def test_most_people_are_asked_and_the_queue_of_those_who_want_most(
    rules: list[Rule], expected: tuple[str, int]
) -> None:
    found = decide(facts(), [ALWAYS, *rules])
    assert (found.queue, found.people) == expected
    said: dict[str, Any] = found.as_json()
    assert (said.get("queue", ""), said.get("people", 1)) == expected


@pytest.mark.parametrize("path", sorted(VOCABULARY))
def test_every_fact_of_the_vocabulary_is_a_fact_of_a_call(path: str) -> None:
    """A rule about a fact that no call has would deny every call."""
    preview = Preview("Pay.", "customer:ann", money=Money(500, "USD"))
    flow = Flowing("pay", (), frozenset())
    switches = Switches(frozen=False, elevated=True)
    call = Proposed(PAY, GrantFacts("bounded", True), SessionFacts(1, 0), preview, {}, switches, flow=flow)
    known = facts_of(call)
    known["risk"] = risk_of(known).as_facts()
    found: Any = known
    for part in path.split("."):
        found = found[part]
    fact = VOCABULARY[path]
    if fact.type is Type.FLAG:
        assert type(found) is bool
    elif fact.type in NUMBERS:
        assert type(found) is int
        assert found == fact.unknown or fact.low <= found <= fact.high
    else:
        assert isinstance(found, str)
        assert not fact.choices or found in fact.choices
