"""System checks of every role and tool: what is declared must be complete before anything runs."""

from collections.abc import Collection, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004 - Django's own name
from django.urls import NoReverseMatch, reverse

from agentops.registry.contracts import BadContracts, findings, read_contracts
from agentops.registry.flow import Sends
from agentops.registry.phase import problems_of_phases
from agentops.registry.planner import ASK_PERSON
from agentops.registry.process import problems_of_process
from agentops.registry.role import RoleSpec
from agentops.registry.roles import all_roles, contracts_path
from agentops.registry.schemas import problems_of
from agentops.registry.tool import DataClass, Tier, ToolSpec

_WRITE_CONTRACTS = "Raise the version of a tool that changed, then: manage.py contracts --write"


@register()
def check_roles(**_: Any) -> list[CheckMessage]:
    """agentops.E001 to E013 and W001, see the functions below."""
    roles = all_roles()
    problems = [problem for role in roles for problem in problems_of_role(role)]
    return [*problems, *(problem for role in roles for problem in problems_of_contracts(role, contracts_path(role)))]


def problems_of_contracts(role: RoleSpec, path: Path) -> Iterator[CheckMessage]:
    """E009: a tool that is not the one of its contract. W001: a version whose contract is not written yet."""
    try:
        stored = read_contracts(path)
    except BadContracts as error:
        yield Error(f"The role {role.name!r}: {error.message}.", hint=error.next_step, id="agentops.E009")
        return
    for found in findings(role, stored):
        if found.is_error:
            yield Error(found.words, hint=_WRITE_CONTRACTS, id="agentops.E009")
        else:
            yield Warning(found.words, hint=_WRITE_CONTRACTS, id="agentops.W001")


def problems_of_role(role: RoleSpec) -> Iterator[CheckMessage]:
    """E001: names that stand twice. E002: a grant, queue or hand-over that leads nowhere."""
    names = [tool.name for tool in role.tools]
    for kind, each in (
        ("tools", names),
        ("senders", [source.name for source in role.webhooks]),
        ("schedules", [schedule.name for schedule in role.schedules]),
    ):
        for name in sorted({name for name in each if each.count(name) > 1}):
            yield Error(f"The role {role.name!r} has two {kind} named {name!r}.", id="agentops.E001")
    for grant in role.grants:
        if grant.tool not in names:
            yield Error(f"The role {role.name!r} grants {grant.tool!r}, which is no tool.", id="agentops.E002")
    queues = {queue.slug for queue in role.queues}
    for tool in role.tools:
        if tool.is_write and tool.queue not in queues:
            hint = "Any write can be set to ask, so each names the queue of the people to ask."
            yield Error(f"The tool {tool.name!r} names no queue of its role.", hint=hint, id="agentops.E002")
        yield from problems_of_tool(tool)
        yield from problems_of_flow(tool, {intent.capability for intent in role.intents})
    fallback = role.tool(role.fallback("INTERNAL")[0])
    if fallback is None or fallback.tier is not Tier.WRITE_SOFT:
        yield Error(f"The hand-over of {role.name!r} is no soft write.", id="agentops.E002")
    yield from problems_of_processes(role)
    yield from problems_of_screens(role)
    yield from problems_of_scenarios(role)


def problems_of_scenarios(role: RoleSpec) -> Iterator[CheckMessage]:
    """E013: two scenarios of one name, and one that speaks of what is no tool of its role."""
    names = [scenario.name for scenario in role.scenarios]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Error(f"The role {role.name!r} has two scenarios named {name!r}.", id="agentops.E013")
    known = {tool.name for tool in role.tools}
    for scenario in role.scenarios:
        for tool in sorted(scenario.tools - known):
            words = f"The scenario {scenario.name!r} of {role.name!r} speaks of {tool!r}, which is no tool."
            yield Error(words, id="agentops.E013")


