"""The words to the customer (pure)."""

from collections.abc import Mapping, Sequence

from agentops.registry.offline.attempts import TO_BE_CORRECTED, Attempt
from agentops.registry.offline.ending import Work, cut, done_words
from agentops.registry.offline.outcomes import Change, Handed
from agentops.registry.planner import ObservationStatus

MOST_REPLY = 3_500
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
    return cut(f"Hello {first_name},\n\nthank you for your message.\n\n{body}", MOST_REPLY - 60) + f"\n\n{_CLOSING}"


def _attempt_words(attempt: Attempt) -> str:
    if attempt.status is ObservationStatus.OK:
        return done_words(attempt)
    about = attempt.change.about
    if attempt.status is None:
        return f"{_capital(about)} is not done yet. A colleague will come back to you."
    if attempt.rejected_for in TO_BE_CORRECTED:
        return f"{_capital(about)} is not done: a colleague has looked at it and will come back to you."
    return _NOT_DONE[attempt.status].format(about=about, About=_capital(about))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
