"""The hand-written SQL of deciding; everything else of this app uses the ORM.

A person has clicked and waits, and so does the session: the decision takes three statements, the lock of the request,
one question for all that its checks need, and one durable point. What only pages show is told after the commit.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from agentops.ledger.append import Statement
from agentops.ledger.sql import fetch_one
from agentops.runtime.ports import ApprovalState, Resolution
from agentops.runtime.wakeup import WAITING, Waiting, as_waiting, columns, fields_of, row_of
from approvals.access import DECIDE
from approvals.digest import is_intact
from approvals.duties.walls import EXCLUDED, OVERLAP
from approvals.models import ApprovalRequest, Verdict

# All of it, since the digest is computed anew from it.
_FIELDS = fields_of(ApprovalRequest)
_COLUMNS = columns(_FIELDS, "r")
_LOCK = f"SELECT {_COLUMNS} FROM approvals_approvalrequest r WHERE r.id = %(request)s FOR UPDATE"  # noqa: S608 - constants only

_PERMISSION = f"""
SELECT p.id FROM auth_permission p JOIN django_content_type c ON c.id = p.content_type_id
WHERE p.codename = '{DECIDE}' AND c.app_label = 'approvals' AND c.model = 'approvalqueue'"""  # noqa: S608 - constants only


def _belongs(person: str) -> str:
    """Return SQL for whether a person, active, belongs to the tenant of the queue ``q``."""
    return f"""EXISTS (
    SELECT 1 FROM auth_user u JOIN agentops_membership m ON m.user_id = u.id AND m.tenant_id = q.tenant_id
    WHERE u.id = {person} AND u.is_active)"""  # noqa: S608 - constants only


def _may_decide(person: str) -> str:
    """Return SQL for whether a person may decide the queue ``q``; ``permission`` stands in the WITH list.

    The permission is that of ``access.rights_of``: the queue's own, held by the person or by one of their
    groups, in a tenant that they belong to.
    """
    return f"""{_belongs(person)} AND (
    EXISTS (
      SELECT 1 FROM guardian_userobjectpermission o JOIN permission ON permission.id = o.permission_id
      WHERE o.user_id = {person} AND o.object_pk = q.id::text
    ) OR EXISTS (
      SELECT 1 FROM guardian_groupobjectpermission o JOIN permission ON permission.id = o.permission_id
      JOIN auth_user_groups g ON g.group_id = o.group_id
      WHERE g.user_id = {person} AND o.object_pk = q.id::text
    ))"""  # noqa: S608 - constants only


_ASKED = {"request": "%(request)s::uuid", "person": "%(person)s::int", "behalf": "%(behalf)s::int"}

# It is asked, like everything here, after the request was locked.
_FACTS = f"""
WITH waiting AS ({WAITING}), permission AS ({_PERMISSION})
SELECT q.slug,
  {_belongs("%(person)s::int")} AND {_may_decide("coalesce(%(behalf)s::int, %(person)s::int)")},
  EXISTS ({EXCLUDED.format(**_ASKED)}),
  own.id IS NULL AND EXISTS ({OVERLAP.format(**_ASKED)}),
  coalesce(own.verdict, ''), coalesce(own.digest, ''), own.on_behalf_of_id,
  (SELECT count(*) FROM approvals_decision v
   WHERE v.request_id = %(request)s AND v.verdict = 'approve' AND v.taken_back_at IS NULL),
  EXISTS (SELECT 1 FROM approvals_notice n WHERE n.request_id = %(request)s),
  waiting.*
FROM waiting CROSS JOIN approvals_approvalqueue q
LEFT JOIN approvals_decision own
  ON own.request_id = %(request)s AND own.person_id = %(person)s AND own.taken_back_at IS NULL
WHERE q.id = %(queue)s"""  # noqa: S608 - constants only

# Locked, so that taking it back waits for the decision under way, or this for that.
_DELEGATED = """
SELECT 1 FROM approvals_delegation
WHERE tenant_id = %(tenant)s AND giver_id = %(giver)s AND taker_id = %(taker)s
  AND (queue_id IS NULL OR queue_id = %(queue)s)
  AND begins <= %(now)s AND ends > %(now)s AND revoked_at IS NULL
ORDER BY id LIMIT 1 FOR SHARE"""

_DECIDE = """
INSERT INTO approvals_decision (
  request_id, person_id, verdict, reason, checked, digest, at, on_behalf_of_id, acknowledged, stepped_up, dwell_ms
)
SELECT %(request)s, %(person)s, %(verdict)s, %(reason)s, %(checked)s, %(decided_digest)s, %(decided_at)s,
  %(behalf)s::int, %(acknowledged)s, %(stepped_up)s, %(dwell_ms)s::int
