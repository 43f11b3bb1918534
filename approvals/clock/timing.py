"""The hours, the deadline and the next moment of requests as they are stored."""

import logging
from datetime import datetime

from approvals.clock.hours import Hours
from approvals.clock.plan import Plan, deadline, due_of, plan_of
from approvals.models import ApprovalQueue, ApprovalRequest, BusinessHours, Rung

log = logging.getLogger(__name__)


def hours_of(stored: BusinessHours | None) -> Hours | None:
    """Return hours for calculating, None for around the clock. Hours that cannot be read do not stop a request."""
    if stored is None:
        return None
    try:
        return Hours.of(stored.timezone, stored.week, stored.holidays)
    except (ValueError, TypeError, KeyError):  # an unknown zone is a KeyError
        log.exception("the business hours %s cannot be read; time runs around the clock", stored.pk)
        return None


def deadline_of(queue: ApprovalQueue, start: datetime) -> datetime:
    """Return when the time to decide a request of a queue is over."""
    return deadline(start, queue.decide_within, hours_of(queue.hours))


def ladder_of(queue: ApprovalQueue) -> list[Rung]:
    """Return the steps of a queue's ladder, the lowest first."""
    return list(Rung.objects.filter(queue=queue).select_related("group", "person").order_by("place"))


def plan_for(request: ApprovalRequest, queue: ApprovalQueue, ladder: list[Rung]) -> Plan:
    """Return all moments of a request in a queue."""
    steps = [(rung.place, rung.after_percent) for rung in ladder]
    return plan_of(request.created_at, request.expires_at, steps, hours_of(queue.hours))


def next_at(request: ApprovalRequest, queue: ApprovalQueue, now: datetime) -> datetime | None:
    """Return when the sweep has to look at a request: at once when something is due already."""
    plan = plan_for(request, queue, ladder_of(queue))
    due = due_of(plan, reminded=request.reminded, rung=request.rung, now=now)
    return now if due.reminder or due.rungs else due.next_at
