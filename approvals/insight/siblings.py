"""Pending requests that ask the same question: shown together, and each decided by itself."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from agentops.kernel.clock import utcnow
from approvals.insight.sql import fetch_all
from approvals.models import ApprovalRequest

MOST = 20

# Two joins, each along an index of what waits, instead of one with OR. UNION counts once what is alike in both ways.
# IS TRUE keeps the planner off the index of deadlines, behind which it expects hardly any row.
_ALIKE = """
WITH shown AS MATERIALIZED (
  SELECT * FROM approvals_approvalrequest WHERE id = ANY (%(ids)s) AND state = 'pending' AND expires_at > %(now)s
), alike AS (
  SELECT a.id, b.id AS other FROM shown a JOIN approvals_approvalrequest b USING (queue_id, tool, target)
  WHERE b.state = 'pending' AND (b.expires_at > %(now)s) IS TRUE AND b.id <> a.id AND b.asks = a.asks AND a.target <> ''
  UNION
  SELECT a.id, b.id FROM shown a JOIN approvals_approvalrequest b USING (queue_id, tool, subject_kind, subject_id)
  WHERE b.state = 'pending' AND (b.expires_at > %(now)s) IS TRUE AND b.id <> a.id AND b.asks = a.asks
)"""
_OTHERS = f"{_ALIKE} SELECT other FROM alike"  # noqa: S608 - constants only
_COUNTS = f"{_ALIKE} SELECT id, count(*) FROM alike GROUP BY id"  # noqa: S608 - constants only


def siblings_of(request: ApprovalRequest, now: datetime | None = None) -> list[ApprovalRequest]:
    """Return the other pending requests that ask the same question, MOST at most, the most urgent first.

    The same: tool, queue and policy rules, and the target or the subject. Of the same queue, so that whoever may see
    the request may see them. A session has one request at a time.
    """
    if request.state != "pending":
        return []
    others = fetch_all(_OTHERS, {"ids": [request.pk], "now": now or utcnow()})
    if not others:
        return []
    found = ApprovalRequest.objects.filter(pk__in=[other for (other,) in others])
    return list(found.order_by("expires_at", "id")[:MOST])


def counts(ids: Collection[UUID], now: datetime | None = None) -> dict[UUID, int]:
    """Return how many pending requests ask the question of each of ``ids``, itself included. One query.

    A request that is alone is not in the answer.
    """
    if not ids:
        return {}
    found = fetch_all(_COUNTS, {"ids": list(ids), "now": now or utcnow()})
    return {pk: others + 1 for pk, others in found}
