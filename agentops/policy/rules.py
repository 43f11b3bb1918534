"""Rules as data: a small typed vocabulary over the facts of one proposal (pure).

A rule is a set of conditions that must all hold, an effect, and words for people. Facts are addressed by
dotted path; money is in minor units, and a rule about money names its currency. ``arguments.<path>`` are the call's
own arguments and ``origin.<path>`` where their values came from, with ``[]`` for any item of a list.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

FACTS = (
    "money.minor",
    "money.customer_day_minor",
    "session.steps",
    "session.writes",
)
"""The facts that a threshold may compare. All are integers."""

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
}

ONE_OF = "one of"
"""The comparison with several values, of which one is enough."""

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {**OPERATORS, ONE_OF: lambda fact, values: fact in values}

ARGUMENTS, ORIGIN = "arguments", "origin"
"""The first part of a path that leads to the call's own arguments, or to where they came from."""


Test = Callable[[Mapping[str, Any]], bool]
Several = Callable[[Mapping[str, Any], str], list[Any] | None]
"""Return the values of a fact that can have several, of which one is enough, or None when none is known."""

MOST_PEOPLE = 5
"""So many people at most decide one request together."""


class Effect(StrEnum):
    """What a rule says. Forbid beats ask beats allow."""

    ALLOW = "allow"
    ASK = "ask"
    FORBID = "forbid"


class RuleError(Exception):
    """A rule that cannot be evaluated over these facts."""


class NotRecorded(RuleError):
    """A rule about a fact that these facts do not have, such as one that is newer than the record."""


@dataclass(frozen=True)
class Condition:
    """``fact`` compared with ``value``, or with each of a tuple of values for ``one of``.

    A fact that equals ``unknown`` is one that nobody knows, and the condition then holds: it belongs to a rule that
    asks or forbids. So it does when an argument is not given, as the tool then puts something in its place.
    """

    fact: str
    op: str
    value: Any
    unknown: int | None = None

    @cached_property
    def holds(self) -> Test:
        """The test whether the condition is true of facts, made once, as deciding runs some thirty of them.

        The test raises NotRecorded when the fact is absent, and RuleError when it is of another type.
        """
        several = _SEVERAL.get(self.fact.partition(".")[0])
        return _plain(self) if several is None else _any_of(self, several)


@dataclass(frozen=True)
class Rule:
    """When every condition holds, ``effect`` applies and ``words`` say so to a person.

    Conditions are evaluated in order and the first that is false ends the evaluation, so a guard such as
    ``money.present = true`` may stand before a comparison that needs it. ``queue`` (empty: the tool's own) and
    ``people`` say who is asked, and how many of them must agree.
    """

    id: str
    effect: Effect
    words: str
    when: tuple[Condition, ...] = ()
    queue: str = ""
    people: int = 1

    def fires(self, facts: Mapping[str, Any]) -> bool:
        """Return whether the rule applies. Raises RuleError."""
        for holds in self._tests:  # noqa: SIM110 - a generator costs more than the comparisons, and this runs for each step
            if not holds(facts):
                return False
        return True

    @cached_property
    def _tests(self) -> tuple[Test, ...]:
        return tuple(condition.holds for condition in self.when)


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


def _plain(condition: Condition) -> Test:
    """Return the test of a fact that stands at a path."""
    compared, wanted = _comparison(condition), condition.value
    group, _, name = condition.fact.partition(".")
    if "." in name or not name:
        path = tuple(condition.fact.split("."))
        return lambda facts: compared(_found(facts, path, condition.fact))
    kind = type(wanted) if condition.op == "=" and condition.unknown is None else None

    def test(facts: Mapping[str, Any]) -> bool:
        try:
            found = facts[group][name]
        except (KeyError, TypeError):
            raise NotRecorded(f"there is no fact {condition.fact}") from None
        return bool(found == wanted) if type(found) is kind else compared(found)

    return test


def _any_of(condition: Condition, values_of: Several) -> Test:
    compared = _comparison(condition)

    def test(facts: Mapping[str, Any]) -> bool:
        values = values_of(facts, condition.fact)
        return values is None or any(compared(value) for value in values)

    return test


def _comparison(condition: Condition) -> Callable[[Any], bool]:
    """Return the comparison of one value with the condition's. It raises RuleError."""
    fact, op, wanted, unknown = condition.fact, condition.op, condition.value, condition.unknown
    compare = COMPARISONS.get(op)
    kind = type(wanted) if op != ONE_OF else type(wanted[0]) if wanted else None

    def compared(found: Any) -> bool:
        if type(found) is not kind:
            raise RuleError(f"{fact} is {_short(found)}, which cannot be compared with {_short(wanted)}")
        if compare is None:
            raise RuleError(f"{op!r} is not a comparison")
        return found == unknown or compare(found, wanted)

    return compared


def _found(facts: Mapping[str, Any], path: tuple[str, ...], name: str) -> Any:
    """Return the fact at a path. Raises NotRecorded when there is none."""
    found: Any = facts
    for part in path:
        if not isinstance(found, dict) or part not in found:
            raise NotRecorded(f"there is no fact {name}")
        found = found[part]
    return found


def _arguments_at(facts: Mapping[str, Any], fact: str) -> list[Any] | None:
    """Return the arguments at a path, empty when a list on the way is, None when the argument was not given."""
    arguments = facts.get(ARGUMENTS)
    if not isinstance(arguments, Mapping):
        raise NotRecorded("the arguments are not on record")
    found = list(_reached(arguments, _parts(fact)))
    return None if any(value is None for value in found) else found


@lru_cache(maxsize=2048)
def _parts(fact: str) -> tuple[str, ...]:
    return tuple(fact.removeprefix(f"{ARGUMENTS}.").replace("[]", ".[]").split("."))


def _reached(value: Any, parts: tuple[str, ...]) -> Iterator[Any]:
    """Yield what stands at the path, and None for each place where nothing does."""
    if not parts:
        yield value
    elif parts[0] == "[]" and isinstance(value, list):
        for item in value:
            yield from _reached(item, parts[1:])
    else:
        yield from _reached(value[parts[0]], parts[1:]) if isinstance(value, dict) and parts[0] in value else [None]


def _origins_of(facts: Mapping[str, Any], fact: str) -> list[Any] | None:
    """Return where the leaves at a path came from, None when nothing is known of them."""
    leaves = _found(facts, ("flow", "leaves"), fact)
    path = fact.removeprefix(f"{ORIGIN}.")
    found = [leaf[2] for leaf in leaves if leaf[0] == path]
    if not found and _found(facts, ("session", "by_person"), fact) is True:
        return ["operator"]
    return found or None


_SEVERAL: Mapping[str, Several] = {
    ARGUMENTS: _arguments_at,
    ORIGIN: _origins_of,
}


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else repr(value[:60])
    return text if len(text) <= 80 else f"{text[:80]}…"
