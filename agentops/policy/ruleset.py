"""A tenant's own rules: a document, compiled once per version (pure).

    {"rules": [{"id": "big-payments", "tools": ["tier:write-hard"],
                "when": [{"fact": "money.minor", "op": ">", "value": "50.00", "unit": "USD"}],
                "effect": "ask", "queue": "finance", "people": 2, "words": "Payments over $50.00 need two people."}]}

A tenant's rule only asks or forbids: what an agent may do at all is its grant. So what a rule cannot know counts
against the call. ``policy.rule_check`` says what is wrong with a document before it is saved; a document that was right
when it was saved and cannot be read any more forbids what it was about.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from agentops.kernel.errors import AgentOpsError
from agentops.kernel.money import Money
from agentops.policy.compliance import Pack
from agentops.policy.packs import compiled_packs
from agentops.policy.rules import ARGUMENTS, ORIGIN, Condition, Effect, Rule
from agentops.policy.vocabulary import VOCABULARY, Type

PREFIX = "tenant."
"""What the ids of a tenant's rules begin with in a verdict."""

ALL_TOOLS = "all"
CLASSES: Mapping[str, str] = {"tier": "tier", "data": "data_class", "capability": "capability"}
"""What a class of tools begins with (``tier:read``), and the fact of the tool that it names."""

OTHER_CURRENCY = f"{PREFIX}currency"


@dataclass(frozen=True)
class TenantRule:
    """A rule and the tools that it is about. ``currencies`` are those in which it compares money."""

    tools: tuple[str, ...]
    rule: Rule
    currencies: frozenset[str] = frozenset()

    def about(self, tool: Mapping[str, Any]) -> Rule | None:
        """Return the rule as it holds for a tool, given as its facts; None when it is not about the tool.

        Where the facts do not tell, because they are older than the class, the rule gets the class as a condition.
        """
        unclear: Condition | None = None
        for name in self.tools:
            kind, _, value = name.partition(":")
            if name in (ALL_TOOLS, tool.get("name")):
                return self.rule
            if not value:
                continue
            fact = CLASSES[kind]
            if tool.get(fact) == value:
                return self.rule
            if fact not in tool:
                unclear = Condition(f"tool.{fact}", "=", value)
        return replace(self.rule, when=(unclear, *self.rule.when)) if unclear else None


@dataclass(frozen=True)
class TenantRules:
    """The compiled rules and compliance packs of one version of a tenant's rule set. ``digest`` is its document's."""

    digest: str
    rules: tuple[TenantRule, ...]
    packs: tuple[Pack, ...] = ()

    def rules_for(self, tool: Mapping[str, Any]) -> tuple[Rule, ...]:
        """Return the rules about a tool, given as its facts.

        When some of them compare money, a call in a currency that none of them names is forbidden: nobody can
        compare it.
        """
        found: list[Rule] = []
        currencies: set[str] = set()
        for each in self.rules:
            rule = each.about(tool)
            if rule is not None:
                found.append(rule)
                currencies |= each.currencies
        if currencies:
            found.append(_in_no_other(currencies))
        return tuple(found)

    @cached_property
    def queues(self) -> frozenset[str]:
        """Every approval queue that a rule or a compliance pack names."""
        named = {each.rule.queue for each in self.rules}
        for pack in self.packs:
            named |= {pack.template_queue}
            named |= {banned.queue for banned in pack.banned} | {review.queue for review in pack.reviews}
        return frozenset(named - {""})


NO_RULES = TenantRules("", ())

_MOVES_MONEY = Condition("money.present", "=", True)


def _in_no_other(currencies: Iterable[str]) -> Rule:
    others = (Condition("money.currency", "!=", currency) for currency in sorted(currencies))
    words = f"The rules compare money in {', '.join(sorted(currencies))} only."
    return Rule(OTHER_CURRENCY, Effect.FORBID, words, (_MOVES_MONEY, *others))


def compiled(document: Any, digest: str) -> TenantRules:
    """Return the rules of a document that was accepted when it was saved. Never raises: what cannot be read forbids."""
    try:
        rules = tuple(_compiled(raw) for raw in document["rules"])
        packs = compiled_packs(document.get("packs", []))
    except (AttributeError, KeyError, TypeError, ValueError):
        rules, packs = (_unreadable({}),), ()
    return TenantRules(digest, rules, packs)


def _compiled(raw: Any) -> TenantRule:
    try:
        return compiled_rule(raw)
    except (AttributeError, KeyError, TypeError, ValueError, AgentOpsError):
        return _unreadable(raw)


def _unreadable(raw: Any) -> TenantRule:
    """A rule that forbids what it was about, or everything when not even that can be read."""
    named = raw.get("tools") if isinstance(raw, dict) else None
    name = raw.get("id") if isinstance(raw, dict) else None
    tools = tuple(tool for tool in named if _is_readable(tool)) if isinstance(named, list) else ()
    if not tools or len(tools) != len(named or ()):
        tools = (ALL_TOOLS,)
    words = "A rule of the tenant cannot be read any more; an admin has to write it anew."
    return TenantRule(tools, Rule(f"{PREFIX}{str(name)[:60]}", Effect.FORBID, words))


def _is_readable(tool: Any) -> bool:
    kind, colon, _ = tool.partition(":") if isinstance(tool, str) else ("", ":", "")
    return not colon or kind in CLASSES


def compiled_rule(raw: Mapping[str, Any]) -> TenantRule:
    """Return one rule of a checked document."""
    tools = tuple(raw["tools"])
    if not tools or not all(_is_readable(tool) for tool in tools):
        raise KeyError("tools")
    plain: list[Condition] = []
    money: list[Condition] = []
    currencies: set[str] = set()
    for condition in raw["when"]:
        fact, unit = condition["fact"], condition.get("unit", "")
        known = VOCABULARY.get(fact)
        if known is not None and known.type is Type.MONEY:
            currencies.add(unit)
            money.append(_is_in(unit))
        (money if fact.startswith("money.") else plain).append(_condition(condition))
    if money:
        money.insert(0, _MOVES_MONEY)
    rule = Rule(
        id=f"{PREFIX}{raw['id']}",
        effect={"ask": Effect.ASK, "forbid": Effect.FORBID}[raw["effect"]],
        words=raw["words"],
        # A call that moves no money has no amount: what needs one comes last, behind the condition that there is one.
        when=(*plain, *dict.fromkeys(money)),
        queue=raw.get("queue", ""),
        people=raw.get("people", 1),
    )
    return TenantRule(tools, rule, frozenset(currencies))


def _is_in(currency: str) -> Condition:
    return Condition("money.currency", "=", currency)


def _condition(raw: Mapping[str, Any]) -> Condition:
    path, value = raw["fact"], raw["value"]
    fact = VOCABULARY.get(path)
    if fact is None and path.partition(".")[0] not in (ARGUMENTS, ORIGIN):
        raise KeyError(path)
    values = value if isinstance(value, list) else [value]
    if fact is not None and fact.type is Type.MONEY:
        values = [Money.parse(each, raw["unit"]).minor for each in values]
    unknown = fact.unknown if fact is not None else None
    return Condition(path, raw["op"], tuple(values) if isinstance(value, list) else values[0], unknown)
