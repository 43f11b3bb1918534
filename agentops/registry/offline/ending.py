"""The words at the end (pure): what a person needs to go on, what colleagues read, and the final answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentops.kernel.money import BadMoney, Money
from agentops.registry.offline.attempts import TO_BE_CORRECTED, Attempt
from agentops.registry.offline.outcomes import Declined, Handed, Outcome, Said
from agentops.registry.planner import FinalAnswer, ObservationStatus

MOST_SUMMARY = 1_500
FOR_A_PERSON = frozenset(
    {ObservationStatus.EXPIRED, ObservationStatus.REFUSED, ObservationStatus.FAILED, ObservationStatus.UNKNOWN}
)


@dataclass(frozen=True)
class Work:
    """Everything that the end of a session tells about."""

    attempts: tuple[Attempt, ...]
    others: tuple[Outcome, ...]

    @property
    def needs_a_person(self) -> bool:
        """True when something is left that the playbook neither did nor could rule out."""
        return any(isinstance(outcome, Handed) for outcome in self.others) or any(
            attempt.status is None or attempt.status in FOR_A_PERSON or attempt.rejected_for in TO_BE_CORRECTED
            for attempt in self.attempts
        )


def done_words(attempt: Attempt) -> str:
    """Return what to tell about a change that took effect, with the amount that was really moved."""
    arguments = attempt.seen.arguments if attempt.seen is not None else {}
    return attempt.change.done.replace("{amount}", _amount_words(arguments, attempt.change.arguments))


def _amount_words(*sources: Any) -> str:
    for arguments in sources:
        try:
            return str(Money(arguments["amount_minor"], arguments["currency"]))
        except (KeyError, TypeError, BadMoney):
            continue
    return "The amount"


def summary(work: Work) -> str:
    """Return what a person needs to go on: what is open and why, and what is done already."""
    rows = [f"Open: {outcome.about}. {outcome.why}" for outcome in work.others if isinstance(outcome, Handed)]
    for attempt in work.attempts:
        if attempt.status is ObservationStatus.OK:
            rows.append(f"Done: {attempt.change.about}.")
        elif attempt.status is None:
            rows.append(f"Open: {attempt.change.about}. There were too many steps for one session.")
        else:
            rows.append(f"Not done ({attempt.status.value}): {attempt.change.about}. {_told(attempt)}".strip())
    rows += [f"Told the customer: {outcome.words}" for outcome in work.others if isinstance(outcome, Declined)]
    return cut("\n".join(dict.fromkeys(rows)), MOST_SUMMARY)


def note(work: Work, kind: str) -> str:
    """Return what colleagues read on what is answered: what was done, told and ruled out, and from where."""
    told = final(work, kind, unsent=False, escalated=False)
    rows = [*told.verified, *(f"Not done: {row}" for row in told.blocked)]
    return cut("\n".join(rows) or "Answered.", MOST_SUMMARY)


def reason(work: Work) -> str:
    """Return the escalation's reason in one short line."""
    handed = [outcome.why for outcome in work.others if isinstance(outcome, Handed)]
    if handed:
        return cut(handed[0], 180)
    return "A change could not be carried out."


def _told(attempt: Attempt) -> str:
    result = attempt.seen.result if attempt.seen is not None else None
    message = result.get("message", "") if isinstance(result, Mapping) else ""
    return str(message)[:200]


def final(work: Work, kind: str, *, unsent: bool, escalated: bool) -> FinalAnswer:
    """Return the end of the work on a ``kind`` of thing ("ticket"). ``unsent``: the customer got no reply."""
    verified = [done_words(attempt) for attempt in work.attempts if attempt.status is ObservationStatus.OK]
    verified += [f"{outcome.words} ({outcome.source})" for outcome in work.others if isinstance(outcome, Said)]
    blocked = [
        f"{attempt.change.about}: {attempt.status.value}"
        for attempt in work.attempts
        if attempt.status not in (None, ObservationStatus.OK)
    ]
    blocked += [outcome.words for outcome in work.others if isinstance(outcome, Declined)]
    left = [f"{outcome.about}: {outcome.why}" for outcome in work.others if isinstance(outcome, Handed)]
    left += [attempt.change.about for attempt in work.attempts if attempt.status is None]
    if unsent:
        left.append("The customer has no reply yet.")
    how = "handed to a person" if escalated else "worked to the end"
    message = f"The {kind} is {how}: {len(verified)} verified, {len(blocked)} blocked, {len(left)} left."
    return FinalAnswer(message, _texts(verified), _texts(blocked), _texts(left))


def _texts(rows: Sequence[str]) -> tuple[str, ...]:
    return tuple(cut(row, 500) for row in dict.fromkeys(rows))


def cut(text: str, most: int) -> str:
    """Return ``text``, at most so many characters of it."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
