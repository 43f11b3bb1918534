"""Telling a story sentence by sentence (pure). What the sentences are stands in ``story`` and ``story_people``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from agentops.console.marks import Text, plain
from agentops.console.presenters import StoryPart
from agentops.console.records import Told
from agentops.console.reveal import reveal_cut

EFFECT = 140


@dataclass(frozen=True)
class Write:
    """A write of the session: its effect in a sentence, empty when it had no dry run."""

    tool: str
    effect: str


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


class Teller:
    """Says one sentence after the other; effects that follow each other are one sentence."""

    def __init__(self, writes: Mapping[str, Write]) -> None:
        self.writes = writes
        self.parts: list[StoryPart] = []
        self.asked_at: dict[str, datetime] = {}
        self.waits_since: datetime | None = None
        self.approved: set[str] = set()
        self.people_seconds = 0.0
        self.reads = 0
        self.told = 0
        self.listing = False
        self.ended_by_person = False

    def say(self, words: str, step: int | None = None) -> None:
        """Add words of our own; with a step they link to it."""
        self.parts.append(StoryPart(text=plain(words), step=step))

    def quote(self, text: Text, step: int | None = None) -> None:
        """Add words of somebody else."""
        self.parts.append(StoryPart(text=text, step=step))

    def begin(self, words: str) -> None:
        """Begin a sentence, after ending what is still open and saying what was only read so far."""
        self.end_list()
        if self.reads:
            self.say(f" The agent looked something up {_times(self.reads)}.")
            self.reads = 0
        self.say(f" {words}")

    def end_list(self) -> None:
        """End a sentence of effects."""
        if self.listing:
            self.say(".")
            self.listing = False

    def done(self, text: Text, step: int) -> None:
        """Say that something took effect, in one sentence with what took effect right before."""
        if self.listing:
            self.say("; ")
        else:
            self.begin("Done: ")
        self.quote(text, step)
        self.listing = True

    def people_took(self, until: datetime) -> float:
        """Count the time for which the session stood still for people, and return it."""
        if self.waits_since is None:
            return 0.0
        waited = (until - self.waits_since).total_seconds()
        self.people_seconds += waited
        self.waits_since = None
        return waited

    def what(self, moment: Told) -> Text:
        """Return the effect of the call that ``moment`` tells of, or its tool."""
        write = self.writes.get(moment.invocation)
        return reveal_cut(write.effect or write.tool if write else str(moment.facts.get("tool", "")), EFFECT)


Sentence = Callable[[Teller, Told], None]
