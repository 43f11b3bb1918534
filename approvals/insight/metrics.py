"""The figures of deciding: what was asked in a time, what people said, how long it took, what came of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from agentops.tenancy.spans import Span
from approvals.insight.sql import Row, fetch_all

MOST_ROWS = 50
"""Rows of one table; what is left out is said."""

PATIENCE_MS = 20_000
"""A count that takes longer is given up, so that it cannot hold up those who decide."""

PARTS = ("rule", "tool", "agent", "approver", "queue")

# Requests that ended in the time: the index request_closed leads to them. All tables but that of the people come from
# one pass over them.
_ENDED = """
WITH edited AS (SELECT DISTINCT request_id FROM approvals_act WHERE kind = 'edited'),
regretted AS (SELECT DISTINCT request_id FROM approvals_regret),
ended AS MATERIALIZED (
  SELECT r.id, r.tool, r.agent, q.name AS queue, r.state, r.rung > 0 AS escalated, r.created_at,
    r.asks->>0 AS rule,
    extract(epoch FROM r.closed_at - r.created_at)::float8 AS took,
    e.request_id IS NOT NULL AS edited, g.request_id IS NOT NULL AS regretted
  FROM approvals_approvalrequest r JOIN approvals_approvalqueue q ON q.id = r.queue_id
  LEFT JOIN edited e ON e.request_id = r.id LEFT JOIN regretted g ON g.request_id = r.id
  WHERE r.tenant_id = %(tenant)s AND r.state <> 'pending' AND r.queue_id = ANY (%(queues)s)
    AND r.closed_at >= %(begins)s AND r.closed_at < %(ends)s
)"""

_BY_REQUEST = f"""{_ENDED}
SELECT CASE WHEN grouping(rule) = 0 THEN 'rule' WHEN grouping(tool) = 0 THEN 'tool'
    WHEN grouping(agent) = 0 THEN 'agent' WHEN grouping(queue) = 0 THEN 'queue' ELSE '' END AS part,
  coalesce(rule, tool, agent, queue, ''), count(*),
  count(*) FILTER (WHERE state = 'approved' AND NOT edited), count(*) FILTER (WHERE state = 'rejected' AND NOT edited),
  count(*) FILTER (WHERE edited), count(*) FILTER (WHERE state = 'expired'),
  count(*) FILTER (WHERE state = 'voided' AND NOT edited),
  percentile_cont(0.5) WITHIN GROUP (ORDER BY took) FILTER (WHERE state IN ('approved', 'rejected') OR edited),
  percentile_cont(0.9) WITHIN GROUP (ORDER BY took) FILTER (WHERE state IN ('approved', 'rejected') OR edited),
  count(*) FILTER (WHERE state = 'approved' AND regretted AND NOT edited), count(*) FILTER (WHERE escalated)
FROM ended GROUP BY GROUPING SETS ((), (rule), (tool), (agent), (queue))"""  # noqa: S608 - constants only

_BY_PERSON = f"""{_ENDED}, said AS (
  SELECT d.request_id, d.person_id, d.verdict AS what, d.at FROM approvals_decision d WHERE d.taken_back_at IS NULL
  UNION ALL
  SELECT a.request_id, a.person_id, 'edit', a.at FROM approvals_act a
  WHERE a.kind = 'edited' AND a.person_id IS NOT NULL
)
SELECT 'approver', u.username, count(*), count(*) FILTER (WHERE what = 'approve'),
  count(*) FILTER (WHERE what = 'reject'), count(*) FILTER (WHERE what = 'edit'), 0, 0,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM said.at - ended.created_at)::float8),
  percentile_cont(0.9) WITHIN GROUP (ORDER BY extract(epoch FROM said.at - ended.created_at)::float8),
  count(*) FILTER (WHERE what = 'approve' AND state = 'approved' AND regretted), count(*) FILTER (WHERE escalated)
FROM ended JOIN said ON said.request_id = ended.id JOIN auth_user u ON u.id = said.person_id
GROUP BY u.username"""  # noqa: S608 - constants only


@dataclass(frozen=True)
class Figures:
    """What the requests of one rule, tool, agent, queue or person came to. Latencies are seconds of wall time.

    ``asked`` is approved, rejected, edited, expired and voided together. For a person only what that person said
    counts, so nothing is expired or voided.
    """

    name: str
    asked: int
    approved: int
    rejected: int
    edited: int
    expired: int
    voided: int
    median: float | None
    p90: float | None
    regretted: int
    escalated: int

    @property
    def decided(self) -> int:
        """How many people said something about."""
        return self.approved + self.rejected + self.edited

    @property
    def override(self) -> float | None:
        """The share of those decided that people did not let pass as they were, 0 to 1."""
        return (self.rejected + self.edited) / self.decided if self.decided else None

    @property
    def regret(self) -> float | None:
        """The share of those approved that turned out to be wrong, 0 to 1."""
        return self.regretted / self.approved if self.approved else None


@dataclass(frozen=True)
class Report:
    """All figures of a span. ``parts`` are by the names of PARTS, the most asked first; ``left_out`` counts rows."""

    total: Figures
    parts: Mapping[str, Sequence[Figures]]
    left_out: Mapping[str, int]


def report_of(tenant_id: UUID, queues: Collection[int], span: Span, *, most: int = MOST_ROWS) -> Report:
    """Return the figures of requests of these queues that ended in the span. Two queries of bounded time.

    Raises OperationalError when the counting takes longer than PATIENCE_MS.
    """
    params: dict[str, Any] = {"tenant": tenant_id, "queues": list(queues), "begins": span.begins, "ends": span.ends}
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {PATIENCE_MS}")
        rows = [*fetch_all(_BY_REQUEST, params), *fetch_all(_BY_PERSON, params)]
    total, found = Figures("", 0, 0, 0, 0, 0, 0, None, None, 0, 0), {part: list[Figures]() for part in PARTS}
    for row in rows:
        if row[0]:
            found[row[0]].append(_figures(row))
        else:
            total = _figures(row)
    for figures in found.values():
        figures.sort(key=lambda one: (-one.asked, one.name))
    left_out = {part: max(0, len(figures) - most) for part, figures in found.items()}
    return Report(total, {part: figures[:most] for part, figures in found.items()}, left_out)


def _figures(row: Row) -> Figures:
    return Figures(*row[1:])
