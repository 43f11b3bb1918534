"""Decisions are a pure function of facts."""

import itertools
from typing import Any

import pytest

from agentops.policy.baseline import BASELINE, Limit, covers, threshold_rules
from agentops.policy.engine import Verdict, decide
from agentops.policy.flow import ROWS
from agentops.policy.rules import Condition, Effect, Rule, narrow
from agentops.registry.tool import Dial, Tier

LIMIT = Limit("money.customer_day_minor", ">", 2500, "USD", "ask", "More than $25.00 a day.")
ALWAYS = Rule("always", Effect.ALLOW, "yes")


def facts(
    *,
    tier: Tier = Tier.WRITE_HARD,
    dial: Dial | None = Dial.BOUNDED,
    minor: int | None = None,
    moved: int = 0,
    currency: str = "USD",
    limits: tuple[Limit, ...] = (LIMIT,),
    **tool: bool,
) -> dict[str, Any]:
    money: dict[str, Any] = {"present": False}
    if minor is not None:
        money = {"present": True, "minor": minor, "currency": currency, "customer_day_minor": moved + minor}
    return {
        "tool": {
            "tier": tier.value,
            "write": tier is not Tier.READ,
            "irreversible": False,
            "destructive": False,
            "frozen": False,
            "elevated": True,
            **tool,
        },
        "grant": {
            "present": dial is not None,
            "dial": dial.value if dial else "",
            "bounded_here": covers(limits, currency=currency if minor is not None else None),
        },
        "money": money,
        "people": {"requester_benefits": False},
        "flow": dict.fromkeys(ROWS, False),
        "rate": {"forbid": False, "ask": False},
        "compliance": {"forbid": False, "ask": False},
    }


def verdict(limits: tuple[Limit, ...] = (LIMIT,), **changes: Any) -> Verdict:
    return decide(facts(limits=limits, **changes), BASELINE + threshold_rules("pay", limits))


@pytest.mark.parametrize(
    ("changes", "effect"),
    [
        ({"minor": 2500}, Effect.ALLOW),
        ({"minor": 2501}, Effect.ASK),
        ({"minor": 1, "moved": 2500}, Effect.ASK),
        ({"minor": 1, "moved": 2499}, Effect.ALLOW),
        ({"minor": 1, "currency": "EUR"}, Effect.ASK),
        ({"minor": 1, "limits": ()}, Effect.ASK),
        ({"limits": ()}, Effect.ASK),
        ({"tier": Tier.WRITE_SOFT, "limits": ()}, Effect.ALLOW),
        ({"minor": 1, "dial": None}, Effect.FORBID),
        ({"minor": 1, "dial": Dial.OBSERVE}, Effect.FORBID),
        ({"minor": 1, "dial": Dial.SUGGEST}, Effect.FORBID),
        ({"minor": 1, "dial": Dial.ASK}, Effect.ASK),
        ({"minor": 1, "dial": Dial.AUTONOMOUS}, Effect.ALLOW),
        ({"minor": 2501, "dial": Dial.AUTONOMOUS}, Effect.ASK),
        ({"minor": 1, "irreversible": True}, Effect.ASK),
        ({"minor": 1, "frozen": True}, Effect.FORBID),
        ({"minor": 1, "elevated": False}, Effect.FORBID),
        ({"tier": Tier.READ, "frozen": True}, Effect.FORBID),
        ({"dial": Dial.AUTONOMOUS, "destructive": True, "limits": ()}, Effect.ASK),
        ({"tier": Tier.READ, "dial": Dial.OBSERVE, "limits": ()}, Effect.ALLOW),
        ({"tier": Tier.READ, "dial": None, "limits": ()}, Effect.FORBID),
    ],
)
def test_dial_and_limits_decide(changes: dict[str, Any], effect: Effect) -> None:
    assert verdict(**changes).effect is effect


def test_forbid_beats_ask_beats_allow_in_any_order() -> None:
    rules = [ALWAYS, Rule("ask", Effect.ASK, "ask"), Rule("no", Effect.FORBID, "no")]
    for order in itertools.permutations(rules):
        found = decide({}, order)
        assert found.effect is Effect.FORBID
        assert [reason.rule for reason in found.reasons] == ["no", "ask", "always"]


def test_nothing_that_matches_denies() -> None:
    assert decide({}, []).effect is Effect.FORBID
    assert decide({"a": 1}, [Rule("r", Effect.ALLOW, "yes", (Condition("a", "=", 2),))]).effect is Effect.FORBID


@pytest.mark.parametrize(
    "condition",
    [
        Condition("missing", ">", 1),
        Condition("a.b", ">", 1),
        Condition("a", "~", 1),
        Condition("a", ">", "1"),
        Condition("a", "=", True),
    ],
)
def test_rule_that_errors_denies(condition: Condition) -> None:
    found = decide({"a": 1}, [ALWAYS, Rule("broken", Effect.ALLOW, "yes", (condition,))])
    assert found.effect is Effect.FORBID
    assert found.reasons[0].rule == "broken"


def test_unknown_effect_of_a_stored_threshold_is_an_error_not_an_allowance() -> None:
    with pytest.raises(ValueError, match="perhaps"):
        threshold_rules("pay", [Limit("money.minor", ">", 1, "USD", "perhaps", "")])


@pytest.mark.parametrize("known", [("tool",), ("grant",), ("tool", "grant"), ("money",), ()])
def test_narrowed_rules_give_the_same_verdict(known: tuple[str, ...]) -> None:
    """Whatever is known beforehand, over every combination of what the tests above vary."""
    rules = BASELINE + threshold_rules("pay", (LIMIT,))
    for tier, dial, minor, moved, flag in itertools.product(
        Tier, (None, *Dial), (None, 1, 2501), (0, 2500), (None, "frozen", "irreversible", "destructive")
    ):
        given = facts(tier=tier, dial=dial, minor=minor, moved=moved, **({flag: True} if flag else {}))
        narrowed = narrow(rules, {name: given[name] for name in known})
        assert decide(given, narrowed) == decide(given, rules)
        assert len(narrowed) <= len(rules)


def test_narrowing_keeps_what_an_earlier_condition_decides() -> None:
    broken = Rule("broken", Effect.ALLOW, "x", (Condition("money.none", "=", 1), Condition("tool.write", "=", False)))
    given = facts()
    assert decide(given, narrow((broken,), {"tool": given["tool"]})) == decide(given, (broken,))


@pytest.mark.parametrize(("share", "fires"), [(20, False), (26, True), (-1, True)])
def test_a_measure_that_nobody_knows_is_beyond_the_limit_of_a_grant(share: int, fires: bool) -> None:
    [rule] = threshold_rules("pay", [Limit("measures.capacity_share_pct", ">", 25, "", "ask", "Too much.")])
    assert rule.fires({"measures": {"capacity_share_pct": share}}) is fires
