"""What planners are shown in these tests: a ticket of Bob's customer, two tools, a history."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agentops.registry.planner import Observation, ObservationStatus, PlanContext, Subject
from agentops.registry.tool import DataClass, Tier, ToolSpec

SALT = b"a secret of the tests, long enough"
SESSION = UUID("019ad1a0-0000-7000-8000-000000000001")
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)

LOOKUP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["order_id"],
    "properties": {"order_id": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^#W[0-9]+$"}},
}
REFUND_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["order_id", "amount_minor"],
    "properties": {
        "order_id": {"type": "string", "maxLength": 40},
        "amount_minor": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
        "reason": {"type": "string", "enum": ["damaged", "late"]},
    },
}


def make_tool(name: str, schema: Mapping[str, Any], **changes: Any) -> ToolSpec:
    tool = ToolSpec(
        name=name,
        version=1,
        owner="support",
        description=f"Does {name}.",
        input_schema=schema,
        output_schema={"type": "object"},
        tier=Tier.READ,
        auth_scope="orders",
        data_class=DataClass.PERSONAL,
        run=lambda context, arguments: {},
    )
    return replace(tool, **changes)


REFUND = make_tool("issue_refund", REFUND_SCHEMA, tier=Tier.WRITE_HARD, irreversible=True)
LOOKUP = make_tool("look_up_order", LOOKUP_SCHEMA)


def make_context(**changes: Any) -> PlanContext:
    subject = Subject(
        kind="ticket",
        id="T-1",
        title="Broken lamp",
        text="My lamp arrived broken. Please refund order #W1.",
        sender="dana@example.com",
        customer_id="c-17",
        received_at=datetime(2026, 3, 1, 8, 0, tzinfo=UTC),
    )
    context = PlanContext(
        session_id=SESSION,
        goal="Work the ticket.",
        instructions="You are a support agent. Be brief.",
        subject=subject,
        tools=(REFUND, LOOKUP),
        history=(),
        now=NOW,
    )
    text = changes.pop("text", None)
    if text is not None:
        context = replace(context, subject=replace(subject, text=text))
    return replace(context, **changes)


def make_observation(step: int, **changes: Any) -> Observation:
    observation = Observation(
        step=step,
        tool="look_up_order",
        arguments={"order_id": f"#W{step}"},
        status=ObservationStatus.OK,
        result={"order_id": f"#W{step}", "status": "delivered"},
    )
    return replace(observation, **changes)
