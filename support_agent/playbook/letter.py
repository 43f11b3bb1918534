"""The words at the end (pure): the reply to the customer, the summary for a person, the final answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentops.kernel.money import BadMoney, Money
from agentops.registry.planner import FinalAnswer, ObservationStatus
from support_agent.playbook.outcomes import Change, Declined, Handed, Outcome, Said
from support_agent.playbook.working import TO_BE_CORRECTED, Attempt

MOST_REPLY = 3_500
MOST_SUMMARY = 1_500
_CLOSING = "Kind regards,\nCustomer care"
_NOT_DONE: Mapping[ObservationStatus, str] = {
    ObservationStatus.REJECTED: "A colleague has looked at {about} and decided against it; nothing was changed.",
    ObservationStatus.EXPIRED: "Nobody could decide about {about} in time; nothing was changed. A colleague "
    "will come back to you.",
    ObservationStatus.REFUSED: "I could not do {about}; nothing was changed. A colleague will come back to you.",
    ObservationStatus.FAILED: "{About} did not work; nothing was changed. A colleague will come back to you.",
    ObservationStatus.UNKNOWN: "I cannot say yet whether {about} went through. A colleague checks it; please do "
    "not ask twice.",
}
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


def reply(first_name: str, work: Work, *, escalated: bool) -> str:
    """Return the reply: what was done, what was not, and what a colleague takes over."""
    lines = [_attempt_words(attempt) for attempt in work.attempts]
    lines += [outcome.words for outcome in work.others if not isinstance(outcome, Change) and outcome.words]
    handed = list(dict.fromkeys(outcome.about for outcome in work.others if isinstance(outcome, Handed)))
    if handed and escalated:
        lines.append(
            f"I have passed {_listed(handed)} on to a colleague, who will answer you. I have changed nothing about it."
        )
    elif handed:
        lines.append(f"I could not settle {_listed(handed)}. I have changed nothing about it.")
    body = "\n".join(f"- {line}" for line in dict.fromkeys(lines)) if len(lines) > 1 else "".join(lines)
    return _cut(f"Hello {first_name},\n\nthank you for your message.\n\n{body}", MOST_REPLY - 60) + f"\n\n{_CLOSING}"


def _attempt_words(attempt: Attempt) -> str:
    if attempt.status is ObservationStatus.OK:
        return done_words(attempt)
    about = attempt.change.about
    if attempt.status is None:
        return f"{_capital(about)} is not done yet. A colleague will come back to you."
    if attempt.rejected_for in TO_BE_CORRECTED:
        return f"{_capital(about)} is not done: a colleague has looked at it and will come back to you."
    return _NOT_DONE[attempt.status].format(about=about, About=_capital(about))


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
    return _cut("\n".join(dict.fromkeys(rows)), MOST_SUMMARY)


def note(work: Work) -> str:
    """Return what colleagues read on a ticket that is answered: what was done, told and ruled out, and from where."""
    told = final(work, unsent=False, escalated=False)
    rows = [*told.verified, *(f"Not done: {row}" for row in told.blocked)]
    return _cut("\n".join(rows) or "Answered.", MOST_SUMMARY)


def reason(work: Work) -> str:
    """Return the escalation's reason in one short line."""
    handed = [outcome.why for outcome in work.others if isinstance(outcome, Handed)]
    if handed:
        return _cut(handed[0], 180)
    return "A change could not be carried out."


def _told(attempt: Attempt) -> str:
    result = attempt.seen.result if attempt.seen is not None else None
    message = result.get("message", "") if isinstance(result, Mapping) else ""
    return str(message)[:200]


def final(work: Work, *, unsent: bool, escalated: bool) -> FinalAnswer:
    """Return the end of the work. ``unsent``: the customer got no reply."""
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
    message = f"The ticket is {how}: {len(verified)} verified, {len(blocked)} blocked, {len(left)} left."
    return FinalAnswer(message, _texts(verified), _texts(blocked), _texts(left))


def _texts(rows: Sequence[str]) -> tuple[str, ...]:
    return tuple(_cut(row, 500) for row in dict.fromkeys(rows))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
