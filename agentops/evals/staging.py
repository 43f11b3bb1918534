"""The role as a scenario needs it: with tools that fail when they are meant to, and with a script as planner."""

from collections.abc import Sequence
from dataclasses import replace

from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.role import RoleSpec
from agentops.registry.scenario import Disturbance, Fails, LosesAnswer, Script
from agentops.registry.tool import Arguments, CallContext, OutcomeUnknown, Result, ToolFailure, ToolSpec

SCRIPT = "script of a scenario"
_LOST = "The answer was lost, as the scenario has it."


def disturbed(role: RoleSpec, disturbances: Sequence[Disturbance]) -> RoleSpec:
    """Return the role with its tools disturbed, each as often as it says."""
    tools = {tool.name: tool for tool in role.tools}
    for disturbance in disturbances:
        tool = tools[disturbance.tool]
        tools[tool.name] = _failing(tool, disturbance) if isinstance(disturbance, Fails) else _losing(tool, disturbance)
    return replace(role, tools=tuple(tools.values()))


def scripted(role: RoleSpec, script: Script) -> RoleSpec:
    """Return the role with a planner that follows the script."""
    return replace(role, playbook=lambda: ScriptedPlanner(script, name=SCRIPT))


def _failing(tool: ToolSpec, fails: Fails) -> ToolSpec:
    left = [fails.times]

    def run(context: CallContext, arguments: Arguments) -> Result:
        if left[0]:
            left[0] -= 1
            raise ToolFailure(fails.kind, "It failed, as the scenario has it.")
        return tool.run(context, arguments)

    return replace(tool, run=run)


def _losing(tool: ToolSpec, loses: LosesAnswer) -> ToolSpec:
    lost: set[str] = set()
    left = [1]

    def run(context: CallContext, arguments: Arguments) -> Result:
        if not left[0]:
            return tool.run(context, arguments)
        left[0] = 0
        lost.add(context.idempotency_key)
        if loses.acts:
            tool.run(context, arguments)
        raise OutcomeUnknown(_LOST)

    def reconcile(context: CallContext) -> Result | None:
        if context.idempotency_key in lost and not loses.tells:
            raise OutcomeUnknown(_LOST)
        return None if tool.reconcile is None else tool.reconcile(context)

    return replace(tool, run=run, reconcile=reconcile if tool.reconcile is not None else None)
