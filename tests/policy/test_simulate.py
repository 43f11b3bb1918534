"""Decisions of the past made anew: what is counted, and what a fact that nobody recorded comes to."""

import weakref
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from agentops.kernel.canonical import canonical_bytes
from agentops.policy.rule_check import read
from agentops.policy.rules import Effect
from agentops.policy.ruleset import NO_RULES, TenantRules, compiled
from agentops.policy.simulate import MOST_EXAMPLES, Outcome, Record, Summary, exchanged, simulate
from tests.policy.rule_sets import HOUSE, facts, rule, text, when

RAN, ASKED, REFUSED = Effect.ALLOW, Effect.ASK, Effect.FORBID
DIAL = ("dial.bounded", RAN, "Within limits.")
LIMIT = ("threshold.pay.1", ASKED, "More than $25.00.")
OLD_RULE = ("tenant.old", ASKED, "The rule of then.")


def record(n: int = 0, *, minor: int | None = 6000, effect: Effect = RAN, **changes: Any) -> Record:
    money = None if minor is None else (minor, "USD")
    reasons = (DIAL,) if effect is RAN else (LIMIT, DIAL)
    made = Record(("s", n), f"i-{n}", "v", "pay", facts(money=money), effect, reasons)
    return replace(made, **changes)


def tried(*raw: Any) -> TenantRules:
    return compiled(read(text(*raw), HOUSE), "d")


def counts(summary: Summary) -> dict[tuple[Effect, Effect], int]:
    return {key: cell.count for key, cell in summary.matrix.items()}


def test_what_would_change_is_counted_in_calls_and_money() -> None:
    records = [
        record(0, undone=True),
        record(1, minor=4000),
        record(2, effect=ASKED, outcome=Outcome.APPROVED),
        record(3, effect=ASKED, outcome=Outcome.REJECTED, minor=100),
        record(4, minor=None),
        record(5, facts=facts(money=(7000, "EUR"))),
    ]
    found = simulate(records, exchanged(tried(rule())))
    assert found.as_json() == {
        "total": 6,
        "changed": 2,
        "matrix": {
            "ran>ran": cell(2, {"USD": 4000}),
            "ran>asked": cell(1, {"USD": 6000}, undone=1, examples=[["s", 0, "i-0"]]),
            "ran>refused": cell(1, {"EUR": 7000}, examples=[["s", 5, "i-5"]]),
            "asked>asked": cell(2, {"USD": 6100}, outcomes={"approved": 1, "rejected": 1}),
        },
        "tools": {
            "pay": {
                "ran>ran": cell(2, {"USD": 4000}),
                "ran>asked": cell(1, {"USD": 6000}, undone=1),
                "ran>refused": cell(1, {"EUR": 7000}),
                "asked>asked": cell(2, {"USD": 6100}, outcomes={"approved": 1, "rejected": 1}),
            }
        },
        "rules": {
            "dial.bounded": {"fired": 6, "new": 0, "not_recorded": 0},
            "tenant.big": {"fired": 2, "new": 2, "not_recorded": 0},
            "tenant.currency": {"fired": 1, "new": 1, "not_recorded": 0},
            "threshold.pay.1": {"fired": 2, "new": 0, "not_recorded": 0},
        },
    }
    canonical_bytes(found.as_json())


def cell(
    count: int,
    money: dict[str, int],
    *,
    undone: int = 0,
    outcomes: dict[str, int] | None = None,
    examples: list[Any] | None = None,
) -> dict[str, Any]:
    return {
        "count": count,
        "money": money,
        "not_recorded": 0,
        "outcomes": outcomes or {},
        "undone": undone,
        "examples": examples or [],
    }


def test_rules_of_then_are_taken_out() -> None:
    then = record(effect=ASKED, reasons=(OLD_RULE, DIAL), outcome=Outcome.REJECTED)
    found = simulate([then], exchanged(NO_RULES))
    assert counts(found) == {(ASKED, RAN): 1}
    assert found.cell(ASKED, RAN).outcomes == {"rejected": 1}
    assert "tenant.old" not in found.rules


def test_nothing_changes_without_other_rules() -> None:
    records = [record(0), record(1, effect=ASKED), record(2, effect=REFUSED, reasons=(("x", REFUSED, "no"), DIAL))]
    found = simulate(records, exchanged(NO_RULES))
    assert counts(found) == {(RAN, RAN): 1, (ASKED, ASKED): 1, (REFUSED, REFUSED): 1}
    assert found.changed == 0


@pytest.mark.parametrize("effect", ["ask", "forbid"])
def test_fact_that_was_not_recorded_would_ask_and_is_told_apart(effect: str) -> None:
    older = record()
    rate = tried(rule(when=[when("rate.tool_hour", ">", 3)], effect=effect))
    found = simulate([older], exchanged(rate))
    assert counts(found) == {(RAN, ASKED): 1}
    assert found.cell(RAN, ASKED).not_recorded == 1
    assert (found.rules["tenant.big"].fired, found.rules["tenant.big"].not_recorded) == (0, 1)


def test_missing_fact_behind_a_refusal_decides_nothing() -> None:
    refused = record(effect=REFUSED, reasons=(("tool.frozen", REFUSED, "Frozen."), DIAL))
    rate = tried(rule(when=[when("rate.tool_hour", ">", 3)]))
    found = simulate([refused], exchanged(rate))
    assert (counts(found), found.cell(REFUSED, REFUSED).not_recorded) == ({(REFUSED, REFUSED): 1}, 0)


def test_record_without_any_facts_never_becomes_an_allowance() -> None:
    empty = record(facts={}, effect=REFUSED, reasons=(("x", REFUSED, "no"),))
    asked = record(1, facts={}, effect=ASKED)
    found = simulate([empty, asked], exchanged(tried(rule(tools=["all"]))))
    assert counts(found) == {(REFUSED, REFUSED): 1, (ASKED, ASKED): 1}


def test_examples_are_few_and_only_of_what_changes() -> None:
    found = simulate([record(n) for n in range(20)], exchanged(tried(rule())))
    assert found.cell(RAN, ASKED).examples == [("s", n, f"i-{n}") for n in range(MOST_EXAMPLES)]


def test_memory_does_not_grow_with_the_records() -> None:
    """The records come one by one, and none but the last is still held when the next one comes."""
    made: list[weakref.ref[Record]] = []
    held: list[int] = []

    class Watched(Record):
        """A record that can be watched, which one with slots alone cannot."""

    def records() -> Iterator[Record]:
        for n in range(500):
            held.append(sum(ref() is not None for ref in made))
            plain = record(n, reasons=(DIAL, (f"flow.{n}", ASKED, "words")))
            watched = Watched(**{each.name: getattr(plain, each.name) for each in fields(plain)})
            made.append(weakref.ref(watched))
            yield watched

    assert simulate(records(), exchanged(tried(rule()))).total == 500
    assert max(held) <= 1
