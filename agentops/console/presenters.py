"""What the console's templates receive: one frozen dataclass a page, filled by queries.

Every page's context has `page` (one of the classes below) and, from the context processor, `shell`.
Django forms travel beside them as `form`: sign-in (username, password; `demo_accounts` beside it) and new
session (role, ticket, sender, subject, body), which have no `page`. Nothing here reads a database, a clock or Django.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agentops.console.marks import Filter, Option, State, Text, Tier
from agentops.console.stands import Stands
from agentops.console.timeline import Entry, Sum, Waterfall

Theme = Literal["system", "light", "dark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NavItem:
    """A place in the rail. `waiting` feeds the badge: requests whose turn it is for this person.

    `count` is how much there is to look at, for everybody who works there.
    """

    label: str
    url: str
    icon: str
    current: bool = False
    waiting: int | None = None
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """The frame of every page of a signed-in person.

    `here` is the address to return to after a theme switch (path and query, same site). `tenants` are the
    person's tenants to choose from, empty when there is only one.
    """

    person: str
    roles: Sequence[str]
    tenant: str
    nav: Sequence[NavItem]
    theme: Theme
    now: datetime
    here: str
    tenants: Sequence[Option] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAccount:
    """An account of the demo, shown on the sign-in page there and nowhere else."""

    name: str
    password: str
    does: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeRequest:
    """A request that waits on a person, on the home page."""

    pk: str
    effect: Text
    tier: Tier
    due: datetime
    time_left: str
    soon: bool
    your_turn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeSession:
    """A session that is running: what it is about and what it does now ("step 4, look up order")."""

    pk: str
    title: Text
    agent: str
    state: State
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Sessions of today that stopped for one reason: the incident code and what it means."""

    code: str
    meaning: str
    count: int
    last_at: datetime
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCount:
    """Sessions of today with one outcome. `share` is of all of today, in thousandths."""

    state: State
    count: int
    share: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    """What waits, what runs, what failed and how today's sessions ended.

    The sequences hold the first few; the totals count all. `first_due` is the deadline of the most
    urgent waiting request.
    """

    as_of: datetime
    waiting: Sequence[HomeRequest]
    waiting_total: int
    first_due: datetime | None
    running: Sequence[HomeSession]
    running_total: int
    running_url: str
    failures: Sequence[Failure]
    failed_total: int
    failed_url: str
    outcomes: Sequence[OutcomeCount]
    sessions_today: int
    can_see_approvals: bool
    can_start_session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session in the list. `incident` is the code of why it stopped, or "", `meaning` that in words."""

    pk: str
    id: str
    title: Text
    customer: Text
    agent: str
    state: State
    incident: str
    meaning: str
    cost: str
    duration: str
    gates: int
    started: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionListPage:
    """The session list. Addresses are relative ("?status=failed&after=…") and keep the filters.

    `filtered` is true when a search or filter is active: an empty list then says so.
    """

    query: str
    filters: Sequence[Filter]
    filtered: bool
    rows: Sequence[SessionRow]
    next_url: str
    first_url: str
    clear_url: str
    can_start_session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPart:
    """A piece of the story line; with a step it links to that step."""

    text: Text
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """A session's timeline, at most 200 entries of it.

    `earlier_at` and `later_at` are positions: the neighbouring pages start there (`?at=<position>`), and
    the page that holds a position is what `?at=<position>#step-<position>` opens. `model` names the
    planner as it must be shown ("offline playbook"), empty before the first step. The waterfall covers the
    shown page. `stands` says why the session stands where it stands. `moving` is whether more follows without a
    person, so that the page looks again by itself.
    """

    pk: str
    id: str
    title: Text
    customer: Text
    state: State
    agent: str
    model: str
    asked_by: str
    started: datetime
    ended: datetime | None
    story: Sequence[StoryPart]
    stands: Stands | None
    sums: Sequence[Sum]
    waterfall: Waterfall | None
    entries: Sequence[Entry]
    first_position: int
    last_position: int
    total: int
    earlier_at: int | None
    later_at: int | None
    moving: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """Input or output of a call. `shown` and `total` are bytes; they differ when the value was cut."""

    label: Literal["Input", "Output"]
    text: Text
    shown: int
    total: int

    @property
    def cut(self) -> bool:
        """Whether less is shown than there is."""
        return self.shown < self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPage:
    """Input and output of one step: loaded into the timeline on opening, or a page of its own."""

    session_pk: str
    session_id: str
    position: int
    tool: str
    at: datetime
    payloads: Sequence[Payload]
