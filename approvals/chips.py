"""The few words in a row of the queue that make somebody look twice, made of the facts of a request (pure).

The facts are ``ApprovalRequest.facts``. Whatever is not in them, or not of the kind that it should be, gives no chip.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentops.policy.facts import NOT_KNOWN
from agentops.policy.risk import level_of

MOST_CHIPS = 5
MANY_TIMES = 2
"""From so many times the usual amount on it is said."""

MUCH_CAPACITY = 10
GRAVE_INCIDENTS = (0, 1)


@dataclass(frozen=True)
class Chip:
    """Some words; ``tone`` colours what comes from text by others."""

    words: str
    tone: Literal["", "untrusted"] = ""


_FLOW = {
    "untrusted": Chip("untrusted origin", "untrusted"),
    "unplanned": Chip("not asked for", "untrusted"),
    "exit": Chip("private data may leave", "untrusted"),
    "leaks": Chip("private data in a text", "untrusted"),
    "chosen": Chip("target chosen by the agent"),
    "amount": Chip("amount not in the records"),
    "repeated": Chip("done before in this session"),
}
_RATE = {"first_target": Chip("first-time target"), "unusual": Chip("unusually often")}


MOST_ALIKE = 20
"""Requests alike are counted so far."""


def chips_of(facts: Mapping[str, Any], *, alike: int = 0) -> tuple[Chip, ...]:
    """Return the chips of a request, the gravest first; what is left out is counted in a last one.

    ``alike`` is how many requests that wait ask the same question, itself included.
    """
    found = [chip for source in _SOURCES for chip in source(facts)]
    if alike > 1:
        found.append(Chip(f"{alike} alike" if alike <= MOST_ALIKE else f"over {MOST_ALIKE} alike"))
    if len(found) <= MOST_CHIPS:
        return tuple(found)
    return (*found[: MOST_CHIPS - 1], Chip(f"{len(found) - MOST_CHIPS + 1} more"))


def risk_word(facts: Mapping[str, Any]) -> str:
    """Return how risky the call is, in a word. What was not scored counts as high."""
    score = _group(facts, "risk").get("score")
    return level_of(score if type(score) is int else None).value


def _group(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    group = facts.get(name)
    return group if isinstance(group, Mapping) else {}


def _flow(facts: Mapping[str, Any]) -> Iterator[Chip]:
    flow = _group(facts, "flow")
    yield from (chip for name, chip in _FLOW.items() if flow.get(name) is True)


def _rate(facts: Mapping[str, Any]) -> Iterator[Chip]:
    rate = _group(facts, "rate")
    yield from (chip for name, chip in _RATE.items() if rate.get(name) is True)


def _compliance(facts: Mapping[str, Any]) -> Iterator[Chip]:
    if _group(facts, "compliance").get("findings"):
        yield Chip("compliance finding", "untrusted")


def _usual(facts: Mapping[str, Any]) -> Iterator[Chip]:
    money = _group(facts, "money")
    minor, usual = money.get("minor"), money.get("usual_minor", NOT_KNOWN)
    if type(minor) is int and type(usual) is int and usual > 0 and abs(minor) >= MANY_TIMES * usual:
        yield Chip(f"{abs(minor) / usual:.1f} × usual amount")


def _measures(facts: Mapping[str, Any]) -> Iterator[Chip]:
    measures = _group(facts, "measures")
    share, priority = measures.get("capacity_share_pct"), measures.get("incident_priority")
    if type(share) is int and share >= MUCH_CAPACITY:
        yield Chip(f"{share} % of capacity")
    if type(priority) is int and priority in GRAVE_INCIDENTS:
        yield Chip(f"P{priority} incident")
    if measures.get("change_freeze") == 1:
        yield Chip("change freeze")


_SOURCES: tuple[Callable[[Mapping[str, Any]], Iterator[Chip]], ...] = (_flow, _compliance, _rate, _usual, _measures)
