"""Every tool of every role has its contract on file: golden arguments that it takes, and what callers rely on.

Whoever changes what callers rely on raises the tool's version and writes its entry anew:

    python -m tests.architecture.contracts
"""

import pytest

from agentops.registry import schemas
from agentops.registry.roles import all_roles
from agentops.registry.tool import ToolSpec
from tests.architecture.contracts import FOLDER, entry_of, stored

TOOLS = [pytest.param(role.name, tool, id=f"{role.name}-{tool.name}") for role in all_roles() for tool in role.tools]


def test_every_tool_of_every_role_has_an_entry() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(role.name for role in all_roles())
    for role in all_roles():
        assert sorted(stored(role.name)) == sorted(tool.name for tool in role.tools)


@pytest.mark.parametrize(("role", "tool"), TOOLS)
def test_contract_is_the_one_on_file(role: str, tool: ToolSpec) -> None:
    golden, now = stored(role)[tool.name], entry_of(tool)
    assert now["version"] == golden["version"]
    assert now["relied_on"] == golden["relied_on"], "what callers rely on changed, and the version did not"


@pytest.mark.parametrize(("role", "tool"), TOOLS)
def test_golden_arguments_are_taken(role: str, tool: ToolSpec) -> None:
    checker, golden = schemas.validator(tool.input_schema), stored(role)[tool.name]["arguments"]
    assert golden
    assert [schemas.violations(checker, arguments) for arguments in golden] == [[]] * len(golden)
