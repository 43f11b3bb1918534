"""Whether conditions can hold together, and which rules contradict each other (pure).

A list of conditions is impossible when no value of one fact satisfies all that are about it. Facts are looked at one by
one; of an argument inside a list one item is enough for a condition, so two conditions never exclude each other there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentops.kernel.money import Money
from agentops.policy.rules import COMPARISONS, ONE_OF
from agentops.policy.vocabulary import NUMBERS, VOCABULARY, Fact, Type

Raw = Mapping[str, Any]
_Bound = tuple[str, Any]


def impossible(conditions: Sequence[tuple[Fact, Raw]]) -> str:
    """Return why checked conditions can never hold together, as part of a sentence; empty when they can."""
    by_fact: dict[str, tuple[Fact, list[_Bound]]] = {}
    for fact, raw in _with_currencies(conditions):
        if "[]" not in raw["fact"]:
            by_fact.setdefault(raw["fact"], (fact, []))[1].append((raw["op"], _values(fact, raw)))
    for path, (fact, bounds) in by_fact.items():
        if not _possible(fact, bounds):
            return f"no value of {path} satisfies them"
    return ""


def _with_currencies(conditions: Sequence[tuple[Fact, Raw]]) -> Iterator[tuple[Fact, Raw]]:
    """Yield the conditions, and what those on money say about the call's currency and about there being money."""
    for fact, raw in conditions:
        yield fact, raw
        if fact.type is Type.MONEY:
            yield VOCABULARY["money.currency"], {"fact": "money.currency", "op": "=", "value": raw["unit"]}
        if raw["fact"].startswith("money.") and raw["fact"] != "money.present":
            yield VOCABULARY["money.present"], {"fact": "money.present", "op": "=", "value": True}


def _values(fact: Fact, raw: Raw) -> Any:
    value = raw["value"]
    if fact.type is not Type.MONEY:
        return value
    return [_minor(each, raw) for each in value] if isinstance(value, list) else _minor(value, raw)


def _minor(value: str, raw: Raw) -> int:
    return Money.parse(value, raw["unit"]).minor


def _possible(fact: Fact, bounds: Sequence[_Bound]) -> bool:
    candidates = _candidates(fact, bounds)
    if candidates is None:
        return True
    return any(all(COMPARISONS[op](candidate, value) for op, value in bounds) for candidate in candidates)


def _candidates(fact: Fact, bounds: Sequence[_Bound]) -> Sequence[Any] | None:
    """Return values of which one satisfies the bounds if any does; None when some value always does."""
    for op, value in bounds:
        if op in ("=", ONE_OF):
            return value if isinstance(value, list) else [value]
    if fact.type is Type.FLAG:
        return [True, False]
    if fact.type is Type.CHOICE:
        return sorted(fact.choices)
    if fact.type not in NUMBERS:
        return None
    low = max([fact.low, *(value + (op == ">") for op, value in bounds if op in (">", ">="))])
    high = min([fact.high, *(value - (op == "<") for op, value in bounds if op in ("<", "<="))])
    # Each "!=" takes away one number, so one more than there are of them decides.
    return range(low, min(high, low + len(bounds)) + 1)


def clashes(rules: Sequence[tuple[str, Raw, frozenset[str]]]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names of rules with the same conditions for the same tool and different effects.

    ``rules`` are (name, checked rule, names of the tools it is about). Each rule is told of once.
    """
    known: dict[tuple[str, frozenset[str]], dict[str, tuple[str, str]]] = {}
    for name, raw, tools in rules:
        conditions = frozenset(_normal(condition) for condition in raw["when"])
        for tool in sorted(tools):
            by_effect = known.setdefault((tool, conditions), {})
            other = next((of for effect, of in by_effect.items() if effect != raw["effect"]), None)
            by_effect.setdefault(raw["effect"], (name, tool))
            if other is not None:
                yield other[0], name
                break


def _normal(raw: Raw) -> str:
    value = sorted(set(raw["value"])) if isinstance(raw["value"], list) else raw["value"]
    if raw.get("unit") and raw["unit"] != "%":
        fact = VOCABULARY[raw["fact"]]
        value = _values(fact, {**raw, "value": value})
    return repr((raw["fact"], raw["op"], value, raw.get("unit", "")))
