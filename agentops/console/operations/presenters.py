"""What the operators' templates receive: one frozen dataclass a page (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentops.console.marks import Filter, State, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """One of the operators' pages. ``count`` is shown when there is something to look at."""

    label: str
    url: str
    current: bool
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A line on the home page that leads to what it tells of."""

    state: State
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeLine:
    """A freeze in a list or a banner. ``asked_by`` is empty while nobody asked to lift it."""

    pk: str
    what: str
    by: str
    why: Text
    since: datetime
    asked_by: str = ""
    lifted_by: str = ""
    lifted_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands out of a tenant's operations, for the frame of every page and the home page.

    ``frozen`` are the freezes that stop sessions, the widest first; ``to_look_at`` feeds the count in the navigation.
    """

    frozen: Sequence[FreezeLine]
    notices: Sequence[Notice]
    freezes: int
    unknown: int
    questions: int
    breakers_off: int
    unusual: int
    can_freeze: bool

    @property
    def to_look_at(self) -> int:
        """How many things wait for an operator."""
        return self.unknown + self.questions + self.unusual


@dataclass(frozen=True, slots=True, kw_only=True)
class Draining:
    """A freeze that is active, and how much of what it covers has not stopped yet."""

    line: FreezeLine
    left: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AtWork:
    """A session that a worker holds. ``silent`` since its lease ran out; ``wish`` is what it does after this step."""

    session_pk: str
    title: Text
    agent: str
    doing: str
    since: datetime
    worker: str
    heard: datetime
    silent: datetime | None
    wish: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A call that was intended and has not ended. ``state`` says whether somebody is at it."""

    session_pk: str
    title: Text
    position: int
    tool: str
    effect: Text
    since: datetime
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """What is under way, in all of the tenant or under one freeze. ``moving``: the page looks again by itself.

    The sequences hold the first few, the totals count all. ``quiet_since`` is None while it is not quiet, or when
    nothing ever ran.
    """

    url: str
    as_of: datetime
    moving: bool
    summary: str
    quiet: bool
    quiet_since: datetime | None
    queued: int
    sessions: Sequence[AtWork]
    sessions_total: int
    calls: Sequence[OpenCall]
    calls_total: int
    draining: Sequence[Draining]


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightPage:
    """The operators' first page."""

    tabs: Sequence[Tab]
    live: InFlight


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeListPage:
    """Active freezes, and a page of those that were lifted."""

    tabs: Sequence[Tab]
    active: Sequence[FreezeLine]
    active_total: int
    lifted: Sequence[FreezeLine]
    first_url: str
    next_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezePage:
    """One freeze. ``live`` is what drains under it, None once it was lifted; ``cannot`` why this reader cannot lift."""

    tabs: Sequence[Tab]
    line: FreezeLine
    stops_sessions: bool
    asked_at: datetime | None
    asked_why: Text
    can_ask: bool
    can_lift: bool
    cannot: str
    live: InFlight | None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeEffect:
    """What a freeze would do, before it is made. ``already`` are active freezes that cover all of it."""

    what: str
    lines: Sequence[str]
    already: Sequence[FreezeLine] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a call."""

    name: str
    value: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownCall:
    """A call that may or may not have taken effect, with all that is known of it.

    That it did not can be said from ``never_before`` on.
    """

    pk: str
    tool: str
    effect: Text
    arguments: Sequence[Argument]
    key: str
    intended: datetime
    noticed: datetime | None
    words: Text
    session_pk: str
    position: int
    title: Text
    can_be_asked: bool
    never_before: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPage:
    """The reconciliation queue, the oldest first. ``error`` and a bound form belong to the call ``about``."""

    tabs: Sequence[Tab]
    calls: Sequence[UnknownCall]
    total: int
    first_url: str
    next_url: str
    can_settle: bool
    about: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerRow:
    """The breaker of a tool or a provider. ``until`` is set while it is off, ``error`` tells of the last failure."""

    pk: str
    name: str
    everybodys: bool
    state: State
    until: datetime | None
    failures: int
    error: Text
    code: str
    since: datetime
    can_reset: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPage:
    """The breakers, those that are off first."""

    tabs: Sequence[Tab]
    rows: Sequence[BreakerRow]
    total: int
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow:
    """A planner's question to people."""

    text: Text
    session_pk: str
    title: Text
    agent: str
    asked: datetime
    due: datetime
    time_left: str
    soon: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPage:
    """The questions that wait for an answer, the oldest first."""

    tabs: Sequence[Tab]
    rows: Sequence[QuestionRow]
    total: int
    first_url: str
    next_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendRow:
    """What models cost one scope today. ``share`` and ``reserved_share`` are thousandths of the limit, None without."""

    name: str
    spent: str
    reserved: str
    limit: str
    percent: str
    state: State | None
    share: int | None
    reserved_share: int | None
    tokens: str
    calls: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendPage:
    """A tenant's business day so far."""

    tabs: Sequence[Tab]
    as_of: datetime
    day: str
    total: SpendRow
    agents: Sequence[SpendRow]
    workstreams: Sequence[SpendRow]
    workstreams_total: int
    admin_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDial:
    """What an agent's current version may do with a tool. ``changed``: not what a fresh agent may.

    ``limits`` are empty where they are those of a fresh agent.
    """

    agent: str
    does: str
    limits: Sequence[str]
    changed: bool
    frozen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastLine:
    """One tool: what it is, the worst call, what stops it, what a fresh agent does, and what the tenant's agents do.

    ``frozen``: by a freeze that covers every agent.
    """

    tool: str
    kind: str
    undo: str
    data: str
    worst: str
    stopped_by: str
    default: str
    limits: Sequence[str]
    agents: Sequence[AgentDial]
    frozen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastRole:
    """A role with those of its tools that the filters let through."""

    title: str
    lines: Sequence[BlastLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastPage:
    """The blast radius of every tool. ``agents_left`` counts agents of the tenant that are not shown."""

    tabs: Sequence[Tab]
    query: str
    filters: Sequence[Filter]
    filtered: bool
    clear_url: str
    roles: Sequence[BlastRole]
    shown: int
    total: int
    agents_left: int
