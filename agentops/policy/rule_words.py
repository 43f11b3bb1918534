"""Rule sets in words for an admin: each rule as a sentence, and what differs between two documents (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentops.kernel.errors import AgentOpsError
from agentops.kernel.money import Money
from agentops.policy.rules import ONE_OF

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """One rule of a document: its id, what it does in a sentence, and its own words."""

    id: str
    sentence: str
    words: str


@dataclass(frozen=True)
class Difference:
    """What ``new`` has more, less, and otherwise than ``old``. ``changed`` are pairs of before and after."""

    added: tuple[Said, ...]
    removed: tuple[Said, ...]
    changed: tuple[tuple[Said, Said], ...]

    @property
    def is_empty(self) -> bool:
        """Whether both documents say the same."""
        return not (self.added or self.removed or self.changed)


def said(document: Document | None) -> tuple[Said, ...]:
    """Return every rule and every compliance pack of a checked document in words."""
    return tuple(_said(raw) for raw in _by_id(document).values())


def difference(old: Document | None, new: Document | None) -> Difference:
    """Return what differs between two checked documents, rule by rule. None is a tenant without rules."""
    before, after = _by_id(old), _by_id(new)
    return Difference(
        added=tuple(_said(raw) for id_, raw in after.items() if id_ not in before),
        removed=tuple(_said(raw) for id_, raw in before.items() if id_ not in after),
        changed=tuple(
            (_said(before[id_]), _said(raw)) for id_, raw in after.items() if id_ in before and before[id_] != raw
        ),
    )


def _by_id(document: Document | None) -> dict[str, Any]:
    if not document:
        return {}
    rules = {raw["id"]: raw for raw in document["rules"]}
    return rules | {f"pack {raw['name']}": raw for raw in document.get("packs", [])}


def _said(raw: Mapping[str, Any]) -> Said:
    if "effect" not in raw:
        return _pack(raw)
    people = raw.get("people", 1)
    does = "Forbid" if raw["effect"] == "forbid" else "Ask" if people == 1 else f"Ask {people} people"
    queue = f" in {raw['queue']}" if raw.get("queue") else ""
    when = " and ".join(_condition(condition) for condition in raw["when"])
    tools = "every tool" if "all" in raw["tools"] else ", ".join(raw["tools"])
    return Said(raw["id"], f"{does}{queue} for {tools}{f' when {when}' if when else ', always'}.", raw["words"])


def _pack(raw: Mapping[str, Any]) -> Said:
    parts = [f"{len(raw[part])} {part}" for part in ("banned", "disclaimers", "reviews", "templates") if raw.get(part)]
    tools = ", ".join(raw.get("tools", [])) or "what leaves the house"
    return Said(f"pack {raw['name']}", f"Version {raw['version']} for {tools}: {', '.join(parts)}.", "")


def _condition(raw: Mapping[str, Any]) -> str:
    value = raw["value"]
    if raw["op"] == ONE_OF:
        return f"{raw['fact']} is one of {', '.join(_value(each, raw) for each in value)}"
    return f"{raw['fact']} {raw['op']} {_value(value, raw)}"


def _value(value: Any, raw: Mapping[str, Any]) -> str:
    unit = raw.get("unit", "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not unit or unit == "%":
        return f"{value} %" if unit else str(value)
    try:
        return str(Money.parse(value, unit))
    except AgentOpsError:
        return f"{value} {unit}"
