"""What is wrong with a rule set, in sentences that name the rule and the place (pure).

A document that has no problems compiles, and each of its rules can be evaluated for the tools it is about.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.money import CURRENCIES, BadMoney, Money
from agentops.policy.contradiction import clashes, impossible
from agentops.policy.packs import problems_of_packs
from agentops.policy.rules import ARGUMENTS, COMPARISONS, MOST_PEOPLE, ONE_OF, ORIGIN
from agentops.policy.ruleset import ALL_TOOLS, CLASSES
from agentops.policy.vocabulary import NUMBERS, ORIGINS, VOCABULARY, Fact, Type, argument_of
from agentops.registry.flow import Sends
from agentops.registry.tool import DataClass, Tier, ToolSpec

MOST_BYTES = 500_000
MOST_RULES = 200
MOST_CONDITIONS = 10
MOST_TOOLS = 50
MOST_VALUES = 50
MOST_WORDS = 200
MOST_ID = 60
MOST_PROBLEMS = 50
"""Problems that are told at once; a document with more is not looked at further."""

_ID = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_RULE = frozenset({"id", "tools", "when", "effect", "queue", "people", "words"})
_OPTIONAL = frozenset({"queue", "people"})
_CONDITION = frozenset({"fact", "op", "value", "unit"})


class BadRules(AgentOpsError):
    """A document that is no rule set. ``problems`` are sentences, each naming its place."""

    code = "BAD_RULES"
    next_step = "Correct what is named and save again."

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class House:
    """What a tenant's rules may name: the tools of its agents and its approval queues.

    Tools of different roles may have the same name; a rule that names it is about all of them.
    """

    tools: tuple[ToolSpec, ...]
    queues: frozenset[str]

    def named(self, name: str) -> list[ToolSpec]:
        """Return the tools that a name, a class or ``all`` stands for; empty when there are none."""
        kind, _, value = name.partition(":")
        if name == ALL_TOOLS:
            return list(self.tools)
        if not value:
            return [tool for tool in self.tools if tool.name == name]
        of_tool = {
            "tier": lambda tool: tool.tier.value,
            "data": lambda tool: tool.data_class.value,
            "capability": lambda tool: tool.flow.capability,
        }.get(kind)
        return [tool for tool in self.tools if of_tool and of_tool(tool) == value]


_WORDS_OF_CLASS = {"tier": frozenset(tier.value for tier in Tier), "data": frozenset(data.value for data in DataClass)}


def read(text: str | bytes, house: House) -> dict[str, Any]:
    """Return the document in ``text``. Raises BadRules with everything that is wrong with it."""
    try:
        document = parse_json(text, max_bytes=MOST_BYTES)
    except BadJSON as error:
        raise BadRules([f"The document is {error.message}."]) from error
    except UnicodeEncodeError as error:
        raise BadRules(["The document holds text that cannot be stored."]) from error
    require_rules(document, house)
    checked: dict[str, Any] = document
    return checked


def require_rules(document: Any, house: House) -> None:
    """Raise BadRules unless the document is a rule set for this house."""
    problems = list(islice(problems_of(document, house), MOST_PROBLEMS))
    if problems:
        raise BadRules(problems)


def problems_of(document: Any, house: House) -> Iterator[str]:
    """Yield what is wrong with a document, sentence by sentence."""
    keys = set(document) if isinstance(document, dict) else set()
    if "rules" not in keys or keys - {"rules", "packs"} or not isinstance(document["rules"], list):
        yield 'The document must be one object with the key "rules" and a list of rules; "packs" may stand beside it.'
        return
    rules = document["rules"]
    yield from problems_of_packs(document.get("packs", []), tools=house.tools, queues=house.queues)
    if not rules and not document.get("packs"):
        yield "The list of rules is empty. To have no rules, withdraw the active version."
    if len(rules) > MOST_RULES:
        yield f"There are {len(rules)} rules; at most {MOST_RULES} are allowed."
        return
    seen: dict[str, int] = {}
    sound: list[_Rule] = []
    for number, raw in enumerate(rules, start=1):
        rule = _Rule(number, raw, house)
        problems = list(rule.problems())
        yield from (f"{rule.name}: {problem}" for problem in problems)
        if rule.id and rule.id in seen:
            yield f"{rule.name}: rule {seen[rule.id]} has the same id."
        seen.setdefault(rule.id, number)
        if not problems:
            sound.append(rule)
    for first, second in clashes([(rule.name, rule.raw, rule.tool_names) for rule in sound]):
        yield f"{second}: it has the same conditions as {first} for the same tool, and another effect."


class _Rule:
    """One raw rule of a document on its way through the checks."""

    def __init__(self, number: int, raw: Any, house: House) -> None:
        self.raw, self.house = raw, house
        given = raw.get("id") if isinstance(raw, dict) else None
        self.id = given if isinstance(given, str) else ""
        self.name = f'Rule {number} "{self.id}"' if self.id and _is_plain(self.id) else f"Rule {number}"
        self.tools: list[ToolSpec] = []

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools)

    def problems(self) -> Iterator[str]:
        if not isinstance(self.raw, dict):
            yield "it is not an object."
            return
        yield from _keys(self.raw, _RULE, _OPTIONAL)
        if not 1 <= len(self.id) <= MOST_ID or not _is_plain(self.id):
            yield f"its id must be 1 to {MOST_ID} small letters, digits, - and _."
        yield from self._tools()
        yield from self._who()
        yield from _words(self.raw.get("words"))
        yield from self._conditions()

    def _tools(self) -> Iterator[str]:
        named = self.raw.get("tools")
        if not isinstance(named, list) or not 1 <= len(named) <= MOST_TOOLS:
            yield f'"tools" must be a list of 1 to {MOST_TOOLS} tools or classes of tools.'
            return
        for name in named:
            if not isinstance(name, str) or not _is_tool(name):
                yield f"{_shown(name)} is no tool; write a name, all, or tier:, data: or capability: and a value."
                continue
            found = self.house.named(name)
            if not found:
                yield f"there is no tool {_shown(name)} here."
            self.tools += [tool for tool in found if all(tool is not known for known in self.tools)]

    def _who(self) -> Iterator[str]:
        effect, queue, people = self.raw.get("effect"), self.raw.get("queue", ""), self.raw.get("people", 1)
        if effect not in ("ask", "forbid"):
            yield '"effect" must be ask or forbid; what an agent may do at all is set with its grant.'
        if not isinstance(queue, str) or (queue and queue not in self.house.queues):
            yield f"there is no queue {_shown(queue)} here."
        if type(people) is not int or not 1 <= people <= MOST_PEOPLE:
            yield f'"people" must be a number from 1 to {MOST_PEOPLE}.'
        elif effect == "forbid" and (queue or people > 1):
            yield "a rule that forbids asks nobody, so it has no queue and no people."

    def _conditions(self) -> Iterator[str]:
        when = self.raw.get("when")
        if not isinstance(when, list) or len(when) > MOST_CONDITIONS:
            yield f'"when" must be a list of at most {MOST_CONDITIONS} conditions.'
            return
        facts: list[Fact] = []
        problems = 0
        for number, raw in enumerate(when, start=1):
            fact, found = _condition(raw, self.tools)
            yield from (f"condition {number}: {problem}" for problem in found)
            problems += len(found)
            if fact is not None:
                facts.append(fact)
        if not problems:
            reason = impossible(list(zip(facts, when, strict=True)))
            if reason:
                yield f"its conditions can never hold together: {reason}."


def _condition(raw: Any, tools: Collection[ToolSpec]) -> tuple[Fact | None, list[str]]:
    """Return the fact that a condition is about, and what is wrong with the condition."""
    if not isinstance(raw, dict):
        return None, ["it is not an object."]
    problems = list(_keys(raw, _CONDITION, frozenset({"unit"})))
    path = raw.get("fact")
    fact, problem = _fact(path, tools) if isinstance(path, str) else (None, f"{_shown(path)} is no fact.")
    if fact is None:
        return None, [*problems, problem]
    op, unit = raw.get("op"), raw.get("unit", "")
    if not isinstance(op, str) or op not in COMPARISONS or op not in fact.comparisons:
        problems.append(f"{fact.path} cannot be compared with {_shown(op)}; use {', '.join(fact.comparisons)}.")
    problem = _unit_problem(fact, unit)
    if problem:
        problems.append(problem)
    elif not problems:
        problems.extend(_values(fact, op, raw.get("value"), unit))
    return fact, problems


def _fact(path: str, tools: Collection[ToolSpec]) -> tuple[Fact | None, str]:
    """Return the fact at a path, or None and why there is none."""
    root, _, rest = path.partition(".")
    if root not in (ARGUMENTS, ORIGIN) or len(path) > 200:
        found = VOCABULARY.get(path)
        return found, f"there is no fact {_shown(path)}."
    facts = [(tool, argument_of(tool, rest)) for tool in tools]
    without = [tool.name for tool, fact in facts if fact is None]
    if without:
        return None, f"{without[0]} has no argument {_shown(rest)} that is a single value."
    known = [fact for _, fact in facts if fact is not None]
    if not known:
        return None, "an argument needs a tool that has it."
    if root == ORIGIN:
        silent = [tool.name for tool in tools if not tool.is_write and tool.flow.sends is not Sends.OUTSIDE]
        if silent:
            return None, f"where arguments come from is not traced for {silent[0]}: it only reads."
        return Fact(path, Type.CHOICE, "Where the argument came from.", choices=ORIGINS), ""
    if len({fact.type for fact in known}) > 1:
        return None, f"the tools take different types of {_shown(rest)}."
    first = known[0]
    low, high = min(fact.low for fact in known), max(fact.high for fact in known)
    choices = frozenset().union(*(fact.choices for fact in known))
    return Fact(path, first.type, first.words, low, high, choices, max(fact.most for fact in known)), ""


def _unit_problem(fact: Fact, unit: Any) -> str:
    if fact.type is Type.MONEY:
        known = isinstance(unit, str) and unit in CURRENCIES
        return "" if known else f"{fact.path} is money and needs a currency as its unit, not {_shown(unit)}."
    wanted = "%" if fact.type is Type.PERCENT else ""
    if unit == wanted:
        return ""
    said = f"the unit {_shown(wanted)}" if wanted else "no unit"
    return f"{fact.path} is a {fact.type} and has {said}, not {_shown(unit)}."


def _values(fact: Fact, op: Any, value: Any, unit: str) -> Iterator[str]:
    several = isinstance(value, list)
    if several != (op == ONE_OF) or (several and not 1 <= len(value) <= MOST_VALUES):
        yield f"{ONE_OF} takes a list of 1 to {MOST_VALUES} values, every other comparison one value."
        return
    for each in value if several else [value]:
        problem = _value_problem(fact, each, unit)
        if problem:
            yield f"{fact.path} {problem}"


def _value_problem(fact: Fact, value: Any, unit: str) -> str:
    if fact.type is Type.MONEY:
        return _money_problem(value, unit)
    if fact.type in NUMBERS:
        if type(value) is not int:
            return f"is a whole number, not {_shown(value)}."
        return (
            ""
            if fact.low <= value <= fact.high
            else f"lies between {fact.low} and {fact.high}, not at {_shown(value)}."
        )
    if fact.type is Type.FLAG:
        return "" if isinstance(value, bool) else f"is true or false, not {_shown(value)}."
    if not isinstance(value, str):
        return f"is text, not {_shown(value)}."
    if fact.type is Type.CHOICE and value not in fact.choices:
        return f"is never {_shown(value)}; it is one of {', '.join(sorted(fact.choices)[:12])}."
    if _is_hidden(value):
        return "is compared with characters that cannot be seen."
    return "" if len(value) <= fact.most else f"is never longer than {fact.most} characters."


def _money_problem(value: Any, unit: str) -> str:
    if not isinstance(value, str):
        return f'is an amount and is written as text, such as "50.00", not {_shown(value)}.'
    try:
        amount = Money.parse(value, unit)
    except BadMoney as error:
        return f"is not readable: {error.message}."
    return "" if amount.minor >= 0 else "is never below zero."


def _keys(raw: Mapping[str, Any], known: frozenset[str], optional: frozenset[str]) -> Iterator[str]:
    for key in islice(sorted(set(raw) - known), 5):
        yield f"the key {_shown(key)} is not known."
    for key in sorted(known - optional - set(raw)):
        yield f'the key "{key}" is missing.'


def _words(words: Any) -> Iterator[str]:
    if not isinstance(words, str) or not words.strip() or len(words) > MOST_WORDS:
        yield f'"words" must say it to a person, in 1 to {MOST_WORDS} characters.'
    elif _is_hidden(words):
        yield '"words" holds characters that cannot be seen.'


def _is_tool(name: str) -> bool:
    kind, colon, value = name.partition(":")
    if not colon:
        return True
    return kind in CLASSES and value in _WORDS_OF_CLASS.get(kind, (value,)) and bool(value)


def _is_hidden(text: str) -> bool:
    return any(unicodedata.category(char)[0] == "C" for char in text)


def _is_plain(text: str) -> bool:
    return len(text) <= MOST_ID and _ID.issuperset(text)


def _shown(value: Any) -> str:
    """Return a value from outside as it may stand in a sentence: short, and with hidden characters spelled out."""
    text = ascii(value[:60]) if isinstance(value, str) else ascii(value) if _is_small(value) else type(value).__name__
    return text if len(text) <= 80 else f"{text[:80]}…"


def _is_small(value: Any) -> bool:
    return value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 10**20)
