"""``manage.py scenarios`` as people and pipelines run it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "AGENTOPS_TEST_DATABASE"}
    command = [sys.executable, "manage.py", "scenarios", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nobody",), "There is no role 'nobody'; this installation has"),
        (("billing", "--only", "nothing"), "has no scenario 'nothing'"),
        (("billing", "--planner", "model"), "AGENT_MODEL names no model"),
    ],
)
def test_what_does_not_exist_is_a_usage_error(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words) as caught:
        call_command("scenarios", *arguments)
    assert caught.value.returncode == 2


def test_a_run_prints_one_json_object_and_leaves_nothing_behind() -> None:
    ran = run("billing", "--only", "charge-of-exactly-50-runs", "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report: dict[str, Any] = json.loads(ran.stdout)
    assert report["scenarios"][0].pop("seconds") > 0
    scenario: dict[str, Any] = {
        "name": "charge-of-exactly-50-runs",
        "passed": True,
        "outcome": "escalated",
        "differences": [],
    }
    scenario["figures"] = {}
    assert report == {"role": "billing", "passed": 1, "failed": 0, "left_out": [], "scenarios": [scenario]}
