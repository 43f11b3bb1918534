"""Wishes about what is subscribed to (pure): another plan, an end, a pause, and taking these back."""

import re
from datetime import date

from agentops.registry.offline.looking import Unclear
from agentops.registry.offline.outcomes import Change, Outcome
from agentops.registry.offline.text import sentences
from billing_agent.playbook.answers import Answer, day, letter
from billing_agent.playbook.choosing import day_in, one_subscription, target_plan
from billing_agent.playbook.facts import Desk, Subscribed
from billing_agent.playbook.wishes import Wish

NOW, NEXT_PERIOD = "now", "next_period"

_AT_ONCE = re.compile(r"\b(?:right away|right now|immediately|at once|now|today|straight away)\b", re.IGNORECASE)
_TODAY = re.compile(r"\b(?:today|immediately|right away|at once|with immediate effect)\b", re.IGNORECASE)
_LATER = re.compile(r"\b(?:end of|is over|next (?:period|month|year)|renewal|runs out|expires)\b", re.IGNORECASE)
_UNITS = r"(?:seats?|buyers?|licen[cs]es?|users?)"
_TO_NUMBER = re.compile(rf"\b(?:from\s+(?P<old>\d{{1,4}})\s+)?to\s+(?P<new>\d{{1,4}})\b(?:\s+{_UNITS})?", re.IGNORECASE)
_ADDED = re.compile(
    rf"\badd\s+(?P<more>an?|one|two|three|\d{{1,3}})\s+(?:more |another |new )?{_UNITS}\b", re.IGNORECASE
)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}
_FOR_MONTHS = re.compile(r"\bfor (?:about )?(?P<count>an?|one|two|three|\d{1,2}) months?\b", re.IGNORECASE)


def change(wish: Wish, desk: Desk) -> list[Outcome]:
    """Change plan or quantity: at once when that is said, otherwise when the period ends."""
    held = _changeable(wish, desk)
    quantity, plans = _quantity(wish, held), desk.plans()
    if quantity is not None:
        if quantity == held.quantity:
            raise Unclear(f"{held.words} is for {quantity} already")
        if held.plan_id not in {plan.id for plan in plans}:
            raise Unclear(f"{held.plan} is not sold any more, so its quantity stays")
        return [_change(held, held.plan_id, held.plan, quantity, NOW)]
    plan = target_plan(wish, held, plans)
    if plan.id == held.plan_id:
        raise Unclear(f"the plan is {plan.name} already")
    when = NOW if _AT_ONCE.search(_first(wish)) and not _LATER.search(_first(wish)) else NEXT_PERIOD
    return [_change(held, plan.id, plan.name, held.quantity, when)]


def _first(wish: Wish) -> str:
    """Return the sentence that carries the wish: what is said after it may be about something else."""
    return next(iter(sentences(wish.words)), "")


def _changeable(wish: Wish, desk: Desk) -> Subscribed:
    held = one_subscription(wish, desk.account())
    if held.next_plan_id:
        raise Unclear(f"{held.words} is to change with its next period already")
    if held.cancel_at is not None:
        raise Unclear(f"{held.words} ends on {day(held.cancel_at)}")
    if held.status == "paused":
        raise Unclear(f"{held.words} is paused")
    return held


def _quantity(wish: Wish, held: Subscribed) -> int | None:
    """Return the quantity that is wanted, None when none is said. Raises Unclear for one that does not fit."""
    added = _ADDED.search(wish.words)
    if added:
        return held.quantity + (_NUMBERS.get(added["more"].lower()) or int(added["more"]))
    said = _TO_NUMBER.search(wish.words)
    if said is None:
        return None
    if (said["old"] and int(said["old"]) != held.quantity) or int(said["new"]) < 1:
        raise Unclear(f"the text says another quantity than the {held.quantity} on record")
    return int(said["new"])


def _change(held: Subscribed, plan_id: str, plan: str, quantity: int, when: str) -> Change:
    arguments = {"subscription_id": held.id, "plan_id": plan_id, "quantity": quantity, "when": when}
    wanted = f"{quantity} × {plan}" if quantity > 1 else plan
    about = f"the change from {held.words} to {wanted}"
    done = (
        f"{held.words} is now {wanted}." if when == NOW else f"{held.words} becomes {wanted} on {day(held.period_end)}."
    )
    return Change("change_plan", arguments, about, done)


def cancel(wish: Wish, desk: Desk) -> list[Outcome]:
    """End a subscription with its period; at once only when it is said that it must end today."""
    held = one_subscription(wish, desk.account())
    if held.cancel_at is not None:
        return [_ends(held, desk)]
    arguments = {"subscription_id": held.id, "reason": "The customer cancels."}
    about = f"the end of {held.words}"
    if _TODAY.search(_first(wish)):
        return [Change("end_subscription_now", arguments, about, f"{held.words} has ended.")]
    return [Change("cancel_subscription", arguments, about, f"{held.words} ends on {day(held.period_end)}.")]


def _ends(held: Subscribed, desk: Desk) -> Answer:
    words = f"{held.words} ends on {day(held.cancel_at)} already."
    mail = letter("subscription-ends", name=desk.account().name, plan=held.words, day=day(held.cancel_at))
    return Answer(words, f"subscription {held.id}", mail)


def pause(wish: Wish, desk: Desk) -> list[Outcome]:
    """Pause a subscription, until a day when one is named."""
    held = one_subscription(wish, desk.account())
    if held.status != "active":
        raise Unclear(f"{held.words} is {held.status.replace('_', ' ')}, and only an active one is paused")
    until = day_in(wish.words, desk.today) or _months_from(wish.words, desk.today)
    if until is not None and until <= desk.today:
        raise Unclear(f"{day(until)} is not after today")
    arguments = {"subscription_id": held.id} | ({"until": until.isoformat()} if until is not None else {})
    words = f"until {day(until)}" if until is not None else "until it is resumed"
    return [Change("pause_subscription", arguments, f"the pause of {held.words}", f"{held.words} is paused {words}.")]


def _months_from(text: str, today: date) -> date | None:
    said = _FOR_MONTHS.search(text)
    if said is None:
        return None
    months = today.month - 1 + (_NUMBERS.get(said["count"].lower()) or int(said["count"]))
    return today.replace(year=today.year + months // 12, month=months % 12 + 1, day=min(today.day, 28))


def resume(wish: Wish, desk: Desk) -> list[Outcome]:
    """Go on with what is paused."""
    held = one_subscription(wish, desk.account())
    if held.status != "paused":
        raise Unclear(f"{held.words} is {held.status.replace('_', ' ')}, not paused")
    about = f"going on with {held.words}"
    return [Change("resume_subscription", {"subscription_id": held.id}, about, f"{held.words} goes on.")]


def keep(wish: Wish, desk: Desk) -> list[Outcome]:
    """Take back that a subscription ends."""
    held = one_subscription(wish, desk.account())
    if held.cancel_at is None:
        raise Unclear(f"{held.words} does not end")
    return [
        Change("keep_subscription", {"subscription_id": held.id}, f"keeping {held.words}", f"{held.words} goes on.")
    ]
