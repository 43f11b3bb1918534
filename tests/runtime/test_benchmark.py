"""The runtime's benchmark measures what it says: a tiny run, whose counts are checked and whose times are not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

ROOT = Path(__file__).resolve().parent.parent.parent
WHOLE_STEPS = {"raw_steps": "raw_events", "write_steps": "calls_succeeded", "read_steps": "reads"}


def run(*arguments: str, **environment: str) -> dict[str, Any]:
    mine = ("AGENTOPS_TEST_DATABASE", "DJANGO_SETTINGS_MODULE")
    done = subprocess.run(
        [sys.executable, "benchmarks/runtime.py", "--json", "--rounds", "1", *arguments],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in mine} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return run("--only", "core,others,decision,parked", "--others", "/bin/false", "--parked", "30,60", REDIS_URL="")


def test_both_sides_did_whole_steps(figures: dict[str, Any]) -> None:
    rows = figures["rows"]
    assert min(rows.values()) > 0
    assert rows["raw_events"] == 2 * rows["raw_steps"]
    assert rows["intents"] == rows["results"] == rows["calls_succeeded"] == rows["write_steps"]
    assert rows["reads"] == rows["read_steps"]


def test_a_write_costs_the_server_more_than_the_reference_and_a_read_less_than_a_write(figures: dict[str, Any]) -> None:
    assert figures["server"]["synchronous_commit"] == figures["server"]["fsync"] == "on"
    assert figures["raw_commits_step"] >= 2
    assert figures["commits_step"] > figures["commits_one_more_step"] == pytest.approx(2, abs=0.1)
    assert figures["statements_step"] >= 2
    assert 1 <= figures["read_statements_step"] < figures["statements_step"]
    assert figures["wal_20"] > figures["raw_wal_20"] > 1_000
    assert 1_000 < figures["read_wal_20"] < figures["wal_20"]


def test_ratios_are_of_the_same_round(figures: dict[str, Any]) -> None:
    assert figures["ratio"] == pytest.approx(figures["ours_ms"] / figures["raw_ms"], rel=0.02)
    assert figures["read_ratio"] == pytest.approx(figures["read_ms"] / figures["raw_ms"], rel=0.02)
    assert figures["growth_300_over_20"] == pytest.approx(figures["ours_300_ms"] / figures["ours_ms"], rel=0.02)
    assert figures["wal_growth_300_over_20"] == pytest.approx(figures["wal_300"] / figures["wal_20"], rel=0.02)


def test_parked_sessions_stay_parked(figures: dict[str, Any]) -> None:
    assert list(figures["parked"]) == ["30", "60"]
    for row in figures["parked"].values():
        assert row["swept"] == 0
        assert row["claim_ms"] > 0
        assert row["sweep_ms"] > 0


def test_what_was_not_measured_is_null_with_the_reason(figures: dict[str, Any]) -> None:
    nulls = {name for name, value in figures.items() if value is None}
    assert nulls == set(figures["reasons"])
    assert {"dbos_ms", "langgraph_ms", "throughput", "decision_to_effect_ms", "floor_ms"} <= nulls
    assert figures["reasons"]["throughput"] == "not asked for"
    assert figures["reasons"]["dbos_ms"].startswith("ended")
    assert figures["reasons"]["floor_ms"] == "REDIS_URL is not set"


def test_nothing_is_left_behind(figures: dict[str, Any]) -> None:
    params = connection.get_connection_params()
    place = {name: params.get(name) for name in ("host", "port", "user", "password") if params.get(name)}
    with psycopg.connect(make_conninfo(**place, dbname="postgres")) as server:
        names = {name for (name,) in server.execute("SELECT datname FROM pg_database")}
    assert figures["server"]["database"] not in names


@pytest.mark.skipif(not os.environ.get("REDIS_URL"), reason="needs a Redis: set REDIS_URL")
def test_a_decision_is_timed_through_a_worker() -> None:
    figures = run("--only", "decision")
    assert figures["decision_events"] == [20, 300]
    assert figures["decision_to_effect_ms"] > 0
    assert figures["floor_ms"] > 0
