"""The story of a session in a few sentences, told from its events without a model (pure).

It says what was asked, what the agent looked up and proposed, who decided, what took effect, and, when
that is so, why it stopped or what it waits for. Each part links to the step it tells of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentops.console.formats import duration_words
from agentops.console.marks import Text, plain
from agentops.console.presenters import StoryPart
from agentops.console.records import Told
from agentops.console.reveal import reveal_cut
from agentops.console.said import actor_name

EFFECT = 140
MOST_WRITES = 6
"""Effects beyond these are left to the timeline."""


@dataclass(frozen=True)
class Write:
    """A write of the session: its effect in a sentence, empty when it had no dry run."""

    tool: str
    effect: str


@dataclass(frozen=True)
class Story:
    """The story, and the seconds for which people were waited for."""

    parts: tuple[StoryPart, ...]
    people_seconds: float


class _Teller:
    """Says one sentence after the other; effects that follow each other are one sentence."""

    def __init__(self, writes: Mapping[str, Write]) -> None:
        self.writes = writes
        self.parts: list[StoryPart] = []
        self.asked_at: dict[str, datetime] = {}
        self.approved: set[str] = set()
        self.people_seconds = 0.0
        self.reads = 0
        self.told = 0
        self.listing = False

    def say(self, words: str, step: int | None = None) -> None:
        self.parts.append(StoryPart(text=plain(words), step=step))

    def quote(self, text: Text, step: int | None = None) -> None:
        self.parts.append(StoryPart(text=text, step=step))

    def begin(self, words: str) -> None:
        """Begin a sentence, after ending what is still open and saying what was only read so far."""
        self.end_list()
        if self.reads:
            self.say(f" The agent looked something up {_times(self.reads)}.")
            self.reads = 0
        self.say(f" {words}")

    def end_list(self) -> None:
        if self.listing:
            self.say(".")
            self.listing = False

    def done(self, text: Text, step: int) -> None:
        if self.listing:
            self.say("; ")
        else:
            self.begin("Done: ")
        self.quote(text, step)
        self.listing = True

    def what(self, moment: Told) -> Text:
        write = self.writes.get(moment.invocation)
        return reveal_cut(write.effect or write.tool if write else str(moment.facts.get("tool", "")), EFFECT)


def tell(
    moments: Sequence[Told], writes: Mapping[str, Write], *, title: str, sender: str, waiting: bool, now: datetime
) -> Story:
    """Return the story of a session. ``writes`` are keyed by invocation id; ``waiting`` is whether it waits now."""
    teller = _Teller(writes)
    if sender:
        teller.quote(reveal_cut(sender, EFFECT))
        teller.say(" asked: ")
    teller.quote(reveal_cut(title, EFFECT), 0)
    teller.say(".")
    for moment in moments:
        _TELL.get(moment.type, _skip)(teller, moment)
    if teller.reads:
        teller.begin("That is all so far.")
    teller.end_list()
    if waiting:
        teller.people_seconds += sum((now - asked_at).total_seconds() for asked_at in teller.asked_at.values())
    return Story(tuple(teller.parts), teller.people_seconds)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _skip(teller: _Teller, moment: Told) -> None:
    """Say nothing about events that change nothing a reader acts on."""


def _read(teller: _Teller, moment: Told) -> None:
    teller.reads += 1


def _asked(teller: _Teller, moment: Told) -> None:
    teller.asked_at[moment.invocation] = moment.at
    teller.begin("It asked people: ")
    teller.quote(teller.what(moment), moment.position)
    teller.say(".")


def _decided(teller: _Teller, moment: Told) -> None:
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


def _voided(teller: _Teller, moment: Told) -> None:
    teller.approved.discard(moment.invocation)
    teller.begin("The approval was ")
    teller.say("withdrawn", moment.position)
    teller.say(" because what had been approved no longer held.")


def _succeeded(teller: _Teller, moment: Told) -> None:
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


def _failed(teller: _Teller, moment: Told) -> None:
    teller.begin("This ")
    teller.say("failed", moment.position)
    teller.say(f" ({moment.facts.get('code', 'no reason given')}) and had no effect: ")
    teller.quote(teller.what(moment))
    teller.say(".")


def _unknown(teller: _Teller, moment: Told) -> None:
    teller.begin("Whether this took effect is ")
    teller.say("not known", moment.position)
    teller.say(": ")
    teller.quote(teller.what(moment))
    teller.say(". A person must check with the system of record.")


def _stopping(teller: _Teller, moment: Told) -> None:
    teller.begin("It ")
    teller.say("stopped", moment.position)
    teller.say(": ")
    teller.quote(reveal_cut(str(moment.facts.get("words", "")), 2 * EFFECT))


def _ended(teller: _Teller, moment: Told) -> None:
    outcome = str(moment.facts.get("outcome", ""))
    words = {"escalated": "It handed over to a person", "no action": "It ended without having done anything"}
    teller.begin("")
    teller.say(words.get(outcome, f"It ended: {outcome}"), moment.position)
    teller.say(".")


_TELL = {
    "call.read": _read,
    "approval.requested": _asked,
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
