"""What a tenant's rules make of the measures of a call: a disruption not long ago, a change freeze, and not knowing."""

import pytest

from agentops.policy.engine import decide
from agentops.policy.rule_check import BadRules, read
from agentops.policy.rules import Effect, Rule
from agentops.policy.ruleset import compiled
from tests.policy.rule_sets import HOUSE, facts, rule, text, when

ALLOWED = Rule("base", Effect.ALLOW, "yes")


@pytest.mark.parametrize(
    ("minutes", "freeze", "expected"),
    [
        (30, 0, Effect.ALLOW),
        (1_000_000, 0, Effect.ALLOW),
        (29, 0, Effect.FORBID),
        (0, 0, Effect.FORBID),
        (30, 1, Effect.ASK),
        (29, 1, Effect.FORBID),
        # Nobody knows: the rule fires.
        (-1, 0, Effect.FORBID),
        (30, -1, Effect.ASK),
    ],
)
def test_rule_looks_at_disruptions_and_freezes(minutes: int, freeze: int, expected: Effect) -> None:
    soon = {**rule(id="soon", when=[when("measures.minutes_since_disruption", "<", 30)]), "effect": "forbid"}
    frozen = {**rule(id="frozen", when=[when("measures.change_freeze", "=", 1)]), "effect": "ask"}
    found = compiled(read(text(soon, frozen), HOUSE), "d")
    given_facts = facts()
    given_facts["measures"] |= {"minutes_since_disruption": minutes, "change_freeze": freeze}
    assert decide(given_facts, [ALLOWED, *found.rules_for(given_facts["tool"])]).effect is expected


@pytest.mark.parametrize(("fact", "value"), [("minutes_since_disruption", 1_000_001), ("change_freeze", 2)])
def test_rule_compares_no_measure_beyond_its_bounds(fact: str, value: int) -> None:
    with pytest.raises(BadRules) as caught:
        read(text(rule(when=[when(f"measures.{fact}", "=", value)])), HOUSE)
    (problem,) = caught.value.problems
    assert f"measures.{fact} lies between 0 and {value - 1}, not at {value}." in problem
