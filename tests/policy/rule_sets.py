"""A house with a few tools, and facts of a call in it: what tests of rule sets are about."""

import json
from typing import Any

from agentops.policy.rule_check import House
from agentops.registry.flow import Flow, Sends
from agentops.registry.tool import DataClass, Tier, ToolSpec


def tool(name: str, tier: Tier = Tier.WRITE_HARD, *, flow: Flow | None = None, **properties: Any) -> ToolSpec:
    return ToolSpec(
        name=name,
        version=1,
        owner="tests",
        description=name,
        input_schema={"type": "object", "properties": properties, "additionalProperties": False},
        output_schema={"type": "object", "properties": {}, "additionalProperties": False},
        tier=tier,
        auth_scope=name,
        data_class=DataClass.FINANCIAL if name == "pay" else DataClass.PERSONAL,
        run=lambda context, arguments: {},
        flow=flow or Flow(name),
    )


TEXT = {"type": "string", "maxLength": 80}
ITEMS = {
    "type": "array",
    "maxItems": 9,
    "items": {"type": "object", "properties": {"sku": TEXT, "count": {"type": "integer", "minimum": 1, "maximum": 99}}},
}
PAY = tool(
    "pay",
    minor={"type": "integer", "minimum": 1, "maximum": 10**9},
    to=TEXT,
    speed={"type": "string", "enum": ["slow", "fast"]},
    note={"anyOf": [TEXT, {"type": "null"}]},
    items=ITEMS,
)
WRITE = tool("write", Tier.WRITE_SOFT, flow=Flow("write", sends=Sends.OUTSIDE), to=TEXT, minor=TEXT)
LOOK = tool("look", Tier.READ, account=TEXT)
HOUSE = House((LOOK, PAY, WRITE), frozenset({"payments", "legal"}))

OVER = {"fact": "money.minor", "op": ">", "value": "50.00", "unit": "USD"}


def rule(**changes: Any) -> dict[str, Any]:
    """A sound rule, with changes; None takes a key away."""
    sound = {"id": "big", "tools": ["pay"], "when": [OVER], "effect": "ask", "words": "More than $50.00."}
    return {key: value for key, value in {**sound, **changes}.items() if value is not None}


def when(fact: str, op: str, value: Any, unit: str | None = None) -> dict[str, Any]:
    return {"fact": fact, "op": op, "value": value, **({} if unit is None else {"unit": unit})}


def text(*rules: Any) -> str:
    return json.dumps({"rules": list(rules)})


def facts(
    called: ToolSpec = PAY, *, money: tuple[int, str] | None = None, leaves: list[Any] | None = None, **arguments: Any
) -> dict[str, Any]:
    """Facts of one call that the baseline allows."""
    found: dict[str, Any] = {"present": False}
    if money is not None:
        found = {"present": True, "minor": money[0], "currency": money[1], "customer_day_minor": money[0]}
        found["usual_minor"] = -1
    return {
        "tool": {
            "name": called.name,
            "tier": called.tier.value,
            "write": called.is_write,
            "data_class": called.data_class.value,
            "capability": called.flow.capability,
        },
        "session": {"steps": 3, "writes": 1, "priority": 1, "by_person": False},
        "money": found,
        "measures": {"capacity_share_pct": -1, "incident_priority": -1},
        "flow": {"leaves": leaves or [], "chosen": False},
        "risk": {"score": 20},
        "arguments": arguments,
    }
