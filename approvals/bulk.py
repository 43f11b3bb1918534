"""The same thing done to several requests: each by itself, in its own transaction, with its own result."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from agentops.console.codes import as_uuid
from agentops.kernel.cells import as_text
from agentops.kernel.errors import AgentOpsError
from agentops.registry import roles
from agentops.runtime.ports import ApprovalState
from approvals import claims
from approvals.access import View, turn_of
from approvals.bulk_rules import Candidate, why_alone
from approvals.models import ApprovalRequest, Verdict
from approvals.operations import decide_request
from approvals.queries import requests_by_id
from approvals.refusals import ChangedSince
from approvals.routes.assigning import assign, may_assign_to
from approvals.rows import claimant_of

MOST = 50


class TooMany(AgentOpsError):
    """More requests than are worked on together."""

    code = "TOO_MANY"
    next_step = "Select fewer, and repeat it for the others."


class NothingPicked(AgentOpsError):
    """No request that the person may see."""

    code = "NOTHING_PICKED"
    next_step = "Tick the requests that you mean."


@dataclass(frozen=True)
class Result:
    """What became of one of them."""

    request: ApprovalRequest
    done: bool
    words: str


def picked(view: View, keys: Sequence[str]) -> list[ApprovalRequest]:
    """Return the requests with these keys that the person may see, in the queue's order. Raises TooMany, NothingPicked.

    A key of any other request is left out as one that does not exist.
    """
    ids = {pk for pk in map(as_uuid, keys[: MOST + 1]) if pk is not None}
    if len(ids) > MOST:
        raise TooMany(f"At most {MOST} requests are worked on together.")
    found = requests_by_id(view, ids)
    if not found:
        raise NothingPicked("No request was selected.")
    return found


def claim_all(requests: Iterable[ApprovalRequest], person: User, now: datetime) -> list[Result]:
    """Claim each of them."""
    return _each(requests, lambda one: claims.claim(request_id=one.pk, person=person, now=now), "claimed")


def release_all(requests: Iterable[ApprovalRequest], person: User, now: datetime) -> list[Result]:
    """Release each of them."""
    return _each(requests, lambda one: claims.release(request_id=one.pk, person=person, now=now), "released")


def assign_all(requests: Iterable[ApprovalRequest], by: User, to: User, words: str, now: datetime) -> list[Result]:
    """Assign each of them to one person."""
    name = to.get_full_name() or to.get_username()
    return _each(
        requests,
        lambda one: assign(request_id=one.pk, by=by, to=to, queue=None, words=words, now=now),
        f"assigned to {name}",
    )


@dataclass(frozen=True)
class Ruling:
    """What is decided about all of them. ``digests`` are those of what was shown."""

    verdict: Verdict
    digests: Mapping[UUID, str]
    reason: str = ""
    reason_code: str = ""


def reject_all(view: View, requests: Iterable[ApprovalRequest], ruling: Ruling) -> list[Result]:
    """Reject each of them for one reason."""
    return _each(requests, lambda one: _decide(view, one, ruling), "rejected")


def approve_all(view: View, requests: Sequence[ApprovalRequest], ruling: Ruling) -> list[Result]:
    """Approve each of them that may be approved together with others; see ``bulk_rules``."""
    waiting = decidable(view, requests)

    def approve(one: ApprovalRequest) -> None:
        alone = why_alone(candidate_of(one, decidable=one.pk in waiting))
        if alone:
            raise ApprovedAlone(alone)
        _decide(view, one, ruling)

    return _each(requests, approve, "approved")


class ApprovedAlone(AgentOpsError):
    """A request that is approved one by one."""

    code = "APPROVED_ALONE"
    next_step = "Open it and decide it by itself."


def decidable(view: View, requests: Sequence[ApprovalRequest]) -> frozenset[UUID]:
    """Return those that wait for the person now."""
    waiting = ApprovalRequest.objects.filter(
        turn_of(view), pk__in=[one.pk for one in requests], state=ApprovalState.PENDING, expires_at__gt=view.now
    )
    return frozenset(waiting.values_list("pk", flat=True))


def candidate_of(request: ApprovalRequest, *, decidable: bool) -> Candidate:
    """Return what the rules of approving together look at."""
    tool = request.facts.get("tool", {})
    return Candidate(
        queue_allows=request.queue.bulk_approve,
        decidable=decidable,
        level=request.level,
        people=request.people,
        moves_money=request.money_minor is not None,
        sends=tool.get("sends", "nowhere"),
        tool=request.tool,
        specs=[tool for role in roles.all_roles() for tool in role.tools if tool.name == request.tool],
    )


def takers_of(requests: Sequence[ApprovalRequest]) -> list[User]:
    """Return who may be assigned all of these, by name."""
    found: list[User] | None = None
    for request in {one.queue_id: one for one in requests}.values():
        may = may_assign_to(request)
        found = may if found is None else [person for person in found if person in may]
    return found or []


def _decide(view: View, one: ApprovalRequest, ruling: Ruling) -> None:
    if one.pk not in ruling.digests:
        raise ChangedSince("It was not among what you were shown.")
    decide_request(
        request_id=one.pk,
        person=view.person,
        verdict=ruling.verdict,
        digest=ruling.digests[one.pk],
        reason=ruling.reason,
        reason_code=ruling.reason_code,
        on_behalf_of=view.lender(one.queue_id),
        now=view.now,
    )


def _each(requests: Iterable[ApprovalRequest], act: Callable[[ApprovalRequest], object], done: str) -> list[Result]:
    results = []
    for one in requests:
        try:
            act(one)
            results.append(Result(one, done=True, words=done))
        except AgentOpsError as error:
            results.append(Result(one, done=False, words=error.in_full))
        except ApprovalRequest.DoesNotExist:
            results.append(Result(one, done=False, words="It is gone."))
    return results


_COLUMNS = (
    *("code", "id", "effect", "tool", "agent", "target", "amount_minor", "currency", "tier", "queue", "state"),
    *("created", "due", "closed", "claimed_by", "assigned_to", "people", "digest"),
)


def exported(requests: Sequence[ApprovalRequest], form: str, now: datetime) -> str:
    """Return requests as text: ``json``, or ``csv``, in which no cell can be taken for a formula."""
    rows = [_exported(one, now) for one in requests]
    if form == "json":
        return json.dumps(rows, ensure_ascii=False, indent=2)
    told = io.StringIO()
    writer = csv.writer(told)
    writer.writerow(_COLUMNS)
    writer.writerows([["" if row[name] is None else as_text(str(row[name])) for name in _COLUMNS] for row in rows])
    return told.getvalue()


def _exported(one: ApprovalRequest, now: datetime) -> dict[str, Any]:
    claimant, assigned = claimant_of(one, now), one.assigned_to
    return {
        "code": one.code,
        "id": str(one.pk),
        "effect": one.effect,
        "tool": one.tool,
        "agent": one.agent,
        "target": one.target,
        "amount_minor": one.money_minor,
        "currency": one.money_currency,
        "tier": one.level,
        "queue": one.queue.slug,
        "state": one.state,
        "created": _utc(one.created_at),
        "due": _utc(one.expires_at),
        "closed": _utc(one.closed_at) if one.closed_at else None,
        "claimed_by": claimant.get_username() if claimant else "",
        "assigned_to": assigned.get_username() if assigned else "",
        "people": one.people,
        "digest": one.digest,
    }


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
