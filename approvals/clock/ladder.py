"""Climbing a queue's ladder: by time, or because a person says so.

Escalating tells more people and shows them the request. It gives nobody the right to decide it.
"""

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agentops.kernel.errors import AgentOpsError
from approvals import live
from approvals.access import View, view_of
from approvals.acts import record_act
from approvals.clock.timing import ladder_of, next_at
from approvals.duties.rights import gains
from approvals.models import ActKind, ApprovalQueue, ApprovalRequest, Notice, OnCallShift, Rung
from approvals.notices.outbox import tell
from approvals.refusals import NotAllowed, require_open

MOST_CALLED = 200
"""People of one step that are told."""


class AtTheTop(AgentOpsError):
    """There is no further step."""

    code = "AT_THE_TOP"
    next_step = "Speak to the people who were called, or ask an admin to add a step to the queue's ladder."


@transaction.atomic
def escalate(*, request_id: UUID, person: User, words: str, now: datetime) -> Rung:
    """Call the people of the next step, and return it.

    Who may says ``may_escalate``. Raises NotAllowed, AlreadyClosed, AtTheTop, or ApprovalRequest.DoesNotExist.
    """
    request = locked(request_id)
    if not may_escalate(request, view_of(person, request.tenant_id, now)):
        raise NotAllowed("You may read this request but not escalate it.")
    require_open(request, now)
    rung = next_rung(request)
    if rung is None:
        words = "was escalated to the last step already" if request.rung else "is in a queue without a ladder"
        raise AtTheTop(f"This request {words}.")
    climb(request, rung, person=person, words=words, now=now)
    if request.claimed_by_id == person.pk:
        request.claimed_by = request.claimed_until = None
    if request.assigned_to_id == person.pk:
        request.assigned_to = None
    request.next_at = next_at(request, request.queue, now)
    request.save(update_fields=["rung", "next_at", "claimed_by", "claimed_until", "assigned_to"])
    live.announce(request.tenant_id)
    return rung


def locked(request_id: UUID) -> ApprovalRequest:
    """Lock a request in the caller's transaction and return it with its queue. Raises ApprovalRequest.DoesNotExist."""
    rows = ApprovalRequest.objects.select_for_update(of=("self",)).select_related("queue__hours")
    return rows.get(pk=request_id)


def may_escalate(request: ApprovalRequest, view: View) -> bool:
    """Return whether the person of the view may call the next step.

    Whoever may decide or manage the queue may, and whoever it was assigned to or has come up to; but nobody who gains
    by it.
    """
    own = request.queue_id in view.mine or request.queue_id in view.manages
    called = 1 <= view.rungs.get(request.queue_id, 0) <= request.rung
    may = own or called or (request.assigned_to_id == view.person.pk and view.person.is_active)
    return may and not gains(request, view.person)


def next_rung(request: ApprovalRequest) -> Rung | None:
    """Return the step above the one that a request has reached, None at the top."""
    return next((rung for rung in ladder_of(request.queue) if rung.place > request.rung), None)


def climb(request: ApprovalRequest, rung: Rung, *, person: User | None, words: str, now: datetime) -> None:
    """Take one step of a request that is locked: tell its people at once, and record it. The caller saves ``rung``."""
    people = called_by(rung, request.queue, now)
    request.rung = rung.place
    tell(request, Notice.Kind.ESCALATED, now=now, people=people, urgent=True)
    to = whom(rung, people)
    said = words.strip() or ("" if people else "Nobody is there: no notice was sent.")
    record_act(request, ActKind.ESCALATED, person=person, at=now, words=said, facts={"rung": rung.place, "to": to})


def whom(rung: Rung, people: list[User]) -> str:
    """Return who a step calls, in words."""
    if rung.kind == Rung.Kind.GROUP:
        return f"group {rung.group}"
    names = " and ".join(person.get_username() for person in people)
    if rung.kind == Rung.Kind.PERSON:
        return names or f"{rung.person}, who is not here any more"
    return f"on call: {names}" if names else "on call: nobody has a shift now"


def called_by(rung: Rung, queue: ApprovalQueue, now: datetime) -> list[User]:
    """Return the people of a step who belong to the queue's tenant; on call is whoever has a shift now."""
    members = User.objects.filter(is_active=True, memberships__tenant_id=queue.tenant_id)
    if rung.kind == Rung.Kind.GROUP:
        found = members.filter(groups=rung.group_id)
    elif rung.kind == Rung.Kind.PERSON:
        found = members.filter(pk=rung.person_id or 0)
    else:
        shifts = OnCallShift.objects.filter(tenant_id=queue.tenant_id, begins__lte=now, ends__gt=now)
        found = members.filter(pk__in=shifts.values("person_id"))
    return list(found.distinct().order_by("username")[:MOST_CALLED])
