"""What a role declares is checked before anything runs."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.checks import problems_of_role
from agentops.registry.flow import Argument, Flow, Kind, Sends
from agentops.registry.phase import Phase
from agentops.registry.process import Edge, ProcessSpec
from agentops.registry.role import GrantDefault, RoleSpec
from agentops.registry.roles import all_roles
from agentops.registry.scenario import Fails
from agentops.registry.screens import Screens
from agentops.registry.tool import DataClass, Dial
from billing_agent.hooks import STRIPE
from billing_agent.schedules import SCHEDULES
from tests.factories.scenes import scene, with_scenes
from tests.factories.toy import TOY_FLOW, Toy


def ids(role: RoleSpec) -> list[str | None]:
    return [problem.id for problem in problems_of_role(role)]


def with_tool(name: str, /, **changes: Any) -> RoleSpec:
    role = Toy().spec()
    return replace(role, tools=tuple(replace(t, **changes) if t.name == name else t for t in role.tools))


PAID = ProcessSpec("paid", 1, "Paid", "open", frozenset({"paid"}), (Edge("pay", "open", "paid", "pay"),))


def with_processes(*processes: ProcessSpec) -> RoleSpec:
    return replace(Toy().spec(), processes=processes)


SEEN = Phase("act", "Act", frozenset({"pay"}), ("look",), "Look before you pay.")


def with_phases(*phases: Phase) -> RoleSpec:
    return replace(Toy().spec(), phases=phases)


WORDS = Argument(Kind.LABEL)


def with_flow(name: str, /, **changes: Any) -> RoleSpec:
    return with_tool(name, flow=replace(TOY_FLOW, **changes))


def with_screens(**changes: Any) -> RoleSpec:
    screens = Screens("Toys", "sum", "home", "agentops.console.urls", frozenset({"support"}))
    return replace(Toy().spec(), screens=replace(screens, **changes))


def pay_back(arguments: Any, result: Any) -> None:
    """The undo of no call."""


def test_every_role_of_the_installation_is_complete() -> None:
    assert [problem for role in all_roles() for problem in problems_of_role(role)] == []


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Toy().spec(), []),
        (replace(Toy().spec(), tools=Toy().spec().tools * 2), ["agentops.E001"] * len(Toy().spec().tools)),
        (replace(Toy().spec(), webhooks=(STRIPE, STRIPE)), ["agentops.E001"]),
        (replace(Toy().spec(), schedules=SCHEDULES * 2), ["agentops.E001"]),
        (replace(Toy().spec(), grants=(GrantDefault("fly", Dial.ASK),)), ["agentops.E002"]),
        (replace(Toy().spec(), fallback=lambda reason: ("pay", {})), ["agentops.E002"]),
        (with_tool("pay", queue="nowhere"), ["agentops.E002"]),
        (with_tool("pay", input_schema={"type": "object"}, scoped={}), ["agentops.E003"]),
        (with_scenes(Toy(), scene("twice", 1), scene("twice", 2)), ["agentops.E013"]),
        (with_scenes(Toy(), scene("flies", 1, disturbed=(Fails("fly", FailureKind.TIMEOUT),))), ["agentops.E013"]),
        (with_tool("pay", output_schema={"type": "object"}), ["agentops.E003"]),
        (with_tool("pay", preview=None), ["agentops.E004"]),
        (with_tool("note", irreversible=True), ["agentops.E005"]),
        (with_tool("note", undo=None), ["agentops.E005"]),
        (with_tool("pay", identity=("colour",)), ["agentops.E006"]),
        (with_tool("note", undo_call=pay_back), []),
        (with_tool("note", undo_call=pay_back, undo_within=timedelta(hours=1)), []),
        (with_tool("note", undo_call=pay_back, undo=None), ["agentops.E005", "agentops.E007"]),
        (with_tool("note", undo_within=timedelta(hours=1)), ["agentops.E007"]),
        (with_tool("note", undo_call=pay_back, undo_within=timedelta(0)), ["agentops.E007"]),
        (with_tool("note", undo_call=pay_back, undo=None, irreversible=True), ["agentops.E007"]),
        (with_tool("look", undo_call=pay_back), ["agentops.E007"]),
        (with_tool("note", name="ask_person"), ["agentops.E002", "agentops.E007"]),
        (with_tool("pay", worst=""), ["agentops.E010"]),
        (with_tool("note", stopped_by=""), ["agentops.E010"]),
        (with_tool("look", worst=""), ["agentops.E010"]),
        (with_tool("look", worst="", data_class=DataClass.PUBLIC), []),
        (with_tool("look", stopped_by=""), []),
        (with_flow("pay", arguments={"account": WORDS, "minor": WORDS}), []),
        (with_flow("pay", arguments={"account": WORDS}), ["agentops.E011"]),
        (with_flow("pay", arguments={"": WORDS, "acount": WORDS}), ["agentops.E011"]),
        (with_flow("pay", capability="fly"), ["agentops.E011"]),
        (with_tool("pay", flow=Flow("toy")), ["agentops.E011"] * 2),
        (with_flow("look", arguments={}, capability="fly"), []),
        (with_flow("look", arguments={"acount[].id": WORDS}), ["agentops.E011"]),
        (with_flow("look", document="acount"), ["agentops.E011"]),
        (with_flow("look", sends=Sends.OUTSIDE), ["agentops.E011"]),
        (with_processes(PAID), []),
        (with_screens(), []),
        (with_screens(readers=frozenset()), ["agentops.E012"]),
        (with_screens(home="nowhere"), ["agentops.E012"]),
        (with_screens(urlconf="no.such.module"), ["agentops.E012"]),
        (with_processes(PAID, replace(PAID, name="paid again")), ["agentops.E008"]),
        (with_processes(PAID, PAID), ["agentops.E008"]),
        (with_processes(replace(PAID, edges=(Edge("fly", "open", "paid", "fly"),))), ["agentops.E008"]),
        (with_processes(replace(PAID, final=frozenset())), ["agentops.E008"]),
        (with_phases(SEEN), []),
        (with_phases(replace(SEEN, needs=("note",))), ["agentops.E008"]),
        (with_phases(replace(SEEN, tools=frozenset({"hand_over"}))), ["agentops.E008"]),
    ],
)
def test_incomplete_role_is_named(role: RoleSpec, expected: list[str]) -> None:
    assert ids(role) == expected
