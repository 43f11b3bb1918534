"""Claiming and sweeping while thousands of sessions are parked: waiting for an approval or an answer, or asleep.

The rows are copies of real ones, made by the server. A thousand sessions stand in the queue all the while.
"""

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
from django.db.models import Model
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.kernel.ids import new_id
from agentops.runtime.dispatch import claim, work_session
from agentops.runtime.models import Invocation, Question, Session
from agentops.runtime.ports import approval_gate
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalRequest
from benchmarks.runtime_base import BenchmarkFailed, conninfo, median, start, tidy, work_next
from benchmarks.runtime_role import ROLE

QUEUED = 1_000
_FAR = "now() + interval '30 days'"
# Ordered by time, as our own are.
_NEW_ID = """(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7' ||
  substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid"""


@dataclass(frozen=True)
class _Templates:
    """Real rows, of which copies are made."""

    invocation: Invocation
    request: ApprovalRequest
    question: Question


def measure(agent: Agent, sizes: tuple[int, ...], *, samples: int) -> dict[str, Any]:
    """Return milliseconds of a claim and of a sweep at each number of parked sessions."""
    templates = _templates(agent)
    rows: dict[str, dict[str, float]] = {}
    parked = 0
    with psycopg.connect(conninfo(), autocommit=True) as server:
        for size in sizes:
            session = start(agent, "write", 1)
            _park(server, session, templates, size - parked)
            parked = size
            _queue(server, session, QUEUED - Session.objects.filter(status="queued").count())
            tidy()
            rows[str(size)] = _times(samples)
    first, last = rows[str(sizes[0])], rows[str(sizes[-1])]
    return {
        "parked": rows,
        "parked_queued": QUEUED,
        "parked_claim_growth": round(last["claim_ms"] / first["claim_ms"], 3),
        "parked_sweep_growth": round(last["sweep_ms"] / first["sweep_ms"], 3),
    }


def _times(samples: int) -> dict[str, float]:
    claims, sweeps, done = [], [], 0
    for number in range(samples + 5):
        began = time.perf_counter()
        held = claim()
        claimed = time.perf_counter()
        if held is None:
            raise BenchmarkFailed("nothing could be claimed although a thousand sessions are queued")
        work_session(held)
        sweeping = time.perf_counter()
        done += sweep_once()
        if number >= 5:
            claims.append((claimed - began) * 1000)
            sweeps.append((time.perf_counter() - sweeping) * 1000)
    return {"claim_ms": round(median(claims), 3), "sweep_ms": round(median(sweeps), 3), "swept": done}


def _templates(agent: Agent) -> _Templates:
    approval_gate().ensure_queues(agent.tenant_id, ROLE.queues)
    session = start(agent, "ask", 1)
    work_next()
    at = timezone.now()
    question = Question.objects.create(
        tenant_id=agent.tenant_id, session_id=new_id(), text="Which?", asked_at=at, expires_at=at + timedelta(days=30)
    )
    invocation = Invocation.objects.get(session_id=session.pk)
    return _Templates(invocation, ApprovalRequest.objects.get(session_id=session.pk), question)


def _park(server: psycopg.Connection[Any], session: Session, templates: _Templates, count: int) -> None:
    """Add parked sessions: a third waits for an approval, a third for an answer, a third sleeps; none is due."""
    server.execute("CREATE TEMP TABLE made (number int, id uuid, call uuid)")
    server.execute(f"INSERT INTO made SELECT n, {_NEW_ID}, {_NEW_ID} FROM generate_series(1, {count}) AS n")
    status = "(ARRAY['sleeping', 'waiting_approval', 'waiting_person'])[made.number % 3 + 1]"
    wake_at = f"CASE made.number % 3 WHEN 0 THEN {_FAR} END"
    _copy(server, session, "TRUE", id="made.id", subject_id=_SUBJECT, status=status, wake_at=wake_at)
    approval = "made.number % 3 = 1"
    _copy(server, templates.invocation, approval, id="made.call", session_id="made.id")
    new = {"id": _NEW_ID, "session_id": "made.id", "invocation_id": "made.call", "expires_at": _FAR}
    _copy(server, templates.request, approval, **new)
    _copy(server, templates.question, "made.number % 3 = 2", id=_NEW_ID, session_id="made.id")
    server.execute("DROP TABLE made")


def _queue(server: psycopg.Connection[Any], session: Session, count: int) -> None:
    """Add queued sessions of one step each."""
    server.execute("CREATE TEMP TABLE made (number int, id uuid)")
    server.execute(f"INSERT INTO made SELECT n, {_NEW_ID} FROM generate_series(1, {count}) AS n")
    rank_at = "now() + made.number * interval '1 millisecond'"
    _copy(server, session, "TRUE", id="made.id", subject_id=_SUBJECT, rank_at=rank_at)
    server.execute("DROP TABLE made")


_SUBJECT = "'write-1-copy-' || made.id"


def _copy(server: psycopg.Connection[Any], template: Model, which: str, **changed: str) -> None:
    """Copy a row once for each row of ``made`` that ``which`` holds for, with other SQL for the ``changed`` columns."""
    meta = template._meta  # noqa: SLF001 - Django's public interface to a model
    columns = [field.column for field in meta.concrete_fields if not field.generated]
    values = [changed.get(str(name), f't."{name}"') for name in columns]
    names = ", ".join(f'"{name}"' for name in columns)
    server.execute(
        f'INSERT INTO "{meta.db_table}" ({names}) SELECT {", ".join(values)} FROM made, "{meta.db_table}" t'
        f" WHERE {which} AND t.id = '{template.pk}'"
    )
