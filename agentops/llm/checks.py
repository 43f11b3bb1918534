"""System checks of the model settings, and of the one tool name that is taken."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from agentops.llm.configuration import BadModelSetting, model_choice
from agentops.llm.context import FINAL_TOOL
from agentops.registry.roles import all_roles


@register()
def check_model_settings(**_: Any) -> list[CheckMessage]:
    """agentops.E101 names no model, E102 is no address, E103 is no key."""
    try:
        model_choice()
    except BadModelSetting as error:
        return [Error(error.message, hint=error.next_step, id=error.check_id)]
    return []


@register()
def check_tool_names(**_: Any) -> list[CheckMessage]:
    """agentops.E104: a role declares a tool under the name with which a planner ends its work."""
    return [
        Error(f"The role {role.name!r} has a tool named {FINAL_TOOL!r}.", hint="Rename the tool.", id="agentops.E104")
        for role in all_roles()
        if role.tool(FINAL_TOOL) is not None
    ]
