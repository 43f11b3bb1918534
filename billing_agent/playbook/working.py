"""From a reading and what was looked up to outcomes, and to what became of them (pure)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentops.registry.offline.alarms import STOPS_EVERYTHING, Alarm
from agentops.registry.offline.attempts import Attempt, attempts
from agentops.registry.offline.looking import CannotKnow, Unclear
from agentops.registry.offline.outcomes import Change, Handed, Outcome, unique
from agentops.registry.planner import Observation, ObservationStatus
from billing_agent.playbook import money_wishes, plan_wishes, questions
from billing_agent.playbook.answers import reason_words
from billing_agent.playbook.facts import Desk
from billing_agent.playbook.wishes import QUESTIONS, Wish, WishKind


def _other_currency(wish: Wish, desk: Desk) -> list[Outcome]:
    raise Unclear("no tool changes the currency of an account, and what was billed in it stays as it is")


def _other_details(wish: Wish, desk: Desk) -> list[Outcome]:
    raise Unclear("no tool changes the details of an account or its payment methods")


_RESOLVERS: Mapping[WishKind, Callable[[Wish, Desk], list[Outcome]]] = {
    WishKind.REFUND: money_wishes.refund,
    WishKind.CREDIT: money_wishes.credit,
    WishKind.CORRECTION: money_wishes.correction,
    WishKind.VOID: money_wishes.void,
    WishKind.RETRY: money_wishes.retry,
    WishKind.CHANGE: plan_wishes.change,
    WishKind.CANCEL: plan_wishes.cancel,
    WishKind.KEEP: plan_wishes.keep,
    WishKind.PAUSE: plan_wishes.pause,
    WishKind.RESUME: plan_wishes.resume,
    WishKind.TAX_OFF: questions.tax_off,
    WishKind.OTHER_CURRENCY: _other_currency,
    WishKind.OTHER_DETAILS: _other_details,
    WishKind.DECLINED: questions.declined,
    WishKind.DUE: questions.due,
    WishKind.COPY: questions.copy,
    WishKind.WHY: questions.why,
    WishKind.TAX: questions.tax,
    WishKind.BALANCE: questions.balance,
}
_ABOUT: Mapping[WishKind, str] = {
    WishKind.REFUND: "the refund",
    WishKind.CREDIT: "the credit",
    WishKind.CORRECTION: "the correction of an invoice",
    WishKind.VOID: "taking an invoice back",
    WishKind.RETRY: "another attempt to charge",
    WishKind.CHANGE: "the change of the plan",
    WishKind.CANCEL: "the end of the subscription",
    WishKind.KEEP: "keeping the subscription",
    WishKind.PAUSE: "the pause",
    WishKind.RESUME: "going on with the subscription",
    WishKind.TAX_OFF: "the exemption from tax",
    WishKind.OTHER_CURRENCY: "billing in another currency",
    WishKind.OTHER_DETAILS: "the change of details",
    WishKind.DECLINED: "the payment that failed",
    WishKind.DUE: "when an invoice is due",
    WishKind.COPY: "the invoice that is to be sent",
    WishKind.WHY: "the question about an invoice",
    WishKind.TAX: "the question about tax",
    WishKind.BALANCE: "what was billed and is owed",
}
_SUBSCRIPTION = "subscription_id"


def outcomes_of(wishes: Sequence[Wish], alarms: Sequence[Alarm], desk: Desk) -> tuple[Outcome, ...]:
    """Return what becomes of every wish. Raises NotYetKnown while something has to be looked up.

    An alarm takes changes out of the playbook's hands, and so does a deleted account; questions are still answered,
    unless the alarm stops everything.
    """
    said = " ".join(alarm.words for alarm in alarms)
    if not wishes or any(alarm.kind in STOPS_EVERYTHING for alarm in alarms):
        return (Handed("the message", said or "The text does not say what is wanted."),)
    gone = "The account is deleted; what is still owed to the customer, a person decides."
    if desk.account().is_deleted:
        return tuple(unique(Handed(_ABOUT[wish.kind], f"{gone} {said}".strip()) for wish in wishes))
    found = unique(
        outcome
        for wish in wishes
        for outcome in (
            [Handed(_ABOUT[wish.kind], said)] if said and wish.kind not in QUESTIONS else _resolved(wish, desk)
        )
    )
    if said and not any(isinstance(outcome, Handed) for outcome in found):
        found.append(Handed("the message", said))
    return tuple(_without_clashes(found))


def _resolved(wish: Wish, desk: Desk) -> list[Outcome]:
    try:
        return _RESOLVERS[wish.kind](wish, desk)
    except (Unclear, CannotKnow) as problem:
        return [Handed(_ABOUT[wish.kind], f"{str(problem)[:1].upper()}{str(problem)[1:]}.")]


def _without_clashes(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Hand over what wants two things of one subscription."""
    changed = [each.arguments.get(_SUBSCRIPTION) for each in outcomes if isinstance(each, Change)]
    return [
        Handed(each.about, "The wishes for this subscription exclude each other.")
        if isinstance(each, Change) and _SUBSCRIPTION in each.arguments and _is_twice(each, changed)
        else each
        for each in outcomes
    ]


def _is_twice(change: Change, changed: Sequence[object]) -> bool:
    return changed.count(change.arguments[_SUBSCRIPTION]) > 1


def tried(outcomes: Sequence[Outcome], history: Sequence[Observation]) -> tuple[Attempt, ...]:
    """Return the changes with what became of them. A charge that was declined is told as that, and an edit as one."""
    return tuple(_honest(attempt) for attempt in attempts(outcomes, history, record_in))


def left_by(done: Sequence[Attempt]) -> tuple[Outcome, ...]:
    """Return what is left for a person after charges that were declined and are not tried again by themselves."""
    return tuple(
        questions.no_attempt_left(attempt.change.about)
        for attempt in done
        if _declined(attempt) not in ("", *questions.GIVEN_UP) and not _result(attempt)["next_attempt_at"]
    )


def _result(attempt: Attempt) -> Mapping[str, Any]:
    seen = attempt.seen
    return seen.result if seen is not None and seen.status is ObservationStatus.OK else {}


def _declined(attempt: Attempt) -> str:
    return str(_result(attempt).get("decline_code", ""))


def record_in(arguments: Mapping[str, Any]) -> str:
    """Return the record that a call is about, empty when it names none."""
    return str(next((arguments[name] for name in ("charge_id", "invoice_id", _SUBSCRIPTION) if name in arguments), ""))


def _honest(attempt: Attempt) -> Attempt:
    change, seen = attempt.change, attempt.seen
    if _result(attempt) and "{amount}" not in change.done and seen is not None and seen.arguments != change.arguments:
        done = f"Done as a person has changed it: {change.about}."
        return replace(attempt, change=replace(change, done=done))
    if not _declined(attempt):
        return attempt
    words = f"The bank declined {{amount}}: {reason_words(_declined(attempt))}. Nothing was charged."
    return replace(attempt, change=replace(change, done=words))
