"""The hand-written SQL of deciding; everything else of this app uses the ORM.

A person has clicked and waits, and so does the session: the decision takes three statements, the lock of the request,
one question for all that its checks need, and one durable point. What only pages show is told after the commit.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS

from agentops.kernel.canonical import loads
from agentops.ledger.append import Statement
from agentops.ledger.sql import fetch_one
from agentops.runtime.ports import ApprovalState, Resolution
from agentops.runtime.wakeup import WAITING, Waiting, as_waiting
from approvals.models import ApprovalRequest, Verdict

# In the order of the model, in which Django reads them.
_LOCKED = (
    *("id", "tenant_id", "queue_id", "session_id", "invocation_id", "requester", "digest", "people"),
    *("expires_at", "state"),
)
_LOCK = f"SELECT {', '.join(_LOCKED)} FROM approvals_approvalrequest WHERE id = %(request)s FOR UPDATE"  # noqa: S608 - constants only

# The permission is that of ``queries.decidable_queues``: the queue's own, held by the person or by one of their groups,
# in a tenant that they belong to. It is asked, like everything here, after the request was locked.
_FACTS = f"""
WITH waiting AS ({WAITING}), permission AS (
  SELECT p.id FROM auth_permission p JOIN django_content_type c ON c.id = p.content_type_id
  WHERE p.codename = 'decide_queue' AND c.app_label = 'approvals' AND c.model = 'approvalqueue'
)
SELECT q.slug,
  EXISTS (
    SELECT 1 FROM auth_user u JOIN agentops_membership m ON m.user_id = u.id AND m.tenant_id = q.tenant_id
    WHERE u.id = %(person)s AND u.is_active
  ) AND (
    EXISTS (
      SELECT 1 FROM guardian_userobjectpermission o JOIN permission ON permission.id = o.permission_id
      WHERE o.user_id = %(person)s AND o.object_pk = q.id::text
    ) OR EXISTS (
      SELECT 1 FROM guardian_groupobjectpermission o JOIN permission ON permission.id = o.permission_id
      JOIN auth_user_groups g ON g.group_id = o.group_id
      WHERE g.user_id = %(person)s AND o.object_pk = q.id::text
    )
  ),
  coalesce(own.verdict, ''), coalesce(own.digest, ''),
  (SELECT count(*) FROM approvals_decision v WHERE v.request_id = %(request)s AND v.verdict = 'approve'),
  waiting.*
FROM waiting CROSS JOIN approvals_approvalqueue q
LEFT JOIN approvals_decision own ON own.request_id = %(request)s AND own.person_id = %(person)s
WHERE q.id = %(queue)s"""  # noqa: S608 - constants only

_DECIDE = """
INSERT INTO approvals_decision (
  request_id, person_id, verdict, reason, checked, digest, at, acknowledged, stepped_up
)
SELECT %(request)s, %(person)s, %(verdict)s, %(reason)s, %(checked)s, %(decided_digest)s, %(decided_at)s, '', ''
FROM head"""

_CLOSE = """
UPDATE approvals_approvalrequest SET state = %(request_state)s, closed_at = %(closed_at)s
FROM head WHERE approvals_approvalrequest.id = %(request)s AND state = 'pending' RETURNING 1"""

_RESOLUTION = """
SELECT r.id, r.state, r.preview::text, r.facts::text, r.policy_version, r.void_reason, d.reason, d.people
FROM approvals_approvalrequest r LEFT JOIN LATERAL (
  SELECT string_agg(u.username, ' and ' ORDER BY v.at) AS people, (array_agg(v.reason ORDER BY v.at DESC))[1] AS reason
  FROM approvals_decision v JOIN auth_user u ON u.id = v.person_id
  WHERE v.request_id = r.id AND (r.state = 'rejected') = (v.verdict = 'reject')
) d ON true
WHERE r.invocation_id = %(invocation)s
  AND NOT EXISTS (SELECT 1 FROM approvals_approvalrequest n WHERE n.supersedes_id = r.id)"""


@dataclass(frozen=True)
class Facts:
    """What the checks of a decision need, read under the lock of its request.

    ``earlier`` is this person's own decision about the request as verdict and digest, two empty texts when there is
    none; ``approvals`` counts those of all people. The session is locked too.
    """

    queue: str
    may_decide: bool
    earlier: tuple[str, str]
    approvals: int
    waiting: Waiting


def lock_request(request_id: UUID) -> ApprovalRequest:
    """Lock a request, in the caller's transaction, and return it with what deciding needs of it.

    Raises ApprovalRequest.DoesNotExist.
    """
    row = fetch_one(_LOCK, {"request": request_id})
    if row is None:
        raise ApprovalRequest.DoesNotExist(f"there is no request {request_id}")
    return ApprovalRequest.from_db(DEFAULT_DB_ALIAS, _LOCKED, row)


def facts_of(request: ApprovalRequest, person_id: int) -> Facts:
    """Lock the session of a request that is locked, and return what the checks of a decision need."""
    params = {
        "request": request.pk,
        "queue": request.queue_id,
        "session": request.session_id,
        "invocation": request.invocation_id,
        "person": person_id,
    }
    row = fetch_one(_FACTS, params)
    if row is None:
        raise LookupError(f"the session {request.session_id} of request {request.pk} is gone")
    queue, may_decide, verdict, digest, approvals = row[:5]
    return Facts(queue, may_decide, (verdict, digest), approvals, as_waiting(row[5:]))


def decision_part(
    request: ApprovalRequest, *, person_id: int, verdict: Verdict, reason: str, checked: str, at: datetime
) -> Statement:
    """Return the part of a durable point that records what one person decided."""
    params: dict[str, Any] = {
        "request": request.pk,
        "person": person_id,
        "verdict": verdict.value,
        "reason": reason,
        "checked": checked,
        "decided_digest": request.digest,
        "decided_at": at,
    }
    return Statement("decided", _DECIDE, params)


def closing_part(request: ApprovalRequest, state: ApprovalState, *, at: datetime) -> Statement:
    """Return the part of a durable point that closes a pending request."""
    params = {"request": request.pk, "request_state": state.value, "closed_at": at}
    return Statement("closed", _CLOSE, params, required=True)


def resolution_of(invocation_id: UUID) -> Resolution:
    """Return what became of the newest request for a call. Raises ApprovalRequest.DoesNotExist."""
    row = fetch_one(_RESOLUTION, {"invocation": invocation_id})
    if row is None:
        raise ApprovalRequest.DoesNotExist(f"there is no request for the call {invocation_id}")
    request_id, state, preview, facts, policy_version, void_reason, reason, people = row
    return Resolution(
        request_id=request_id,
        state=ApprovalState(state),
        person=f"user:{people}" if people else "",
        reason=void_reason if reason is None else reason,
        preview=loads(preview),
        policy_version=policy_version,
        facts=loads(facts),
    )
