"""Production settings, loaded as production loads them: by a fresh process with its own environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentops.embedded.secret import new_master_key
from agentops.ledger.notes import SigningKey

ROOT = Path(__file__).parents[2]

COMPLETE = {
    "SECRET_KEY": "x" * 60 + "yz123",
    "ALLOWED_HOSTS": "agents.example.com",
    "DATABASE_URL": "postgres://agentops@db.example.com/agentops",
    "REDIS_URL": "redis://redis.example.com",
}
SHOWN = """
import json
import django
django.setup()
from django.conf import settings
print(json.dumps({name: getattr(settings, name) for name in NAMES}, default=str))
"""


def run(values: dict[str, str], *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "agentops.settings.production", **values},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("missing", sorted(COMPLETE))
def test_each_required_setting_is_named_when_it_is_missing(missing: str) -> None:
    values = {name: value for name, value in COMPLETE.items() if name != missing}
    answer = run(values, "manage.py", "check")
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"Set the environment variable {missing}")
    assert len(answer.stderr.strip().splitlines()) == 1


def test_deployment_checks_have_no_complaint() -> None:
    kept = {"LEDGER_KEY": SigningKey("log.example", bytes(32)).skey(), "LEDGER_SINKS": "folder audit /mnt/audit"}
    values = {**COMPLETE, **kept, "VAULT_KEY": new_master_key()}
    answer = run(values, "manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip().startswith("System check identified no issues")


def test_without_a_master_key_the_checks_complain() -> None:
    answer = run(COMPLETE, "manage.py", "check")
    assert answer.returncode == 1
    assert "agentops.E107" in answer.stderr


def test_nothing_of_the_demo_is_left() -> None:
    names = ["DEMO_ACCOUNTS", "DEMO_SEEDS", "DEBUG", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "ALLOWED_HOSTS"]
    answer = run(COMPLETE, "-c", SHOWN.replace("NAMES", repr(names)))
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == {
        "DEMO_ACCOUNTS": [],
        "DEMO_SEEDS": [],
        "DEBUG": False,
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "ALLOWED_HOSTS": ["agents.example.com"],
    }


def test_proxy_header_is_believed_only_when_asked() -> None:
    names = ["SECURE_PROXY_SSL_HEADER"]
    for flag, expected in (("no", None), ("yes", ["HTTP_X_FORWARDED_PROTO", "https"])):
        answer = run({**COMPLETE, "BEHIND_PROXY": flag}, "-c", SHOWN.replace("NAMES", repr(names)))
        assert json.loads(answer.stdout) == {"SECURE_PROXY_SSL_HEADER": expected}
