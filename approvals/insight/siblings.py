"""Pending requests that ask the same question: shown together, and each decided by itself."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from agentops.kernel.clock import utcnow
from approvals.chips import MOST_ALIKE
from approvals.insight.sql import fetch_all
from approvals.models import ApprovalRequest

MOST_LOOKED_AT = 1_000
"""Of which the most urgent are shown."""

# Two looks for each that is shown, along indexes of what waits, and each ends after so many. IS TRUE keeps the planner
# off the index of deadlines, behind which it expects hardly any row.
_WAITING = """
b.queue_id = a.queue_id AND b.tool = a.tool AND b.asks = a.asks AND b.state = 'pending'
AND (b.expires_at > %(now)s) IS TRUE AND b.id <> a.id"""
_ALIKE = f"""
WITH shown AS MATERIALIZED (
  SELECT * FROM approvals_approvalrequest WHERE id = ANY (%(ids)s) AND state = 'pending' AND expires_at > %(now)s
), alike AS (
  SELECT a.id, near.id AS other FROM shown a, LATERAL (
    (SELECT b.id FROM approvals_approvalrequest b WHERE {_WAITING} AND b.target = a.target AND a.target <> ''
     LIMIT %(most)s)
    UNION
    (SELECT b.id FROM approvals_approvalrequest b
     WHERE {_WAITING} AND b.subject_id = a.subject_id AND b.subject_kind = a.subject_kind LIMIT %(most)s)
  ) near
)"""  # noqa: S608 - constants only
_OTHERS = f"{_ALIKE} SELECT other FROM alike"  # noqa: S608 - constants only
_COUNTS = f"{_ALIKE} SELECT id, count(*) FROM alike GROUP BY id"  # noqa: S608 - constants only


def siblings_of(request: ApprovalRequest, now: datetime | None = None) -> list[ApprovalRequest]:
    """Return the other pending requests that ask the same question, MOST_ALIKE at most, the most urgent first.

    The same: tool, queue and policy rules, and the target or the subject. Of the same queue, so that whoever may see
    the request may see them. A session has one request at a time.
    """
    if request.state != "pending":
        return []
    others = fetch_all(_OTHERS, {"ids": [request.pk], "now": now or utcnow(), "most": MOST_LOOKED_AT})
    if not others:
        return []
    found = ApprovalRequest.objects.filter(pk__in=[other for (other,) in others])
    return list(found.order_by("expires_at", "id")[:MOST_ALIKE])


def counts(ids: Collection[UUID], now: datetime | None = None) -> dict[UUID, int]:
    """Return how many pending requests ask the question of each of ``ids``, itself included. One query.

    More than MOST_ALIKE stands for that or more. A request that is alone is not in the answer.
    """
    if not ids:
        return {}
    found = fetch_all(_COUNTS, {"ids": list(ids), "now": now or utcnow(), "most": MOST_ALIKE})
    return {pk: min(others, MOST_ALIKE) + 1 for pk, others in found}
