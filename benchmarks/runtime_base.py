"""What every part of the runtime's benchmark needs: a scratch database, its agent, its sessions, and counters."""

import itertools
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from django.core.management import call_command
from django.db import connection
from psycopg.conninfo import make_conninfo

from agentops.agents.models import Agent
from agentops.agents.operations import create_agent
from agentops.runtime.dispatch import claim, work_session
from agentops.runtime.models import Session
from agentops.runtime.operations import start_session
from agentops.tenancy.models import Tenant
from benchmarks.runtime_role import ROLE

SHORT, LONG = 20, 300
_NOT_FOR_PSYCOPG = ("cursor_factory", "context", "prepare_threshold")
_numbers = itertools.count(1)


class BenchmarkFailed(RuntimeError):
    """What was measured is not what was meant to be measured, so there is no figure."""


def conninfo(database: str | None = None) -> str:
    """Return how plain psycopg reaches the scratch database, or another one of its server."""
    params = connection.get_connection_params()
    kept = {name: value for name, value in params.items() if name not in _NOT_FOR_PSYCOPG}
    return make_conninfo(**{**kept, "dbname": database or kept["dbname"]})


@contextmanager
def scratch_database() -> Iterator[None]:
    """Make a database of our own, which worker processes find by its name, and drop it at the end, whoever uses it."""
    settings = connection.settings_dict
    before, name = settings["NAME"], f"agentops_benchmark_{os.getpid()}"
    with psycopg.connect(conninfo("postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    settings["NAME"] = os.environ["AGENTOPS_TEST_DATABASE"] = name
    try:
        call_command("migrate", verbosity=0)
        yield
    finally:
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined] # of PostgreSQL
        with psycopg.connect(conninfo("postgres"), autocommit=True) as server:
            server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        settings["NAME"] = before
        del os.environ["AGENTOPS_TEST_DATABASE"]


def make_agent() -> Agent:
    """Make a tenant without limits and an agent of the benchmark's role."""
    tenant = Tenant.objects.create(slug="benchmark", name="Benchmark", max_running=1_000_000)
    return create_agent(tenant_id=tenant.pk, role=ROLE, name="Benchmark", actor="benchmark")


def start(agent: Agent, kind: str, steps: int) -> Session:
    """Start a session of ``kind`` (see ``runtime_role``)."""
    return start_session(agent=agent, subject_id=f"{kind}-{steps}-{next(_numbers)}", actor="benchmark")


@dataclass(frozen=True)
class Worked:
    """One claimed session that was worked, in seconds."""

    claim_s: float
    work_s: float


def work_next() -> Worked:
    """Claim the next session and work it until it is no longer held. Raises BenchmarkFailed when there is none."""
    began = time.perf_counter()
    held = claim()
    claimed = time.perf_counter()
    if held is None:
        raise BenchmarkFailed("a session that was started could not be claimed")
    work_session(held)
    return Worked(claimed - began, time.perf_counter() - claimed)


def require_all(status: str) -> None:
    """Raise BenchmarkFailed unless every session has this status."""
    other = Session.objects.exclude(status=status).values_list("subject_id", "status", "stop_code").first()
    if other is not None:
        raise BenchmarkFailed(f"session {other[0]} is {other[1]} {other[2]} and not {status}")


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def tidy() -> None:
    """Give the planner of PostgreSQL fresh statistics, and new connections, whose plans rest on them."""
    with psycopg.connect(conninfo(), autocommit=True) as server:
        server.execute("VACUUM ANALYZE")
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined] # of PostgreSQL


def flush_statistics(*connections: psycopg.Connection[Any]) -> None:
    """Make what these connections have done visible in the statistics views."""
    for one in connections:
        try:
            one.execute("SELECT pg_stat_force_next_flush()")
        except psycopg.errors.UndefinedFunction:
            time.sleep(1.5)


def own_connection() -> psycopg.Connection[Any]:
    """Return the connection that the runtime uses in this thread."""
    connection.ensure_connection()
    plain: psycopg.Connection[Any] = connection.connection
    return plain
