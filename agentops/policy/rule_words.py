"""Rule sets in words for an admin: each rule as a sentence, and what differs between two documents (pure).

A compliance pack is told as one line for itself and one for each of its rules, so that a phrase that was added shows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentops.kernel.errors import AgentOpsError
from agentops.kernel.money import Money
from agentops.policy.packs import PARTS
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
    """Return every rule, every compliance pack and every rule of a pack of a checked document in words."""
    return tuple(_said(*item) for item in _by_id(document).items())


def difference(old: Document | None, new: Document | None) -> Difference:
    """Return what differs between two checked documents, rule by rule. None is a tenant without rules."""
    before, after = _by_id(old), _by_id(new)
    return Difference(
        added=tuple(_said(id_, raw) for id_, raw in after.items() if id_ not in before),
        removed=tuple(_said(id_, raw) for id_, raw in before.items() if id_ not in after),
        changed=tuple(
            (_said(id_, before[id_]), _said(id_, raw))
            for id_, raw in after.items()
            if id_ in before and before[id_] != raw
        ),
    )


def _by_id(document: Document | None) -> dict[str, Any]:
    if not document:
        return {}
    rules = {raw["id"]: raw for raw in document["rules"]}
    return rules | dict(item for pack in document.get("packs", []) for item in _of_pack(pack))


def _of_pack(pack: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a pack says of itself, and its rules, each with the part of the pack that it stands in."""
    name = f"pack {pack['name']}"
    yield name, {key: value for key, value in pack.items() if key not in PARTS}
    for part in PARTS:
        yield from ((f"{name}: {raw['id']}", {"part": part, **raw}) for raw in pack.get(part, []))


def _said(id_: str, raw: Mapping[str, Any]) -> Said:
    if "version" in raw:
        return Said(id_, _pack(raw), "")
    if "part" in raw:
        return Said(id_, _part(raw), raw.get("words", ""))
    people = raw.get("people", 1)
    does = "Forbid" if raw["effect"] == "forbid" else "Ask" if people == 1 else f"Ask {people} people"
    queue = f" in {raw['queue']}" if raw.get("queue") else ""
    when = " and ".join(_condition(condition) for condition in raw["when"])
    tools = "every tool" if "all" in raw["tools"] else ", ".join(raw["tools"])
    return Said(id_, f"{does}{queue} for {tools}{f' when {when}' if when else ', always'}.", raw["words"])


def _pack(raw: Mapping[str, Any]) -> str:
    tools = ", ".join(raw.get("tools", [])) or "every tool that sends a text out"
    queue = f" What follows no template is asked in {raw['template_queue']}." if raw.get("template_queue") else ""
    return f"Version {raw['version']} for {tools}.{queue}"


def _part(raw: Mapping[str, Any]) -> str:
    phrases = ", ".join(f"“{phrase}”" for phrase in raw.get("phrases", []))
    if raw["part"] == "templates":
        return f"Let texts pass that follow “{raw['text']}”."
    if raw["part"] == "disclaimers":
        risk = f" above a risk of {raw['above_risk']}" if "above_risk" in raw else ""
        return f"Demand “{raw['text']}” {f'beside {phrases}' if phrases else 'always'}{risk}."
    asks = raw["part"] == "reviews" or raw.get("effect") == "ask"
    queue = f" in {raw['queue']}" if raw.get("queue") else ""
    return f"{'Ask' if asks else 'Forbid'}{queue} for texts with {phrases}."


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