FROM head RETURNING 1"""

# A decision is recorded while its request is still pending: closing waits for the row that recording returns.
_CLOSE = """
UPDATE approvals_approvalrequest
SET state = %(request_state)s, closed_at = %(closed_at)s, dispatch_at = %(dispatch_at)s::timestamptz,
  void_reason = %(void_reason)s
FROM head{decided} WHERE approvals_approvalrequest.id = %(request)s AND state = 'pending' RETURNING 1"""
_CLOSE_DECIDED, _CLOSE_UNDECIDED = _CLOSE.format(decided=", decided"), _CLOSE.format(decided="")

_DISPATCH = """
UPDATE approvals_approvalrequest SET dispatch_at = NULL
FROM head WHERE approvals_approvalrequest.id = %(request)s AND state = 'approved' AND dispatch_at IS NOT NULL
RETURNING 1"""

_REOPEN = """
UPDATE approvals_approvalrequest SET state = 'pending', closed_at = NULL, dispatch_at = NULL
FROM head WHERE approvals_approvalrequest.id = %(request)s AND state = 'approved' AND dispatch_at IS NOT NULL
RETURNING 1"""

_TAKE_BACK = """
UPDATE approvals_decision SET taken_back_at = %(taken_back_at)s
FROM head WHERE request_id = %(request)s AND person_id = %(person)s AND taken_back_at IS NULL RETURNING 1"""

# Whoever approved must still be allowed to when it is carried out; who lost that is named, with the call's arguments
# as they would run beside those that were shown.
_RESOLUTION = f"""
WITH permission AS ({_PERMISSION})
SELECT {_COLUMNS}, d.reason, d.people, d.unfit, d.astray, coalesce(d.votes, 0),
  i.arguments = r.arguments AND i.tool = r.tool AND i.tool_version = r.tool_version, q.name
