"""What time asks for, found by due columns: reminders, steps of the ladder, and the work of people who are away.

Any number of sweeps may run at once: each request is done in its own transaction under its row lock, and looked at
again there. After a pause only the latest reminder is sent, but every step of the ladder is taken.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from agentops.kernel.errors import AgentOpsError
from agentops.runtime.ports import ApprovalState
from approvals import live
from approvals.acts import record_act
from approvals.clock.ladder import climb
from approvals.clock.plan import REMIND_AT, due_of
from approvals.clock.timing import ladder_of, plan_for
from approvals.models import ActKind, ApprovalRequest, Notice
from approvals.notices.outbox import tell
from approvals.routes.leaving import give_back, held_by_the_absent

log = logging.getLogger(__name__)

TRY_AGAIN = timedelta(minutes=5)


def do_due(now: datetime, limit: int) -> int:
    """Do what is due, at most ``limit`` requests of each kind, and return how many were done."""
    waiting = ApprovalRequest.objects.filter(state=ApprovalState.PENDING, next_at__lte=now, expires_at__gt=now)
    due = list(waiting.order_by("next_at").values_list("pk", flat=True)[:limit])
    away = held_by_the_absent(now, limit)
    return sum(_each(on_time, pk, now) for pk in due) + sum(_each(give_back, pk, now) for pk in away)


def _each(does: Callable[[UUID, datetime], bool], pk: UUID, now: datetime) -> bool:
    """Do one request in its own transaction. One that cannot be done is logged and does not hold up the others."""
    try:
        with transaction.atomic():
            return does(pk, now)
    except AgentOpsError:
        log.exception("what is due of request %s could not be done", pk)
        later = ApprovalRequest.objects.filter(pk=pk, next_at__lte=now)
        later.update(next_at=now + TRY_AGAIN)
        return False


def on_time(request_id: UUID, now: datetime) -> bool:
    """Remind and climb as far as is due, in the caller's transaction. False when another sweep has it or was faster."""
    rows = ApprovalRequest.objects.select_for_update(of=("self",), skip_locked=True).select_related("queue__hours")
    waiting = rows.filter(pk=request_id, state=ApprovalState.PENDING, next_at__lte=now, expires_at__gt=now)
    request = waiting.select_related("assigned_to").first()
    if request is None:
        return False
    ladder = ladder_of(request.queue)
    plan = plan_for(request, request.queue, ladder)
    due = due_of(plan, reminded=request.reminded, rung=request.rung, now=now)
    for rung in ladder:
        if rung.place in due.rungs:
            climb(request, rung, person=None, words=f"{rung.after_percent} % of the time is over.", now=now)
    if due.reminder:
        _remind(request, due.reminder, now)
    request.next_at = due.next_at
    request.save(update_fields=["rung", "reminded", "next_at"])
    if due.rungs:
        live.announce(request.tenant_id)
    return bool(due.rungs or due.reminder)


def _remind(request: ApprovalRequest, number: int, now: datetime) -> None:
    """Remind whoever has it, or everybody who may decide it; who is away is told through the stand-in."""
    request.reminded = number
    people = [request.assigned_to] if request.assigned_to else None
    tell(request, Notice.Kind.REMINDED, now=now, people=people)
    left = REMIND_AT[number - 1]
    words = f"{left} % of the time is left."
    record_act(request, ActKind.REMINDED, person=None, at=now, words=words, facts={"left": left})
