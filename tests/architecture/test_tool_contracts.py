"""Every tool of every role has its contract on file, and a change of one is a new version.

Whoever changes what callers rely on raises the tool's version and writes its contract: manage.py contracts --write
"""

import os
import subprocess
import sys

import pytest

from agentops.registry.checks import problems_of_contracts
from agentops.registry.contracts import entry_of, read_contracts
from agentops.registry.role import RoleSpec
from agentops.registry.roles import all_roles, contracts_path
from tests.architecture.markdown import ROOT


@pytest.mark.parametrize("role", all_roles(), ids=lambda role: role.name)
def test_contracts_on_file_are_those_of_the_tools(role: RoleSpec) -> None:
    path = contracts_path(role)
    assert list(problems_of_contracts(role, path)) == []
    stored = read_contracts(path)
    now = {tool.name: entry_of(tool) for tool in role.tools}
    golden = {name: entry.pop("arguments") for name, entry in stored.items()}
    assert stored == {name: {k: v for k, v in entry.items() if k != "arguments"} for name, entry in now.items()}
    assert [name for name, arguments in golden.items() if not arguments] == []


def test_the_drills_role_is_complete_too() -> None:
    """Its settings are others, so it is checked by a process of its own."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "agentops.chaos.settings"}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "System check identified no issues (0 silenced)."), done.stderr