FROM approvals_approvalrequest r
JOIN approvals_approvalqueue q ON q.id = r.queue_id
JOIN invocation i ON i.id = r.invocation_id
LEFT JOIN LATERAL (
  SELECT string_agg(p.username || CASE WHEN b.id IS NULL THEN '' ELSE ' for ' || b.username END, ' and '
      ORDER BY v.at) AS people,
    (array_agg(v.reason ORDER BY v.at DESC))[1] AS reason,
    string_agg(p.username, ' and ' ORDER BY v.at) FILTER (WHERE r.state = 'approved' AND (
      NOT ({_belongs("v.person_id")}) OR NOT ({_may_decide("coalesce(v.on_behalf_of_id, v.person_id)")})
      OR EXISTS ({EXCLUDED.format(request="r.id", person="v.person_id", behalf="v.on_behalf_of_id")})
    )) AS unfit,
    bool_or(v.digest <> r.digest) AS astray,
    count(*) AS votes
  FROM approvals_decision v JOIN auth_user p ON p.id = v.person_id LEFT JOIN auth_user b ON b.id = v.on_behalf_of_id
  WHERE v.request_id = r.id AND v.taken_back_at IS NULL AND (r.state = 'rejected') = (v.verdict = 'reject')
) d ON true
WHERE r.invocation_id = %(invocation)s
  AND NOT EXISTS (SELECT 1 FROM approvals_approvalrequest n WHERE n.supersedes_id = r.id)"""  # noqa: S608 - constants only


@dataclass(frozen=True)
class Facts:
    """What the checks of a decision need, read under the lock of its request.

    ``may_decide`` is the right of whoever's it is, the giver's when it was delegated. ``earlier`` is this person's own
    standing decision about the request as verdict, digest and whom it was for, empty when there is none; ``overlaps``:
    one of the two has a part in somebody else's. ``approvals`` counts those of all people; ``told``: somebody was sent
    something about it. The session is locked too.
    """

    queue: str
    may_decide: bool
    excluded: bool
    overlaps: bool
    earlier: tuple[str, str, int | None]
    approvals: int
    told: bool
    waiting: Waiting


@dataclass(frozen=True)
class Cast:
    """What one person decides, and everything that is recorded with it."""

    person_id: int
    verdict: Verdict
    reason: str
    checked: str
    acknowledged: str
    stepped_up: str
    behalf_id: int | None
    dwell_ms: int | None


def lock_request(request_id: UUID) -> ApprovalRequest:
    """Lock a request, in the caller's transaction, and return its row as it is stored.

    Raises ApprovalRequest.DoesNotExist.
    """
    row = fetch_one(_LOCK, {"request": request_id})
    if row is None:
        raise ApprovalRequest.DoesNotExist(f"there is no request {request_id}")
    return row_of(ApprovalRequest, _FIELDS, row)


def facts_of(request: ApprovalRequest, person_id: int, behalf_id: int | None = None) -> Facts:
    """Lock the session of a request that is locked, and return what the checks of a decision need."""
    params = {
        "request": request.pk,
        "queue": request.queue_id,
        "session": request.session_id,
        "invocation": request.invocation_id,
        "person": person_id,
        "behalf": behalf_id,
    }
    row = fetch_one(_FACTS, params)
    if row is None:
        raise LookupError(f"the session {request.session_id} of request {request.pk} is gone")
    queue, may_decide, excluded, overlaps, verdict, digest, behalf, approvals, told = row[:9]
    earlier = (verdict, digest, behalf)
    return Facts(queue, may_decide, excluded, overlaps, earlier, approvals, told, as_waiting(row[9:]))


def is_delegated(request: ApprovalRequest, *, giver_id: int, taker_id: int, now: datetime) -> bool:
    """Return whether somebody lets somebody decide this for them now; it stays so until the transaction ends."""
    params = {
        "tenant": request.tenant_id,
        "queue": request.queue_id,
        "giver": giver_id,
        "taker": taker_id,
        "now": now,
    }
    return fetch_one(_DELEGATED, params) is not None


def decision_part(request: ApprovalRequest, cast: Cast, *, at: datetime) -> Statement:
    """Return the part of a durable point that records what one person decided."""
    params: dict[str, Any] = {
        "request": request.pk,
        "person": cast.person_id,
        "verdict": cast.verdict.value,
        "reason": cast.reason,
        "checked": cast.checked,
        "decided_digest": request.digest,
        "decided_at": at,
        "behalf": cast.behalf_id,
        "acknowledged": cast.acknowledged,
        "stepped_up": cast.stepped_up,
        "dwell_ms": cast.dwell_ms,
    }
    return Statement("decided", _DECIDE, params)


def closing_part(
    request: ApprovalRequest,
    state: ApprovalState,
    *,
    at: datetime,
    decided: bool = False,
    dispatch_at: datetime | None = None,
    void_reason: str = "",
) -> Statement:
    """Return the part of a durable point that closes a pending request; ``decided``: after ``decision_part`` in it."""
    params = {
        "request": request.pk,
        "request_state": state.value,
        "closed_at": at,
        "dispatch_at": dispatch_at,
        "void_reason": void_reason,
    }
    return Statement("closed", _CLOSE_DECIDED if decided else _CLOSE_UNDECIDED, params, required=True)


def dispatch_part(request: ApprovalRequest) -> Statement:
    """Return the part of a durable point that ends the time to take an approval back."""
    return Statement("dispatched", _DISPATCH, {"request": request.pk}, required=True)


def reopening_parts(request: ApprovalRequest, person_id: int, *, at: datetime) -> list[Statement]:
    """Return the parts of a durable point that take back a person's approval and make the request pending again."""
    back = {"request": request.pk, "person": person_id, "taken_back_at": at}
    return [
        Statement("taken_back", _TAKE_BACK, back, required=True),
        Statement("reopened", _REOPEN, {"request": request.pk}, required=True),
    ]


def resolution_of(invocation_id: UUID) -> Resolution:
    """Return what became of the newest request for a call. Raises ApprovalRequest.DoesNotExist."""
    row = fetch_one(_RESOLUTION, {"invocation": invocation_id})
    if row is None:
        raise ApprovalRequest.DoesNotExist(f"there is no request for the call {invocation_id}")
    request = row_of(ApprovalRequest, _FIELDS, row)
    reason, people, unfit, astray, votes, same_call, queue = row[len(_FIELDS) :]
    words = ""
    if request.state == ApprovalState.APPROVED:
        if unfit:
            words = f"{unfit} may no longer decide the queue {queue}, so the approval does not hold."
        elif votes < request.people or astray or not same_call or not is_intact(request):
            words = "What would run is not what was shown when it was approved, so the approval does not hold."
    return Resolution(
        request_id=request.pk,
        state=ApprovalState(request.state),
        person=f"user:{people}" if people else "",
        reason=request.void_reason if reason is None else reason,
        preview=request.preview,
        policy_version=request.policy_version,
        facts=request.facts,
        unfit=words,
    )
