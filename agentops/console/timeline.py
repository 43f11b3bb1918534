"""What the timeline of a session is made of.

An entry is what a reader takes as one happening; it may stand for several ledger events (a proposal, its
verdict, its intent and its result are one call). `position` is that of its first event, `folded` lists
the others, so that a link to any event lands on the entry that shows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

from agentops.console.marks import Rule, State, Text, Tier, UntrustedText

TimeKind = Literal["model", "tool", "human", "idle"]
"""Whose time it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Happening:
    """What all entries have. `took`, `cost` and `tokens` are prepared ("1,912 tokens") or "".

    `erased_at` is when what was said there was erased, None while it can be read.
    """

    position: int
    at: datetime
    took: str = ""
    cost: str = ""
    tokens: str = ""
    folded: Sequence[int] = ()
    erased_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry(_Happening):
    """The request that started the session, or a later message: untrusted."""

    template: ClassVar[str] = "console/events/message.html"
    heading: str
    message: UntrustedText


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoing:
    """What undoing has to do with a call: the step it takes back, the step that took it back, or an offer.

    `undone_by` is empty when nobody in particular did it. `pk` and `until` belong to an offer: the call may be taken
    back with `tool` until then; `blocked` says why not just now. `error` is what stood against the last attempt.
    """

    undoes: int | None = None
    undone_at: int | None = None
    undone_by: str = ""
    pk: str = ""
    tool: str = ""
    until: datetime | None = None
    blocked: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEntry(_Happening):
    """A proposed tool call and what became of it.

    `summary` is its arguments in a line; `outcome` says how it ended, `detail` adds the vendor's
    transaction or the error's words. `has_payload` is whether input and output can be opened. A call that
    was refused, failed, or whose outcome is unknown has `open_failure` and is never folded away.
    `person` is who proposed it instead of the agent, `undo` what undoing has to do with it.
    """

    template: ClassVar[str] = "console/events/call.html"
    tool: str
    summary: Text
    rationale: Text
    verdict: State
    rules: Sequence[Rule]
    outcome: State
    detail: Text = ()
    size: str = ""
    has_payload: bool = True
    write: bool = False
    person: str = ""
    undo: Undoing | None = None

    @property
    def open_failure(self) -> bool:
        """Whether it must never be folded away."""
        return self.outcome.kind == "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateMoment:
    """One line of a gate's history: opened, decided, expired, voided."""

    at: datetime
    who: str
    did: str
    reason: Text = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEntry(_Happening):
    """A question to people. `request_pk` links to it when the reader may open it; `waited` is "" while open."""

    template: ClassVar[str] = "console/events/gate.html"
    effect: Text
    tier: Tier
    state: State
    queue: str
    waited: str
    due: datetime
    request_pk: str
    request_id: str
    rules: Sequence[Rule]
    history: Sequence[GateMoment]
    rationale: Text = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentEntry(_Happening):
    """Something stopped or degraded the session: the incident code, its words, and the next step."""

    template: ClassVar[str] = "console/events/incident.html"
    code: str
    words: Text
    next_step: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEntry(_Happening):
    """A plain happening: queued, claimed again after a crash, paused, resumed, cancelled by somebody.

    `reason` is what somebody gave for it. `until` is when it ends, `step` and `session_pk` are what it is about.
    """

    template: ClassVar[str] = "console/events/note.html"
    words: str
    who: str = ""
    reason: Text = ()
    until: datetime | None = None
    step: int | None = None
    session_pk: str = ""
    mark: str = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEntry(_Happening):
    """Something that the agent asked people, with the answers that it suggested."""

    template: ClassVar[str] = "console/events/question.html"
    who: str
    body: Text
    options: Sequence[Text] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleEntry:
    """Time in which nothing happened, compressed ("waited 2 h 14 m for approval")."""

    template: ClassVar[str] = "console/events/idle.html"
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEntry(_Happening):
    """The final answer: what was verified, what was blocked, what is left, each a list of sentences."""

    template: ClassVar[str] = "console/events/answer.html"
    heading: str = "Answer"
    body: Text
    verified: Sequence[Text]
    blocked: Sequence[Text]
    left: Sequence[Text]


Entry = MessageEntry | CallEntry | GateEntry | IncidentEntry | NoteEntry | QuestionEntry | IdleEntry | AnswerEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """A figure about the whole session ("Cost", "$0.024", "of $2.00")."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A stretch of time in the waterfall; `x` and `width` in thousandths of the axis.

    A compressed bar stands for a wait that is drawn shorter than it was.
    """

    kind: TimeKind
    x: int
    width: int
    compressed: bool = False

    @property
    def end(self) -> int:
        """Where it ends, in thousandths of the axis."""
        return self.x + self.width


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterfallRow:
    """A step in the waterfall. `mono` sets the label as code: it is a tool's name."""

    position: int
    label: str
    mono: bool
    bars: Sequence[Bar]
    took: str
    cost: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterfallKey:
    """A line of the legend: whose time, and how much of it."""

    kind: TimeKind
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    """Where the time and money went, a row a step, beside the numbers that say the same."""

    start: datetime
    end: datetime
    keys: Sequence[WaterfallKey]
    rows: Sequence[WaterfallRow]
