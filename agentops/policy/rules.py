"""Rules as data: a small typed vocabulary over the facts of one proposal (pure).

A rule is a set of conditions that must all hold, an effect, and words for people. Facts are addressed by
dotted path; money is in minor units, and a rule about money names its currency.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

FACTS = (
    "money.minor",
    "money.customer_day_minor",
    "session.steps",
    "session.writes",
)
"""The facts that a threshold may compare. All are integers."""

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": lambda fact, value: fact > value,
    ">=": lambda fact, value: fact >= value,
    "<": lambda fact, value: fact < value,
    "<=": lambda fact, value: fact <= value,
    "=": lambda fact, value: fact == value,
    "!=": lambda fact, value: fact != value,
}


class Effect(StrEnum):
    """What a rule says. Forbid beats ask beats allow."""

    ALLOW = "allow"
    ASK = "ask"
    FORBID = "forbid"


class RuleError(Exception):
    """A rule that cannot be evaluated over these facts."""


@dataclass(frozen=True)
class Condition:
    """``fact`` compared with ``value``. Raises RuleError when the fact is absent or of another type."""

    fact: str
    op: str
    value: Any

    @cached_property
    def _path(self) -> tuple[str, ...]:
        return tuple(self.fact.split("."))

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Return whether the condition is true of ``facts``."""
        found = _found(facts, self._path, self.fact)
        if type(found) is not type(self.value):
            raise RuleError(f"{self.fact} is {found!r}, which cannot be compared with {self.value!r}")
        compare = OPERATORS.get(self.op)
        if compare is None:
            raise RuleError(f"{self.op!r} is not a comparison")
        return compare(found, self.value)


@dataclass(frozen=True)
class Rule:
    """When every condition holds, ``effect`` applies and ``words`` say so to a person.

    Conditions are evaluated in order and the first that is false ends the evaluation, so a guard such as
    ``money.present = true`` may stand before a comparison that needs it.
    """

    id: str
    effect: Effect
    words: str
    when: tuple[Condition, ...] = ()

    def fires(self, facts: Mapping[str, Any]) -> bool:
        """Return whether the rule applies. Raises RuleError."""
        for condition in self.when:  # noqa: SIM110 - a generator costs more than the comparisons, and this runs for each step
            if not condition.holds(facts):
                return False
        return True


def narrow(rules: Iterable[Rule], known: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Return the rules that can still fire when the facts under the names in ``known`` are as they are there.

    Conditions that then hold are dropped, and rules of which one does not are too, so over any facts that agree with
    ``known`` the verdict is the same. A condition that cannot be evaluated is kept.
    """
    return tuple(rule for rule in (_narrowed(rule, known) for rule in rules) if rule is not None)


def _narrowed(rule: Rule, known: Mapping[str, Any]) -> Rule | None:
    open_conditions: list[Condition] = []
    for condition in rule.when:
        if condition.fact.partition(".")[0] not in known:
            open_conditions.append(condition)
            continue
        try:
            # A condition behind one that is open is only looked at when that one holds, so it decides nothing yet.
            if not condition.holds(known) and not open_conditions:
                return None
        except RuleError:
            open_conditions.append(condition)
            continue
        if open_conditions:
            open_conditions.append(condition)
    return replace(rule, when=tuple(open_conditions))


def _found(facts: Mapping[str, Any], path: tuple[str, ...], name: str) -> Any:
    """Return the fact at a path. Raises RuleError when there is none."""
    found: Any = facts
    for part in path:
        if not isinstance(found, dict) or part not in found:
            raise RuleError(f"there is no fact {name}")
        found = found[part]
    return found
