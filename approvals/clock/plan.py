"""When a request reminds and climbs its ladder, and what of it is due (pure).

All is counted in the time to decide: of a request that has eight open hours, a rung after 50 percent is due when four
open hours have passed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from approvals.clock.hours import Hours, NoBusinessTime, add_business, business_between

REMIND_AT = (50, 25, 10)
"""Percent of the time that are left when people are reminded."""


@dataclass(frozen=True)
class Step:
    """A moment of the plan: the reminder or the rung with a number from 1."""

    at: datetime
    number: int


@dataclass(frozen=True)
class Plan:
    """All moments of a request, each kind in its order."""

    reminders: tuple[Step, ...]
    rungs: tuple[Step, ...]


@dataclass(frozen=True)
class Due:
    """What is to be done now: the latest reminder (0: none), all rungs in order. ``next_at``: when to look again."""

    reminder: int
    rungs: tuple[int, ...]
    next_at: datetime | None


def deadline(start: datetime, span: timedelta, hours: Hours | None) -> datetime:
    """Return when the time to decide is over. Hours in which there is never enough time are not counted in."""
    try:
        return add_business(start, span, hours)
    except NoBusinessTime:
        return start + span


def plan_of(created: datetime, expires: datetime, ladder: Iterable[tuple[int, int]], hours: Hours | None) -> Plan:
    """Return the moments of a request. ``ladder`` are pairs of a rung's place and the percent of time used."""
    if not business_between(created, expires, hours):
        hours = None  # the hours were changed since, so that none of its time lies in them
    whole = business_between(created, expires, hours)

    def after(percent: int) -> datetime:
        return add_business(created, whole * percent / 100, hours)

    reminders = tuple(Step(after(100 - left), number) for number, left in enumerate(REMIND_AT, start=1))
    return Plan(reminders, tuple(Step(after(percent), place) for place, percent in sorted(ladder)))


def due_of(plan: Plan, *, reminded: int, rung: int, now: datetime) -> Due:
    """Return what is due of a plan when ``reminded`` reminders were sent and ``rung`` was reached."""
    reminders = [step for step in plan.reminders if step.number > reminded]
    rungs = [step for step in plan.rungs if step.number > rung]
    late = [step.number for step in reminders if step.at <= now]
    # No rung is passed over: who climbs to one has climbed those below it.
    reached = [step.number for step in rungs if step.at <= now]
    upto = max(reached, default=rung)
    climbed = tuple(step.number for step in rungs if step.number <= upto)
    ahead = [step.at for step in reminders if step.at > now]
    ahead += [step.at for step in rungs if step.number > upto]
    return Due(max(late, default=0), climbed, min(ahead, default=None))
