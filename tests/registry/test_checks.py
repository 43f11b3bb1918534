"""What a role declares is checked before anything runs."""

from dataclasses import replace
from typing import Any

import pytest

from agentops.registry.checks import problems_of_role
from agentops.registry.role import GrantDefault, RoleSpec
from agentops.registry.roles import all_roles
from agentops.registry.tool import Dial
from tests.factories.toy import Toy


def ids(role: RoleSpec) -> list[str | None]:
    return [problem.id for problem in problems_of_role(role)]


def with_tool(name: str, **changes: Any) -> RoleSpec:
    role = Toy().spec()
    return replace(role, tools=tuple(replace(t, **changes) if t.name == name else t for t in role.tools))


def test_every_role_of_the_installation_is_complete() -> None:
    assert [problem for role in all_roles() for problem in problems_of_role(role)] == []


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Toy().spec(), []),
        (replace(Toy().spec(), tools=Toy().spec().tools * 2), ["agentops.E001"] * 4),
        (replace(Toy().spec(), grants=(GrantDefault("fly", Dial.ASK),)), ["agentops.E002"]),
        (replace(Toy().spec(), fallback=lambda reason: ("pay", {})), ["agentops.E002"]),
        (with_tool("pay", queue="nowhere"), ["agentops.E002"]),
        (with_tool("pay", input_schema={"type": "object"}, scoped={}), ["agentops.E003"] * 2),
        (with_tool("pay", preview=None), ["agentops.E004"]),
        (with_tool("pay", irreversible=True), ["agentops.E005"]),
        (with_tool("pay", undo=None), ["agentops.E005"]),
        (with_tool("pay", identity=("colour",)), ["agentops.E006"]),
    ],
)
def test_incomplete_role_is_named(role: RoleSpec, expected: list[str]) -> None:
    assert ids(role) == expected
