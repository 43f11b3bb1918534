"""The fault drill as operators run it: 300 workers die at every named point, and nothing is lost or made twice.

``CRASH_SEED=N`` repeats its choices; a failure prints the seed that it had.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from agentops.kernel.crashpoints import CrashPoint

ROOT = Path(__file__).parents[2]
KILLS = 300
PATIENCE = 900
ACTIONS = {
    "drill": {"note", "pay", "post", "reserve", "release", "charge", "credit", "ship", "hand_over"},
    "billing": {
        *(
            "ApplyCredit",
            "ReverseCredit",
            "RetryCharge",
            "RefundCharge",
            "GenerateInvoice",
            "VoidInvoice",
            "WriteOffInvoice",
        ),
        *("ChangePlan", "DropPlanChange", "PauseSubscription", "ResumeSubscription", "CancelSubscription"),
        *("WriteMail", "CloseCase", "EscalateCase"),
    },
}
"""What a drill must have made the system of record do, by role."""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("role", ACTIONS)
def test_nothing_is_lost_or_made_twice_wherever_a_worker_dies(role: str) -> None:
    seed = int(os.environ.get("CRASH_SEED", random.randrange(10**9)))
    drill = subprocess.Popen(
        [sys.executable, "manage.py", "chaos", "--role", role, "--kills", str(KILLS), "--seed", str(seed), "--json"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "AGENTOPS_TEST_DATABASE"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, said = drill.communicate(timeout=PATIENCE)
    finally:
        drill.terminate()
    note = f"repeat with CRASH_SEED={seed}: {out}\n{said}"
    assert drill.returncode == 0, note

    report = json.loads(out)
    wrong = {name: report[name] for name in ("lost", "duplicated", "mismatches", "deaths")}
    assert wrong == {"lost": 0, "duplicated": 0, "mismatches": 0, "deaths": 0}, note
    assert (report["role"], report["kills"], report["seed"]) == (role, KILLS, seed)
    assert report["reached_share"] >= 0.9, note
    assert set(report["by_point"]) == {point.value for point in CrashPoint}
    assert [point for point, (_, reached) in report["by_point"].items() if not reached] == [], note
    assert min(report["effects"], report["sessions"]) > KILLS, note
    assert report["stopped"] > 0, note
    assert ACTIONS[role] - report["actions"].keys() == set(), note
    assert f"chaos_{drill.pid}" not in databases()


def databases() -> list[str]:
    place = {**connection.get_connection_params(), "dbname": "postgres"}
    with psycopg.connect(**place) as server:
        return [str(name) for (name,) in server.execute("SELECT datname FROM pg_database").fetchall()]
