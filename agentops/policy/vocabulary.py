"""What a tenant's rule may compare: every fact with its type, unit and bounds, and words for an admin (pure).

Beside the table there are ``arguments.<path>``, typed by the input schema of the tool, and ``origin.<path>``, where the
value of an argument came from.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agentops.kernel.money import CURRENCIES
from agentops.policy.evidence import Origin
from agentops.policy.facts import NEVER_DISRUPTED, NOT_KNOWN
from agentops.policy.flow import ROWS
from agentops.policy.rules import ONE_OF, OPERATORS
from agentops.registry.flow import Sends
from agentops.registry.tool import DataClass, Dial, Tier, ToolSpec

MOST = 2**53 - 1
"""The largest number that a rule compares with, either way."""


class Type(StrEnum):
    """What kind of value a fact is."""

    MONEY = "money"
    COUNT = "count"
    PERCENT = "per cent"
    SCORE = "score"
    FLAG = "yes or no"
    CHOICE = "one of a list"
    TEXT = "text"


NUMBERS = frozenset({Type.MONEY, Type.COUNT, Type.PERCENT, Type.SCORE})
_ORDER = tuple(OPERATORS)


@dataclass(frozen=True)
class Fact:
    """One fact. ``low`` and ``high`` bound a number, ``most`` the characters of a text, ``choices`` a choice.

    ``unknown`` is the number that stands for "nobody knows"; a condition on it then counts as true.
    """

    path: str
    type: Type
    words: str
    low: int = 0
    high: int = MOST
    choices: frozenset[str] = frozenset()
    most: int = 200
    unknown: int | None = None

    @property
    def comparisons(self) -> tuple[str, ...]:
        """The comparisons that fit the type."""
        if self.type in NUMBERS:
            return (*_ORDER, ONE_OF)
        return ("=", "!=") if self.type is Type.FLAG else ("=", "!=", ONE_OF)

    @property
    def unit(self) -> str:
        """The unit in words: what stands under ``unit`` of a condition."""
        return {Type.MONEY: "a currency, such as USD", Type.PERCENT: "%"}.get(self.type, "")


def _count(path: str, words: str, high: int = 1_000_000_000) -> Fact:
    return Fact(path, Type.COUNT, words, high=high)


def _money(path: str, words: str, unknown: int | None = None) -> Fact:
    return Fact(path, Type.MONEY, words, unknown=unknown)


def _flag(path: str, words: str) -> Fact:
    return Fact(path, Type.FLAG, words)


def _choice(path: str, words: str, choices: frozenset[str]) -> Fact:
    return Fact(path, Type.CHOICE, words, choices=choices)


def _values(words: type[StrEnum]) -> frozenset[str]:
    return frozenset(word.value for word in words)


_FACTS = (
    _money("money.minor", "What the call moves."),
    _money("money.customer_day_minor", "What has moved for the same customer today, this call included."),
    _money("money.customer_30_days_minor", "What has moved for the same customer in 30 days, this call included."),
    _money("money.agent_day_minor", "What the agent has moved today for all customers, this call included."),
    _money("money.usual_minor", "What such calls usually move: the middle of earlier ones.", NOT_KNOWN),
    _choice("money.currency", "The currency of what the call moves.", CURRENCIES),
    _flag("money.present", "Whether the call moves money."),
    _count("session.steps", "Steps of the session so far."),
    _count("session.writes", "Writes of the session so far."),
    _count("session.priority", "How urgent the session is: 0 low, 1 normal, 2 high, 3 urgent.", 3),
    _flag("session.by_person", "Whether a person of the house proposed the call."),
    _flag("people.requester_benefits", "Whether whoever asked for it, or owns the agent, is the customer."),
    Fact("target", Type.TEXT, "Whom or what the call touches, such as customer:c-17."),
    _choice("tool.tier", "How much the tool can break.", _values(Tier)),
    _choice("tool.data_class", "The most sensitive data that the tool touches.", _values(DataClass)),
    _choice("tool.sends", "Whether the tool carries something out of the house.", _values(Sends)),
    Fact("tool.capability", Type.TEXT, "What the tool does, in its role's own word."),
    _flag("tool.destructive", "Whether the tool destroys something."),
    _flag("tool.irreversible", "Whether the call cannot be undone."),
    _choice("grant.dial", "How far the agent may go with the tool by itself.", _values(Dial)),
    Fact(
        "measures.capacity_share_pct",
        Type.PERCENT,
        "The share of a capacity that the call takes away.",
        high=100,
        unknown=NOT_KNOWN,
    ),
    Fact(
        "measures.incident_priority",
        Type.COUNT,
        "The priority of the incident the call belongs to, 0 the most urgent.",
        high=9,
        unknown=NOT_KNOWN,
    ),
    Fact(
        "measures.minutes_since_disruption",
        Type.COUNT,
        "Whole minutes since something last disturbed the same target, 1000000 when nothing ever did.",
        high=NEVER_DISRUPTED,
        unknown=NOT_KNOWN,
    ),
    Fact(
        "measures.change_freeze",
        Type.COUNT,
        "Whether a change freeze covers the target now: 1 when one does, 0 when none does.",
        high=1,
        unknown=NOT_KNOWN,
    ),
    _count("rate.tool_hour", "Calls of the tool in the last hour, without this one."),
    _count("rate.target_hour", "Calls for the same target in the last hour, without this one."),
    _count("rate.tenant_hour", "Writes of all agents in the last hour, without this one."),
    _flag("rate.first_target", "Whether the target has never been touched by the tool."),
    _flag("rate.unusual", "Whether the call comes unusually often."),
    Fact("risk.score", Type.SCORE, "The risk of the call, 0 to 100.", high=100),
    _flag("compliance.ask", "Whether a compliance pack wants the text reviewed."),
    _flag("flow.chosen", "Whether the agent chose the target itself after it had read text by others."),
    _flag("flow.untrusted", "Whether a value that matters comes from text by others, or from nowhere."),
    *(_flag(f"flow.{row}", words) for row, words in ROWS.items()),
)

VOCABULARY: Mapping[str, Fact] = {fact.path: fact for fact in _FACTS}
"""Every fact that a rule may compare, by its path."""

ORIGINS = frozenset(origin.value for origin in Origin)
"""Where a value can have come from, the values of ``origin.<path>``."""


def argument_of(tool: ToolSpec, path: str) -> Fact | None:
    """Return the argument of ``tool`` at ``path`` as a fact, None when there is none or it is no single value."""
    leaves = [leaf for leaf in _leaves(tool.input_schema, path.replace("[]", ".[]").split(".")) if _kinds(leaf)]
    kinds = {kind for leaf in leaves for kind in _kinds(leaf)}
    if len(kinds) != 1:
        return None
    words = f"The argument {path} of {tool.name}."
    match kinds.pop():
        case "boolean":
            return Fact(path, Type.FLAG, words)
        case "integer":
            low = min(leaf.get("minimum", -MOST) for leaf in leaves)
            return Fact(path, Type.COUNT, words, low=low, high=max(leaf.get("maximum", MOST) for leaf in leaves))
        case "string" if all("enum" in leaf for leaf in leaves):
            choices = frozenset(value for leaf in leaves for value in leaf["enum"] if isinstance(value, str))
            return Fact(path, Type.CHOICE, words, choices=choices)
        case "string":
            most = max(leaf.get("maxLength", MOST) for leaf in leaves)
            return Fact(path, Type.TEXT, words, most=min(most, 200))
        case _:
            return None


def _leaves(schema: Mapping[str, Any], parts: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas of what stands at a path."""
    for word in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(word, ()):
            yield from _leaves(part, parts)
    if not parts:
        if "type" in schema:
            yield schema
    elif parts[0] == "[]":
        yield from _leaves(schema.get("items", {}), parts[1:])
    elif parts[0] in schema.get("properties", {}):
        yield from _leaves(schema["properties"][parts[0]], parts[1:])


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    kinds = schema["type"]
    return ({kinds} if isinstance(kinds, str) else set(kinds)) - {"null"}
