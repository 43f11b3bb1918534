"""One read and one write whose inside each test writes itself."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agentops.registry.tool import CallContext, DataClass, Preview, Tier, ToolSpec

TENANT = UUID(int=7)
CONTEXT = CallContext(TENANT, UUID(int=8), "w-1", None, datetime(2026, 11, 1, tzinfo=UTC), idempotency_key="k-1")
GOOD = {"balance": 5}

Run = Callable[..., Any]

READ = ToolSpec(
    name="look",
    version=1,
    owner="tests",
    description="Look.",
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
    output_schema={
        "type": "object",
        "properties": {"balance": {"type": "integer", "maximum": 10**9}},
        "required": ["balance"],
        "additionalProperties": False,
    },
    tier=Tier.READ,
    auth_scope="accounts:read",
    data_class=DataClass.INTERNAL,
    run=lambda context, arguments: GOOD,
)


def read_tool(run: Run, **more: Any) -> ToolSpec:
    """Return a read that does what ``run`` does."""
    return replace(READ, run=run, **more)


def write_tool(run: Run, **more: Any) -> ToolSpec:
    """Return a write that does what ``run`` does."""
    preview: Run = lambda context, arguments: Preview("Pay", "customer:ann")  # noqa: E731
    return replace(READ, **{"name": "pay", "tier": Tier.WRITE_HARD, "run": run, "preview": preview, **more})


def raising(*errors: BaseException) -> Run:
    """Return a function that raises the errors one after the other, and then returns something good."""
    left = list(errors)

    def run(*_: Any) -> Any:
        if left:
            raise left.pop(0)
        return GOOD

    return run
