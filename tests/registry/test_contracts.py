"""Contracts on file: a change is named, needs a version, and what a new version breaks is told."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentops.management.commands import contracts as command
from agentops.registry.checks import problems_of_contracts
from agentops.registry.contracts import BadContracts, read_contracts, renewed, write_contracts
from agentops.registry.role import RoleSpec
from agentops.registry.roles import UnknownRole, all_roles, contracts_path
from agentops.registry.tool import ToolSpec
from tests.factories.toy import Toy

GOLDEN = {"look": {"account": "a-1"}, "pay": {"account": "a-1", "minor": 5}, "pay_back": {"account": "a-1", "minor": 5}}


def toy() -> RoleSpec:
    role = Toy().spec()
    tools = (tool for tool in role.tools if tool.name in GOLDEN)
    return replace(role, tools=tuple(replace(tool, examples=(GOLDEN[tool.name],)) for tool in tools))


def changed(name: str, **changes: Any) -> RoleSpec:
    role = toy()
    return replace(role, tools=tuple(replace(t, **changes) if t.name == name else t for t in role.tools))


def pay() -> ToolSpec:
    return next(tool for tool in toy().tools if tool.name == "pay")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "contracts.json"
    write_contracts(found, renewed(toy(), {}))
    return found


def told(role: RoleSpec, path: Path) -> list[tuple[str | None, str]]:
    return [(problem.id, problem.msg) for problem in problems_of_contracts(role, path)]


NARROW = {
    **pay().input_schema,
    "properties": {**pay().input_schema["properties"], "minor": {"type": "integer", "minimum": 2, "maximum": 10**9}},
}
WIDE = {
    **pay().input_schema,
    "properties": {**pay().input_schema["properties"], "account": {"type": "string", "maxLength": 30}},
}


def test_what_is_on_file_fits(path: Path) -> None:
    assert told(toy(), path) == []


def test_changed_arguments_without_a_version_are_named(path: Path) -> None:
    words = "The arguments of 'pay' changed and its version did not: arguments.minor: minimum was 1 and is 2."
    assert told(changed("pay", input_schema=NARROW), path) == [("agentops.E009", words)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"input_schema": WIDE},
            "The arguments of 'pay' changed and its version did not: arguments.account: maxLength",
        ),
        (
            {"output_schema": {"type": "object", "additionalProperties": False}},
            "The result of 'pay' changed and its version did not: result.receipt is gone; result.minor is gone.",
        ),
        (
            {"identity": ("account",), "versioned": True},
            "What callers of 'pay' rely on changed and its version did not: identity was [] and is [\"account\"]; v",
        ),
    ],
)
def test_every_kind_of_change_is_named(changes: dict[str, Any], words: str, path: Path) -> None:
    [(code, message)] = told(changed("pay", **changes), path)
    assert code == "agentops.E009"
    assert message.startswith(words)


def test_raised_version_warns_of_what_callers_must_change(path: Path) -> None:
    words = "Version 2 of 'pay' breaks callers, who must change: arguments.minor: minimum was 1 and is 2."
    assert told(changed("pay", version=2, input_schema=NARROW), path) == [
        (
            "agentops.W001",
            f"{words} The contract on file is of version 1.",
        )
    ]
    assert told(changed("pay", version=2, input_schema=WIDE), path) == [
        ("agentops.W001", "Version 2 of 'pay' breaks no caller. The contract on file is of version 1.")
    ]


def test_contract_of_the_raised_version_ends_the_warning(path: Path) -> None:
    role = changed("pay", version=2, input_schema=NARROW)
    write_contracts(path, renewed(role, read_contracts(path)))
    assert told(role, path) == []
    assert [code for code, _ in told(toy(), path)] == ["agentops.E009"]


def test_writing_keeps_what_changed_without_a_version(path: Path) -> None:
    role = changed("pay", input_schema=NARROW)
    write_contracts(path, renewed(role, read_contracts(path)))
    assert [code for code, _ in told(role, path)] == ["agentops.E009"]


def test_missing_and_left_over_contracts_are_named(path: Path) -> None:
    stored = read_contracts(path)
    stored["fly"] = stored.pop("look")
    write_contracts(path, stored)
    assert told(toy(), path) == [
        ("agentops.E009", "The contract of 'fly' is on file, and there is no such tool."),
        ("agentops.E009", "The tool 'look' has no contract on file."),
    ]


def test_golden_arguments_are_there_and_taken(path: Path) -> None:
    stored = read_contracts(path)
    stored["look"]["arguments"], stored["pay"]["arguments"] = [], [{"account": "a-1", "minor": 0}]
    write_contracts(path, stored)
    assert told(toy(), path) == [
        ("agentops.E009", "The contract of 'look' holds no golden arguments."),
        (
            "agentops.E009",
            "The tool 'pay' does not take its golden arguments: minor: 0 is less than the minimum of 1.",
        ),
    ]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1, "a": 2}', '{"pay": {"version": "1"}}', '{"pay": []}'])
def test_file_that_is_none_is_an_error(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadContracts):
        read_contracts(path)
    assert [code for code, _ in told(toy(), path)] == ["agentops.E009"]


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    [(code, words)] = told(toy(), tmp_path / "contracts.json")
    assert (code, words) == ("agentops.E009", "The role 'toy': there are no contracts on file.")


def test_contracts_lie_beside_the_role() -> None:
    assert [contracts_path(role).parent.name for role in all_roles()] == [
        "support_agent",
        "billing_agent",
        "sre_agent",
    ]
    with pytest.raises(UnknownRole):
        contracts_path(toy())


@pytest.fixture
def role_of_command(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(role: RoleSpec) -> None:
        monkeypatch.setattr(command, "all_roles", lambda: (role,))
        monkeypatch.setattr(command, "contracts_path", lambda _: path)

    return use


def test_command_names_what_differs_and_writes_nothing(
    path: Path, role_of_command: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    before = path.read_text(encoding="utf-8")
    role_of_command(toy())
    call_command("contracts")
    assert capsys.readouterr().out == "The contracts on file are those of the tools.\n"
    role_of_command(changed("pay", version=2, input_schema=NARROW))
    with pytest.raises(CommandError, match=r"Version 2 of 'pay' breaks callers, who must change: arguments\.minor"):
        call_command("contracts")
    assert path.read_text(encoding="utf-8") == before


def test_command_writes_raised_versions_and_says_what_they_break(
    path: Path, role_of_command: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    role_of_command(changed("pay", version=2, input_schema=NARROW))
    call_command("contracts", "--write")
    assert "breaks callers, who must change: arguments.minor" in capsys.readouterr().out
    assert json.loads(path.read_text(encoding="utf-8"))["pay"]["version"] == 2


def test_command_refuses_to_write_a_change_without_a_version(path: Path, role_of_command: Any) -> None:
    before = path.read_text(encoding="utf-8")
    role_of_command(changed("pay", input_schema=NARROW))
    with pytest.raises(CommandError, match="its version did not"):
        call_command("contracts", "--write")
    assert path.read_text(encoding="utf-8") == before


def test_command_begins_a_file_and_leaves_a_broken_one_alone(path: Path, role_of_command: Any) -> None:
    role_of_command(toy())
    path.unlink()
    call_command("contracts", "--write")
    assert told(toy(), path) == []
    path.write_text("{", encoding="utf-8")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("contracts", "--write")
    assert path.read_text(encoding="utf-8") == "{"
