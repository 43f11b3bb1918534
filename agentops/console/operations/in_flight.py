"""What is under way now: read every two seconds by an open page, so all of it stands on partial indexes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from agentops.console.operations.queries import rows_of
from agentops.console.queries import LONGEST_RUN
from agentops.kernel.ids import first_id

MOST = 50
_RECENT = 300


@dataclass(frozen=True)
class Scope:
    """What is looked at: a tenant (None: all of them), one agent or all, one tool or (empty) all."""

    tenant_id: UUID | None
    agent_id: UUID | None = None
    tool: str = ""

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the statements below."""
        return {"tenant": self.tenant_id, "agent": self.agent_id, "tool": self.tool, "most": MOST}


@dataclass(frozen=True)
class Running:
    """A session that a worker holds, with its newest event."""

    session_id: UUID
    title: str
    agent: str
    worker: str
    lease_until: datetime
    wanted: str
    event: str
    tool: str
    at: datetime


@dataclass(frozen=True)
class Call:
    """A call that was intended and has not ended; ``status`` is its session's."""

    session_id: UUID
    title: str
    position: int
    tool: str
    effect: str
    at: datetime
    status: str


_MINE = "s.tenant_id = %(tenant)s AND (%(agent)s::uuid IS NULL OR s.agent_id = %(agent)s)"

_RUNNING = f"""
SELECT s.id, s.title, a.name || ' v' || v.number, s.lease_owner, s.lease_until, s.wanted, coalesce(e.type, ''),
  coalesce(e.facts->>'tool', ''), coalesce(e.at, s.created_at), count(*) OVER ()
FROM session s JOIN agentops_agentversion v ON v.id = s.agent_version_id JOIN agentops_agent a ON a.id = v.agent_id
LEFT JOIN ledger_event e ON e.stream = s.id AND e.position = s.position - 1
WHERE {_MINE} AND s.status = 'running'
ORDER BY s.lease_until, s.id LIMIT %(most)s"""  # noqa: S608 - constants only


def running(scope: Scope) -> tuple[list[Running], int]:
    """Return the sessions that workers hold, the longest silent first, and how many there are. One query."""
    rows = rows_of(_RUNNING, scope.params)
    return [Running(*row[:-1]) for row in rows], rows[0][-1] if rows else 0


# A session that is paused stands in no index of its own; one that paused in the middle of a call is a recent one.
_OPEN_CALLS = f"""
SELECT o.id, o.title, i.position, i.tool, coalesce(i.preview->>'effect', ''),
  coalesce((SELECT max(e.at) FROM ledger_event e WHERE e.stream = o.id AND e.position >= i.position
    AND e.type = 'call.intended' AND e.refs->>'invocation' = i.id::text), i.created_at), o.status, count(*) OVER ()
FROM (
  SELECT s.id, s.title, s.status FROM session s WHERE {_MINE} AND s.status = 'running'
  UNION ALL SELECT s.id, s.title, s.status FROM session s WHERE {_MINE} AND s.status = 'queued'
  UNION ALL SELECT s.id, s.title, s.status FROM session s WHERE {_MINE} AND s.status = 'sleeping'
  UNION ALL SELECT s.id, s.title, s.status FROM session s WHERE {_MINE} AND s.status = 'paused' AND s.id >= %(recent)s
) o JOIN invocation i ON i.session_id = o.id AND i.state = 'intended' AND (%(tool)s = '' OR i.tool = %(tool)s)
ORDER BY o.status <> 'running', i.id LIMIT %(most)s"""  # noqa: S608 - constants only


def open_calls(scope: Scope, now: datetime) -> tuple[list[Call], int]:
    """Return the calls that were intended and have not ended, those that a worker is at first. One query."""
    rows = rows_of(_OPEN_CALLS, {**scope.params, "recent": first_id(now - LONGEST_RUN)})
    return [Call(*row[:-1]) for row in rows], rows[0][-1] if rows else 0


@dataclass(frozen=True)
class Busy:
    """How many sessions of an agent a worker holds (``tool`` empty), or how many calls of a tool they make."""

    agent_id: UUID
    tool: str
    count: int


_ALL = "(%(tenant)s::uuid IS NULL OR s.tenant_id = %(tenant)s)"

_BUSY = f"""
SELECT s.agent_id, '', count(*) FROM session s WHERE {_ALL} AND s.status = 'running' GROUP BY s.agent_id
UNION ALL
SELECT s.agent_id, i.tool, count(*) FROM session s JOIN invocation i ON i.session_id = s.id AND i.state = 'intended'
WHERE {_ALL} AND s.status = 'running' GROUP BY s.agent_id, i.tool"""  # noqa: S608 - constants only


def busy(tenant_id: UUID | None) -> list[Busy]:
    """Return what is under way by agent and tool; None is every tenant. One query."""
    return [Busy(*row) for row in rows_of(_BUSY, {"tenant": tenant_id})]


def left_of(scope: Scope, found: Sequence[Busy]) -> int:
    """Return how many sessions (a scope without tool) or calls of the tool have not stopped yet."""
    return sum(one.count for one in found if scope.agent_id in (None, one.agent_id) and one.tool == scope.tool)


_QUEUED = f"""
SELECT count(*) FROM session s WHERE {_ALL} AND (%(agent)s::uuid IS NULL OR s.agent_id = %(agent)s)
  AND s.status = 'queued'"""  # noqa: S608 - constants only


def queued(scope: Scope) -> int:
    """Return how many sessions wait for a worker."""
    return int(rows_of(_QUEUED, scope.params)[0][0])


_LEFT = [
    "session.finished",
    "session.stopped",
    "session.cancelled",
    "session.paused",
    "session.frozen",
    "session.handed_on",
    "session.preempted",
    "session.sleeping",
    "session.lease_expired",
    "approval.requested",
    "person.asked",
]
_ENDED = ["call.succeeded", "call.failed", "call.unknown"]

_QUIET_SINCE = f"""
WITH recent AS (
  (SELECT s.id FROM session s WHERE {_MINE} ORDER BY s.id DESC LIMIT {_RECENT})
  UNION
  (SELECT s.id FROM session s WHERE {_MINE} AND s.status = 'queued' ORDER BY s.rank_at LIMIT {_RECENT})
)
SELECT max(e.at) FROM recent r JOIN ledger_event e ON e.stream = r.id
WHERE e.type = ANY(%(types)s) AND (%(tool)s = '' OR e.facts->>'tool' = %(tool)s)"""  # noqa: S608 - constants only


def quiet_since(scope: Scope) -> datetime | None:
    """Return when a worker last let go of a session, or a call of the tool last ended; None when none ever did.

    Looks at the newest 300 sessions and the first 300 of the queue: it is asked once, when nothing is under way.
    """
    types = _ENDED if scope.tool else _LEFT
    found: datetime | None = rows_of(_QUIET_SINCE, {**scope.params, "types": types})[0][0]
    return found
