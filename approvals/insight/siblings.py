"""Pending requests that ask the same question: shown together, and each decided by itself."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from agentops.kernel.clock import utcnow
from approvals.insight.sql import fetch_all
from approvals.models import ApprovalRequest

MOST = 20

_ASKS = """ARRAY(SELECT said->>0 FROM jsonb_array_elements(r.reasons) said WHERE said->>1 = 'ask' ORDER BY 1)"""
"""The rules because of which a person is asked."""

# Three joins, each on equality, instead of one with OR, which would compare everything with everything.
_ALIKE = f"""
WITH waiting AS (
  SELECT r.id, r.tenant_id, r.queue_id, r.tool, r.target, r.session_id, r.subject_kind, r.subject_id, {_ASKS} AS asks
  FROM approvals_approvalrequest r
  WHERE r.state = 'pending' AND r.expires_at > %(now)s AND r.tenant_id IN (
    SELECT tenant_id FROM approvals_approvalrequest WHERE id = ANY (%(ids)s))
), shown AS (SELECT * FROM waiting WHERE id = ANY (%(ids)s))
SELECT a.id, b.id FROM shown a JOIN waiting b USING (tenant_id, queue_id, tool, target)
WHERE a.id <> b.id AND a.asks = b.asks AND a.target <> ''
UNION
SELECT a.id, b.id FROM shown a JOIN waiting b USING (tenant_id, queue_id, tool, session_id)
WHERE a.id <> b.id AND a.asks = b.asks
UNION
SELECT a.id, b.id FROM shown a JOIN waiting b USING (tenant_id, queue_id, tool, subject_kind, subject_id)
WHERE a.id <> b.id AND a.asks = b.asks"""  # noqa: S608 - constants only


def siblings_of(request: ApprovalRequest, now: datetime | None = None) -> list[ApprovalRequest]:
    """Return the other pending requests that ask the same question, MOST at most, the most urgent first.

    The same: tool, queue and policy rules, and the target, the session or the subject. Of the same queue, so that
    whoever may see the request may see them.
    """
    if request.state != "pending":
        return []
    pairs = fetch_all(_ALIKE, {"ids": [request.pk], "now": now or utcnow()})
    if not pairs:
        return []
    found = ApprovalRequest.objects.filter(pk__in=[other for _, other in pairs])
    return list(found.order_by("expires_at", "id")[:MOST])


def counts(ids: Collection[UUID], now: datetime | None = None) -> dict[UUID, int]:
    """Return how many pending requests ask the question of each of ``ids``, itself included. One query.

    A request that is alone is not in the answer.
    """
    if not ids:
        return {}
    found: dict[UUID, int] = {}
    for pk, _ in fetch_all(_ALIKE, {"ids": list(ids), "now": now or utcnow()}):
        found[pk] = found.get(pk, 1) + 1
    return found
