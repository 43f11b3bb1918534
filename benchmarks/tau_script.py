"""The recorded calls of a task as proposals of our tools. Loaded in every worker process."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, PlanContext, Proposal, ToolCall
from support_agent.role import ROLE

Arguments = dict[str, Any]


def _same(arguments: Arguments) -> Arguments:
    return arguments


def _without(*names: str) -> Callable[[Arguments], Arguments]:
    return lambda arguments: {name: value for name, value in arguments.items() if name not in names}


_TOOLS: dict[str, tuple[str, Callable[[Arguments], Arguments]]] = {
    "find_user_id_by_email": ("lookup_customer", _same),
    "find_user_id_by_name_zip": ("lookup_customer", _same),
    "get_user_details": ("lookup_customer", _without("user_id")),
    "get_order_details": ("lookup_order", _same),
    "get_product_details": ("lookup_product", _same),
    "list_all_product_types": ("list_products", _same),
    "transfer_to_human_agents": (
        "escalate_ticket",
        lambda arguments: {"reason": "Outside what the agent may do.", "summary": arguments["summary"]},
    ),
    "cancel_pending_order": ("cancel_pending_order", _same),
    "modify_pending_order_items": ("change_order_items", _same),
    "modify_pending_order_address": ("change_order_address", _same),
    "modify_pending_order_payment": ("change_order_payment", _same),
    "modify_user_address": ("change_customer_address", _without("user_id")),
    "return_delivered_order_items": ("return_delivered_items", _same),
    "exchange_delivered_order_items": ("exchange_delivered_items", _same),
}
_NOT_A_TOOL = frozenset({"calculate", "think"})
"""Calls that touch nothing outside the model; there is nothing to propose for them."""

WRITES = frozenset(ours for ours, _ in _TOOLS.values() if (tool := ROLE.tool(ours)) and tool.tier.value == "write-hard")


def unknown_calls(actions: list[dict[str, Any]]) -> list[str]:
    """Return the names of recorded calls that have no counterpart here."""
    return [action["tool"] for action in actions if action["tool"] not in {*_TOOLS, *_NOT_A_TOOL}]


def proposals_of(actions: list[dict[str, Any]]) -> list[ToolCall]:
    """Return our calls for a task's recorded ones, in their order; see ``unknown_calls`` for what is left out."""
    calls = []
    for action in actions:
        if action["tool"] in _TOOLS:
            name, translate = _TOOLS[action["tool"]]
            calls.append(ToolCall(name, translate(action["arguments"]), "The recorded call of this request."))
    return calls


_REPLY = ToolCall("send_reply", {"body": "Your request was worked on; please see your orders."}, "The work is done.")


@cache
def _script() -> dict[str, list[ToolCall]]:
    lines = Path(os.environ["TAU_RETAIL_TASKS"]).read_text(encoding="utf-8").splitlines()
    return {task["id"]: [*proposals_of(task["actions"]), _REPLY] for task in map(json.loads, lines)}


def _next(context: PlanContext) -> Proposal:
    calls = _script()[context.subject.title]
    done = len(context.history)
    return calls[done] if done < len(calls) else FinalAnswer("All recorded calls were proposed.")


def use_script() -> None:
    """Let every session of this process follow the recording of the task that its ticket is titled with."""
    scripted = replace(ROLE, playbook=lambda: ScriptedPlanner(_next, name="recorded calls"))
    roles.all_roles = lambda: (scripted,)  # type: ignore[assignment] # for this process only
