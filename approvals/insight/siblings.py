"""Pending requests that ask the same question: shown together, and each decided by itself."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from agentops.kernel.clock import utcnow
from approvals.insight.sql import fetch_all
from approvals.models import ApprovalRequest

MOST = 20

# What they may have in common is the key of a group, so that nothing is compared with everything. A queue belongs to
# one tenant. Byte by byte sorts fastest.
_ALIKE = """
WITH waiting AS (
  SELECT r.id, r.queue_id, r.tool, r.asks, common.what
  FROM approvals_approvalrequest r, unnest(ARRAY[
    nullif(r.target, '') || ' target', r.session_id || ' session', r.subject_id || ' ' || r.subject_kind || ' subject'
  ]) common (what)
  WHERE r.state = 'pending' AND r.expires_at > %(now)s AND common.what IS NOT NULL AND r.tenant_id = ANY (ARRAY(
    SELECT tenant_id FROM approvals_approvalrequest WHERE id = ANY (%(ids)s)))
), groups AS MATERIALIZED (
  SELECT array_agg(id) AS members FROM waiting GROUP BY what COLLATE "C", queue_id, tool COLLATE "C", asks
  HAVING count(*) > 1
), alike AS (
  SELECT DISTINCT a.id, b.id AS other FROM groups, unnest(members) a (id), unnest(members) b (id)
  WHERE a.id = ANY (%(ids)s) AND a.id <> b.id
)"""
_OTHERS = f"{_ALIKE} SELECT other FROM alike"  # noqa: S608 - constants only
_COUNTS = f"{_ALIKE} SELECT id, count(*) FROM alike GROUP BY id"  # noqa: S608 - constants only


def siblings_of(request: ApprovalRequest, now: datetime | None = None) -> list[ApprovalRequest]:
    """Return the other pending requests that ask the same question, MOST at most, the most urgent first.

    The same: tool, queue and policy rules, and the target, the session or the subject. Of the same queue, so that
    whoever may see the request may see them.
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
