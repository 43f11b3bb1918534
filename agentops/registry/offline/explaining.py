"""Answering a person who asks about a proposal (pure): why, what was read before, and what was not.

The playbook does not understand questions. It says everything that it knows about the call, whatever is asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agentops.registry.planner import Observation, ObservationStatus, PlanContext, ToolCall

MOST_NAMED = 12
MOST_VALUE = 40


def explanation(context: PlanContext, call: ToolCall) -> str:
    """Return what is known about ``call``, in plain sentences."""
    looked = [seen for seen in context.history if seen.tool in _reads(context)]
    found = [seen for seen in looked if seen.status is ObservationStatus.OK]
    failed = [seen for seen in looked if seen.status is not ObservationStatus.OK]
    unused = sorted(_reads(context) - {seen.tool for seen in looked})
    lines = [
        f"Why: {call.rationale or 'No reason was given.'}",
        f"Read before: {_listed(found)}." if found else "Read before: nothing but the message itself.",
    ]
    if failed:
        lines.append(f"Could not be read: {_listed(failed)}.")
    if unused:
        lines.append(f"Not looked at: {', '.join(unused[:MOST_NAMED])}.")
    lines.append(
        "Not checked: whether what the message claims is true beyond these records, and what no look-up shows. "
        "I follow a fixed playbook and cannot answer more than this."
    )
    return "\n".join(lines)


def _reads(context: PlanContext) -> frozenset[str]:
    return frozenset(tool.name for tool in context.tools if not tool.is_write)


def _listed(seen: Sequence[Observation]) -> str:
    named = list(dict.fromkeys(f"{one.tool} ({_short(one.arguments)}, step {one.step})" for one in seen))
    more = len(named) - MOST_NAMED
    return ", ".join(named[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _short(arguments: Any) -> str:
    if not isinstance(arguments, Mapping) or not arguments:
        return "all"
    return ", ".join(str(value)[:MOST_VALUE] for value in arguments.values())
