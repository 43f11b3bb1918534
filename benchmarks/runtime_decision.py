"""How long it takes from a person's decision until the approved tool starts, through a real Celery worker over Redis.

The floor is what no design can go below: one commit, the wake-up of a worker, and the events of the session loaded.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from celery import current_app
from django.contrib.auth.models import User
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.agents.models import Agent
from agentops.ledger.models import LedgerEvent
from agentops.runtime.models import Session
from agentops.tenancy.models import Membership, Role
from approvals.models import ApprovalQueue, ApprovalRequest, Verdict
from approvals.operations import decide_request
from benchmarks.runtime_base import LONG, SHORT, BenchmarkFailed, conninfo, median, require_all, start, tidy, work_next
from benchmarks.runtime_role import QUEUE, ROLE
from benchmarks.runtime_settings import PREFIX

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 60
QUIET_S = 0.02
"""Before each measurement, so that none begins while the worker still tidies up after the one before."""
_BEFORE_PARKING = 3
"""Events of a parked session besides its reads: opened, claimed, approval requested."""


def measure(agent: Agent, *, samples: int) -> dict[str, Any]:
    """Return milliseconds from decision to effect and those of the floor, after 20 and after 300 events."""
    from benchmarks import runtime_tasks as tasks  # noqa: PLC0415 - needs Redis

    person = _approver(agent)
    warm, sizes = 5, (SHORT, LONG)
    parked = {size: [_park(agent, size) for _ in range(samples + warm)] for size in sizes}
    events = {size: LedgerEvent.objects.filter(stream=parked[size][0].pk).count() for size in sizes}
    tidy()
    server = tasks.server()
    taken: dict[str, list[float]] = defaultdict(list)
    with psycopg.connect(conninfo(), autocommit=True) as plain, _worker(server):
        plain.execute("CREATE TABLE benchmark_decision (id int PRIMARY KEY, at timestamptz)")
        plain.execute("INSERT INTO benchmark_decision VALUES (1, now())")
        for number in range(samples + warm):
            for size in sizes:
                session = parked[size][number]
                time.sleep(QUIET_S)
                floor = _reached(server, session, _floor(plain, session))
                time.sleep(QUIET_S)
                began = _approve(person, session)
                call = (time.monotonic() - began) * 1000
                effect = _reached(server, session, began)
                _wait_for_end(session)
                if number >= warm:
                    taken[f"floor_{size}"].append(floor)
                    taken[f"effect_{size}"].append(effect)
                    taken[f"call_{size}"].append(call)
    require_all("finished")
    return _figures(taken, events)


def _figures(taken: dict[str, list[float]], events: dict[int, int]) -> dict[str, Any]:
    figures: dict[str, Any] = {"decision_events": list(events.values())}
    for size, name in ((SHORT, ""), (LONG, "_300")):
        effect, floor = taken[f"effect_{size}"], taken[f"floor_{size}"]
        ratios = [e / f for e, f in zip(effect, floor, strict=True)]
        figures |= {
            f"decision_to_effect{name}_ms": round(median(effect), 2),
            f"decision_to_effect{name}_p95_ms": round(_p95(effect), 2),
            f"decision_call{name}_ms": round(median(taken[f"call_{size}"]), 2),
            f"floor{name}_ms": round(median(floor), 2),
            f"decision_ratio{name}": round(median(ratios), 3),
        }
    return figures


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def _approver(agent: Agent) -> User:
    from agentops.runtime.ports import approval_gate  # noqa: PLC0415 - only where people decide

    approval_gate().ensure_queues(agent.tenant_id, ROLE.queues)
    person = User.objects.create_user("approver")
    Membership.objects.create(tenant_id=agent.tenant_id, user=person, role=Role.APPROVER)
    assign_perm("approvals.decide_queue", person, ApprovalQueue.objects.get(tenant_id=agent.tenant_id, slug=QUEUE))
    return person


def _park(agent: Agent, events: int) -> Session:
    session = start(agent, "ask", events - _BEFORE_PARKING)
    work_next()
    session.refresh_from_db()
    if session.status != "waiting_approval":
        raise BenchmarkFailed(f"a session that should wait for approval is {session.status} {session.stop_code}")
    return session


def _approve(person: User, session: Session) -> float:
    """Return when it was begun, by ``time.monotonic``."""
    request = ApprovalRequest.objects.only("id", "digest").get(session_id=session.pk)
    began = time.monotonic()
    decide_request(
        request_id=request.pk, person=person, verdict=Verdict.APPROVE, digest=request.digest, now=timezone.now()
    )
    return began


def _floor(plain: "psycopg.Connection[Any]", session: Session) -> float:
    """Return when it was begun, by ``time.monotonic``."""
    from benchmarks.runtime_tasks import FLOOR  # noqa: PLC0415 - needs Redis

    began = time.monotonic()
    plain.execute("UPDATE benchmark_decision SET at = now()", prepare=True)
    current_app.send_task(FLOOR, args=[str(session.pk)], ignore_result=True, retry=False)
    return began


def _reached(server: Any, session: Session, began: float) -> float:
    """Return the milliseconds from ``began`` to the moment at which a worker got to the session."""
    from benchmarks.runtime_tasks import REACHED  # noqa: PLC0415 - needs Redis

    told = server.blpop([REACHED], timeout=PATIENCE_S)
    if told is None:
        raise BenchmarkFailed("the Celery worker did not get to its task")
    stream, at = json.loads(told[1])
    if stream != str(session.pk):
        raise BenchmarkFailed("the Celery worker got to another session")
    return float(at - began) * 1000


def _wait_for_end(session: Session) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not Session.objects.filter(pk=session.pk, status="finished").exists():
        if time.monotonic() > deadline:
            raise BenchmarkFailed("an approved session did not end")
        time.sleep(0.005)


@contextmanager
def _worker(server: Any) -> Iterator[None]:
    """Run a Celery worker of our own; its keys in Redis are gone at the end."""
    from benchmarks.runtime_tasks import READY  # noqa: PLC0415 - needs Redis

    forget()
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "celery",
        "-A",
        "agentops",
        "worker",
        *quiet,
        "-n",
        "benchmark@local",
    ]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ}, stdout=subprocess.DEVNULL, stderr=sys.stderr)
    try:
        if server.blpop([READY], timeout=PATIENCE_S) is None:
            raise BenchmarkFailed("the Celery worker did not start")
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        forget()


def forget() -> None:
    """Delete every key of the benchmark in Redis, such as rings that nobody heard."""
    from benchmarks.runtime_tasks import server  # noqa: PLC0415 - needs Redis

    for key in server().scan_iter(match=f"{PREFIX}*", count=1_000):
        server().delete(key)