def problems_of_tool(tool: ToolSpec) -> Iterator[CheckMessage]:
    """E003: an unsafe schema. E004: a write without dry run. E005: undo in words.

    E006: scope or identity of no argument. E007: an undo that cannot be called, and a name that is taken.
    E010: no word of the worst call and of what stops it. E011: values of which nobody says what they mean.
    """
    for problem in (*problems_of(tool.input_schema), *problems_of(tool.output_schema, "output")):
        yield Error(f"The schema of {tool.name!r}: {problem}.", id="agentops.E003")
    if tool.is_write and tool.preview is None:
        yield Error(f"The write {tool.name!r} has no dry run.", id="agentops.E004")
    if tool.is_write and tool.irreversible == bool(tool.undo):
        yield Error(f"The write {tool.name!r} must name its undo, or say that it has none.", id="agentops.E005")
    known = tool.input_schema.get("properties", {})
    for name in (*tool.scoped, *tool.identity):
        if name not in known:
            yield Error(f"The tool {tool.name!r} speaks of {name!r}, which is no argument.", id="agentops.E006")
    for problem in _problems_of_undo(tool):
        yield Error(f"The tool {tool.name!r} {problem}.", id="agentops.E007")
    if tool.is_write and not (tool.worst and tool.stopped_by):
        hint = "Fill worst and stopped_by; they are shown on the page of the blast radius."
        words = f"The write {tool.name!r} must name the worst single call and the control that stops it."
        yield Error(words, hint=hint, id="agentops.E010")
    if not (tool.is_write or tool.worst or tool.data_class is DataClass.PUBLIC):
        words = f"The read {tool.name!r} of data that is not public must name the worst single call."
        yield Error(words, id="agentops.E010")


def problems_of_flow(tool: ToolSpec, capabilities: Collection[str]) -> Iterator[CheckMessage]:
    """E011. What is not declared counts as the worst, so a tool without declarations only ever asks."""
    flow, known = tool.flow, tool.input_schema.get("properties", {})
    for path in (*flow.arguments, flow.document):
        if path and path.partition(".")[0].removesuffix("[]") not in known:
            yield Error(f"The flow of {tool.name!r} speaks of {path!r}, which is no argument.", id="agentops.E011")
    if not tool.is_write:
        if flow.sends is not Sends.NOWHERE:
            hint = "Declare it as a soft write with a dry run: a person may have to be asked before something leaves."
            yield Error(f"The read {tool.name!r} carries something out of the house.", hint=hint, id="agentops.E011")
        return
    for name in known:
        if not any(path == name or path.startswith((f"{name}.", f"{name}[]")) or not path for path in flow.arguments):
            yield Error(f"The write {tool.name!r} does not say what {name!r} means (flow).", id="agentops.E011")
    if flow.capability not in capabilities:
        hint = "Add an Intent to the role, or a person is asked each time."
        words = f"No words of a request ask for {flow.capability!r}, which {tool.name!r} does."
        yield Error(words, hint=hint, id="agentops.E011")


def _problems_of_undo(tool: ToolSpec) -> Iterator[str]:
    if tool.name == ASK_PERSON:
        yield "has the name under which questions to people are recorded"
    if tool.undo_within is not None and tool.undo_call is None:
        yield "says how long its undo works, but not which call it is"
    if tool.undo_within is not None and tool.undo_within <= timedelta():
        yield "can be undone for no time at all"
    if tool.undo_call is None:
        return
    if tool.irreversible or not tool.is_write:
        yield "names the call that undoes it, although there is nothing that can be undone"
    elif not tool.undo:
        yield "names the call that undoes it, but does not say so in words"


def problems_of_screens(role: RoleSpec) -> Iterator[CheckMessage]:
    """E012: pages whose entry in the navigation leads nowhere, or that nobody may read."""
    if role.screens is None:
        return
    if not role.screens.readers:
        yield Error(f"Nobody may read the pages of the role {role.name!r}.", id="agentops.E012")
    try:
        reverse(role.screens.home, urlconf=role.screens.urlconf)
    except (NoReverseMatch, ImportError) as error:
        hint = "The URL name of home is one of the role's own urlconf."
        words = f"The pages of the role {role.name!r} cannot be reached: {error}."
        yield Error(words, hint=hint, id="agentops.E012")


def problems_of_processes(role: RoleSpec) -> Iterator[CheckMessage]:
    """E008: a state chart that does not hold together, steps of no tool, and a tool that two processes govern.

    Also phases that withhold or need what they cannot.
    """
    tools = {tool.name for tool in role.tools}
    names = [process.name for process in role.processes]
    governed: dict[str, str] = {}
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Error(f"The role {role.name!r} has two processes named {name!r}.", id="agentops.E008")
    for process in role.processes:
        problems = list(problems_of_process(process))
        problems += [f"the step {edge.name!r} is a call of no tool" for edge in process.edges if edge.tool not in tools]
        for tool in sorted(process.tools):
            owner = governed.setdefault(tool, process.name)
            if owner != process.name:
                problems.append(f"the tool {tool!r} is a step of {owner!r} as well")
        for problem in problems:
            yield Error(f"In the process {process.name!r} {problem}.", id="agentops.E008")
    writes = {tool.name: tool.is_write for tool in role.tools}
    for problem in problems_of_phases(role.phases, writes, hand_over=role.fallback("INTERNAL")[0]):
        yield Error(f"In the role {role.name!r} {problem}.", id="agentops.E008")
