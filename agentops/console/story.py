"""The story of a session in a few sentences, told from its events without a model (pure).

It says what was asked, what the agent looked up and proposed, who decided, what took effect, and, when
that is so, why it stopped or what it waits for. Each part links to the step it tells of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentops.console.formats import duration_words
from agentops.console.presenters import StoryPart
from agentops.console.records import Told
from agentops.console.reveal import reveal_cut
from agentops.console.said import actor_name
from agentops.console.story_people import TELL as TELL_OF_PEOPLE
from agentops.console.teller import EFFECT, Sentence, Teller, Write

MOST_WRITES = 6
"""Effects beyond these are left to the timeline."""


@dataclass(frozen=True)
class Story:
    """The story, and the seconds for which people were waited for."""

    parts: tuple[StoryPart, ...]
    people_seconds: float


def tell(
    moments: Sequence[Told], writes: Mapping[str, Write], *, title: str, sender: str, waiting: bool, now: datetime
) -> Story:
    """Return the story of a session. ``writes`` are keyed by invocation id; ``waiting`` is whether it waits now."""
    teller = Teller(writes)
    if sender:
        teller.quote(reveal_cut(sender, EFFECT))
        teller.say(" asked: ")
    teller.quote(reveal_cut(title, EFFECT), 0)
    teller.say(".")
    for moment in moments:
        sentence = TELL.get(moment.type)
        if sentence is not None:
            sentence(teller, moment)
    if teller.reads:
        teller.begin("That is all so far.")
    teller.end_list()
    if waiting:
        teller.people_seconds += sum((now - asked_at).total_seconds() for asked_at in teller.asked_at.values())
        teller.people_took(now)
    return Story(tuple(teller.parts), teller.people_seconds)


def _read(teller: Teller, moment: Told) -> None:
    teller.reads += 1


def _asked(teller: Teller, moment: Told) -> None:
    teller.asked_at[moment.invocation] = moment.at
    teller.begin("It asked people: ")
    teller.quote(teller.what(moment), moment.position)
    teller.say(".")


def _decided(teller: Teller, moment: Told) -> None:
    asked_at = teller.asked_at.pop(moment.invocation, None)
    waited = (moment.at - asked_at).total_seconds() if asked_at else 0.0
    teller.people_seconds += waited
    if moment.type == "approval.expired":
        teller.begin("Nobody decided in time, so ")
        teller.say("nothing was done", moment.position)
        teller.say(".")
        return
    if moment.type == "approval.approved":
        teller.approved.add(moment.invocation)
    teller.begin(f"After {duration_words(waited)} {actor_name(moment.actor)} ")
    teller.say(moment.type.removeprefix("approval."), moment.position)
    teller.say(" it.")


def _edited(teller: Teller, moment: Told) -> None:
    asked_at = teller.asked_at.pop(moment.invocation, None)
    teller.people_seconds += (moment.at - asked_at).total_seconds() if asked_at else 0.0
    teller.begin(f"{actor_name(moment.actor)} ")
    teller.say("changed it", moment.position)
    teller.say(" and proposed it anew, for somebody else to decide.")


def _voted(teller: Teller, moment: Told) -> None:
    """Without the name: whoever has still to vote reads this too. The gate tells it once the request is closed."""
    teller.begin("Somebody ")
    teller.say("approved", moment.position)
    teller.say(" it, as one of several people who had to.")


def _said(words: str, rest: str) -> Sentence:
    """Return the sentence in which somebody does something about the open question; ``words`` link to it."""

    def sentence(teller: Teller, moment: Told) -> None:
        teller.begin(f"{actor_name(moment.actor)} ")
        teller.say(words, moment.position)
        teller.say(rest)

    return sentence


def _voided(teller: Teller, moment: Told) -> None:
    asked_at = teller.asked_at.pop(moment.invocation, None)
    if asked_at is not None:
        teller.people_seconds += (moment.at - asked_at).total_seconds()
    held = moment.invocation in teller.approved
    teller.approved.discard(moment.invocation)
    teller.begin("The approval was " if held else "The question was ")
    teller.say("withdrawn", moment.position)
    if held:
        teller.say(" because what had been approved no longer held.")
        return
    reason = str(moment.facts.get("reason", ""))
    if moment.actor.startswith("user:") or not reason:
        teller.say(".")  # what the person did is the next sentence
        return
    teller.say(": ")
    teller.quote(reveal_cut(reason, EFFECT))


def _succeeded(teller: Teller, moment: Told) -> None:
    teller.told += 1
    if moment.invocation in teller.approved:
        teller.begin("Then it ")
        teller.say("took effect", moment.position)
        teller.say(".")
    elif teller.told <= MOST_WRITES:
        teller.done(teller.what(moment), moment.position)
    elif teller.told == MOST_WRITES + 1:
        teller.begin("More effects ")
        teller.say("follow", moment.position)
        teller.say(" in the timeline.")


def _failed(teller: Teller, moment: Told) -> None:
    teller.begin("This ")
    teller.say("failed", moment.position)
    teller.say(f" ({moment.facts.get('code', 'no reason given')}) and had no effect: ")
    teller.quote(teller.what(moment))
    teller.say(".")


def _unknown(teller: Teller, moment: Told) -> None:
    teller.begin("Whether this took effect is ")
    teller.say("not known", moment.position)
    teller.say(": ")
    teller.quote(teller.what(moment))
    teller.say(". A person must check with the system of record.")


def _stopping(teller: Teller, moment: Told) -> None:
    teller.begin("It ")
    teller.say("stopped", moment.position)
    teller.say(": ")
    teller.quote(reveal_cut(str(moment.facts.get("words", "")), 2 * EFFECT))


def _ended(teller: Teller, moment: Told) -> None:
    outcome = str(moment.facts.get("outcome", ""))
    if moment.facts.get("again") or (teller.ended_by_person and outcome == "no action"):
        return
    words = {"escalated": "It handed over to a person", "no action": "It ended without having done anything"}
    teller.begin("")
    teller.say(words.get(outcome, f"It ended: {outcome}"), moment.position)
    teller.say(".")


TELL: dict[str, Sentence] = {
    **TELL_OF_PEOPLE,
    "call.read": _read,
    "approval.requested": _asked,
    "approval.voted": _voted,
    "approval.taken_back": _said("took the approval back", ", and nothing had followed from it."),
    "approval.asked": _said("asked the agent", " about it."),
    "approval.edited": _edited,
    "approval.approved": _decided,
    "approval.rejected": _decided,
    "approval.expired": _decided,
    "approval.voided": _voided,
    "call.succeeded": _succeeded,
    "call.failed": _failed,
    "call.unknown": _unknown,
    "session.stopping": _stopping,
    "session.finished": _ended,
    "session.stopped": _ended,
}

UNTOLD = frozenset(
    {
        "session.opened",
        "session.claimed",
        "session.handed_on",
        "session.lease_expired",
        "session.sleeping",
        "session.woken",
        "model.malformed",
        "approval.given",
        "approval.answered",
        "call.read_failed",
        "call.refused",
        "call.intended",
        "call.retried",
        "budget.warned",
        "process.began",
        "process.moved",
    }
)
"""What a story leaves to the timeline: nobody has to act on it, and another sentence tells what came of it."""
