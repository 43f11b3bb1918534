"""Giving a request to a person or to another queue, and giving it back.

A decision's digest covers the queue in which a request was opened, so that moving it changes nothing of what is
decided.
"""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from approvals import live
from approvals.access import Rights, rights_of
from approvals.acts import record_act
from approvals.clock.ladder import locked
from approvals.clock.timing import next_at
from approvals.models import ActKind, ApprovalQueue, ApprovalRequest, Notice
from approvals.notices.outbox import tell
from approvals.refusals import NotAllowed, require_open
from approvals.routes.people import deciders


class NotForThem(AgentOpsError):
    """The person cannot decide the request, so it is not given to them."""

    code = "NOT_FOR_THEM"
    next_step = "Choose somebody who may decide this queue, is not excluded, and is not away."


class NotThere(AgentOpsError):
    """The queue is no place for the request."""

    code = "NOT_THERE"
    next_step = "Choose another queue that you manage."


def may_assign_to(request: ApprovalRequest, now: datetime | None = None) -> list[User]:
    """Return who may be given a request: whoever may decide it by a right of their own, and is there."""
    return deciders(request, request.queue, now or utcnow())


def queues_to_move_to(request: ApprovalRequest, managed: Collection[int]) -> list[ApprovalQueue]:
    """Return the other queues of the tenant to which somebody who manages these queues may move a request."""
    if request.queue_id not in managed:
        return []
    queues = ApprovalQueue.objects.filter(tenant_id=request.tenant_id, pk__in=managed)
    return list(queues.exclude(pk=request.queue_id).order_by("name"))


@transaction.atomic
def assign(
    *, request_id: UUID, by: User, to: User | None, queue: ApprovalQueue | None, words: str, now: datetime
) -> None:
    """Give a request to ``to``, in ``queue`` when it is another one; neither: back to its queue.

    It takes managing the queue, and managing both when it moves. Whoever it is assigned to may give it back. Raises
    NotAllowed, NotForThem, NotThere, AlreadyClosed, or ApprovalRequest.DoesNotExist.
    """
    request = locked(request_id)
    target = queue if queue is not None and queue.pk != request.queue_id else None
    _require_right(request, rights_of(by), by, to=to, target=target)
    require_open(request, now)
    if target is not None:
        _move(request, target, now)
    if to is not None and to not in deciders(request, request.queue, now):
        raise NotForThem(f"{to.get_username()} cannot decide this request now.")
    if target is None and request.assigned_to_id == (to.pk if to else None):
        return
    request.assigned_to = to
    if request.claimed_by_id is not None and (to is None or request.claimed_by_id != to.pk):
        request.claimed_by = request.claimed_until = None
    fields = ["queue", "rung", "next_at", "routed_by", "assigned_to", "claimed_by", "claimed_until"]
    request.save(update_fields=fields)
    facts = {"to": to.get_username() if to else request.queue.slug, "queue": request.queue.slug}
    record_act(request, ActKind.ASSIGNED, person=by, at=now, words=words, facts=facts)
    _tell(request, to, by, now)
    live.announce(request.tenant_id)


def _require_right(
    request: ApprovalRequest, rights: Rights, by: User, *, to: User | None, target: ApprovalQueue | None
) -> None:
    gives_back = to is None and target is None and request.assigned_to_id == by.pk and by.is_active
    if request.queue_id not in rights.manage and not gives_back:
        raise NotAllowed(
            "You may not assign requests of this queue.", next_step="Ask somebody who manages the queue to do it."
        )
    if target is not None and target.tenant_id != request.tenant_id:
        raise NotThere("There is no such queue here.")
    if target is not None and target.pk not in rights.manage:
        raise NotThere(f"You do not manage the queue {target.name}.")


def _move(request: ApprovalRequest, target: ApprovalQueue, now: datetime) -> None:
    """Put a request into another queue. It climbs that queue's ladder from the bottom; its deadline stays."""
    request.routed_by = f"Moved here from {request.queue.name}."[:200]
    request.queue, request.rung = target, 0
    request.next_at = next_at(request, target, now)


def _tell(request: ApprovalRequest, to: User | None, by: User, now: datetime) -> None:
    if to is None:
        tell(request, Notice.Kind.ASKED, now=now)
    elif to != by:
        tell(request, Notice.Kind.ASSIGNED, now=now, people=[to])
