"""The facts of a proposal, as canonical JSON: everything that a rule may look at, and nothing else (pure)."""

from dataclasses import dataclass
from typing import Any

from agentops.registry.tool import Preview, ToolSpec


@dataclass(frozen=True)
class GrantFacts:
    """What the agent's version was given for this tool. ``bounded_here``: a threshold covers this call."""

    dial: str
    bounded_here: bool


@dataclass(frozen=True)
class SessionFacts:
    """Counters of the session so far."""

    steps: int
    writes: int


def facts_of(
    *,
    tool: ToolSpec,
    grant: GrantFacts | None,
    session: SessionFacts,
    preview: Preview | None,
    customer_day_minor: int,
    frozen: bool,
    elevated: bool,
) -> dict[str, Any]:
    """Return the facts of one proposed call.

    ``customer_day_minor`` is what tools of the same money family have already moved for the same target
    and currency on the tenant's business day, in minor units; the call's own amount is added here. ``frozen``: an
    operator has switched the tool off; ``elevated``: the session may use the tool's scope.
    """
    money = preview.money if preview is not None else None
    return {
        "tool": {
            "name": tool.name,
            "version": tool.version,
            "tier": tool.tier.value,
            "write": tool.is_write,
            "destructive": tool.destructive,
            "irreversible": tool.irreversible,
            "frozen": frozen,
            "elevated": elevated,
        },
        "grant": {
            "present": grant is not None,
            "dial": grant.dial if grant else "",
            "bounded_here": grant.bounded_here if grant else False,
        },
        "session": {"steps": session.steps, "writes": session.writes},
        "target": preview.target if preview is not None else "",
        "money": {
            "present": money is not None,
            **(
                {
                    "minor": money.minor,
                    "currency": money.currency,
                    "customer_day_minor": customer_day_minor + money.minor,
                }
                if money is not None
                else {}
            ),
        },
    }
