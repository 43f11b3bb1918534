"""Whatever a tenant's rules say, sound or not, they never make a verdict weaker."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentops.policy.engine import STRENGTH, decide
from agentops.policy.rules import Condition, Effect, Rule, narrow
from agentops.policy.ruleset import compiled
from agentops.policy.vocabulary import VOCABULARY, Type
from tests.policy.rule_sets import LOOK, PAY, WRITE, facts, rule, when


def values_of(path: str) -> st.SearchStrategy[Any]:
    fact = VOCABULARY[path]
    if fact.type is Type.MONEY:
        return st.integers(0, 9_999).map(lambda minor: f"{minor // 100}.{minor % 100:02}")
    if fact.type is Type.FLAG:
        return st.booleans()
    if fact.type in (Type.CHOICE, Type.TEXT):
        return st.sampled_from(sorted(fact.choices) or ["a", "b"])
    return st.integers(fact.low, min(fact.high, 9))


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    path = draw(st.sampled_from(sorted(VOCABULARY)))
    fact = VOCABULARY[path]
    op = draw(st.sampled_from(fact.comparisons))
    value = draw(st.lists(values_of(path), min_size=1, max_size=3) if op == "one of" else values_of(path))
    unit = {Type.MONEY: draw(st.sampled_from(["USD", "EUR"])), Type.PERCENT: "%"}.get(fact.type)
    return when(path, op, value, unit)


RAW = st.builds(
    rule,
    tools=st.lists(st.sampled_from(["pay", "write", "all", "tier:read", "data:financial"]), min_size=1, max_size=2),
    when=st.lists(conditions(), max_size=3),
    effect=st.sampled_from(["ask", "forbid"]),
)
BASE = st.lists(
    st.builds(
        Rule,
        st.just("base"),
        st.sampled_from(Effect),
        st.just("x"),
        st.sampled_from([(), (Condition("session.steps", ">", 2),), (Condition("no.fact", "=", 1),)]),
    ),
    max_size=3,
)
FACTS = st.builds(
    facts,
    st.sampled_from([PAY, WRITE, LOOK]),
    money=st.none() | st.tuples(st.integers(0, 9_999), st.sampled_from(["USD", "EUR", "JPY"])),
)


@settings(max_examples=300)
@given(base=BASE, raw=st.lists(RAW, max_size=4), given_facts=FACTS)
def test_rule_set_never_weakens_a_verdict(base: list[Rule], raw: list[Any], given_facts: dict[str, Any]) -> None:
    """Whatever the rules, sound or not, and whatever the facts, known or missing."""
    found = compiled({"rules": raw}, "d")
    before = decide(given_facts, base)
    after = decide(given_facts, [*base, *found.rules_for(given_facts["tool"])])
    if base and before.reasons[0].rule != "base.default":
        assert STRENGTH[after.effect] <= STRENGTH[before.effect]
    assert after.effect is not Effect.ALLOW or before.effect is Effect.ALLOW


@settings(max_examples=200)
@given(base=BASE, raw=st.lists(RAW, max_size=3), given_facts=FACTS)
def test_narrowed_rules_of_a_tenant_give_the_same_verdict(
    base: list[Rule], raw: list[Any], given_facts: dict[str, Any]
) -> None:
    rules = (*base, *compiled({"rules": raw}, "d").rules_for(given_facts["tool"]))
    assert decide(given_facts, narrow(rules, {"tool": given_facts["tool"]})) == decide(given_facts, rules)
