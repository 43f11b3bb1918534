"""What the templates of the queue receive: frozen dataclasses, filled by ``listing`` and ``rows``.

`approvals/queue.html` has `page` (`QueuePage`); the live fragment `approvals/queue.html#news` has `news` (`QueueNews`).
Nothing here reads a database, a clock or Django.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agentops.console.marks import Filter, State, Text, Tier
from approvals.chips import Chip

BucketKey = Literal["turn", "others", "escalated", "decided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A tab of the queue. `note` follows the count ("today"); `many`: there are so many or more."""

    key: BucketKey
    label: str
    count: int
    url: str
    current: bool
    note: str = ""
    many: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Who has a request on the desk: `by` ("you") until a time, or whose it is otherwise in `words`.

    `may_claim` and `may_release` say which button there is.
    """

    by: str = ""
    until: datetime | None = None
    words: str = ""
    may_claim: bool = False
    may_release: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A request in the queue.

    `share_left` is what remains of the time it had, in hundredths, shown when `soon`. `votes_in` of
    `votes_needed` approvals are there. `desk` says who has it. `for_whom` delegated it. `outcome` is set once nobody
    can decide any more; `time_left` is then "" and `closed_at`, `closed_by` say when and by whom.
    """

    pk: str
    id: str
    effect: Text
    tool: str
    agent: str
    target: Text
    amount: str
    tier: Tier
    risk: str
    chips: Sequence[Chip]
    due: datetime
    time_left: str
    soon: bool
    share_left: int
    votes_in: int
    votes_needed: int
    desk: Desk = Desk()
    for_whom: str = ""
    escalated: bool = False
    outcome: State | None = None
    closed_at: datetime | None = None
    closed_by: str = ""

    @property
    def pips(self) -> tuple[bool, ...]:
        """A mark for each needed approval, filled for those that are there."""
        return tuple(n < self.votes_in for n in range(self.votes_needed))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueGroup:
    """Rows under one heading ("Due within the hour")."""

    label: str
    rows: Sequence[QueueRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNews:
    """What changed since the list was rendered: never new rows, so nothing moves under the reader.

    `new` counts requests of this bucket that are not on the page; `gone` are the keys of shown rows that
    left the bucket; `refresh_url` renders the list anew.
    """

    new: int
    since: datetime
    as_of: datetime
    gone: Sequence[str]
    buckets: Sequence[Bucket]
    refresh_url: str
    your_turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLink:
    """A saved view: where it leads, and whether it is what the page shows."""

    pk: int
    name: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """The queue. Addresses are relative and keep bucket, search and filters.

    `news_url` answers with the live fragment; the page adds `shown=<pk>` for each row. `live_url` is the
    path of the WebSocket. `next_due` belongs to the most urgent request that waits on others. `address` is the query
    text of the list, which forms send along to come back to it. `can_save`: it restricts something and is not saved.
    """

    buckets: Sequence[Bucket]
    bucket: BucketKey
    query: str
    filters: Sequence[Filter]
    filtered: bool
    groups: Sequence[QueueGroup]
    next_url: str
    first_url: str
    clear_url: str
    others_waiting: int
    next_due: datetime | None
    news_url: str
    live_url: str
    as_of: datetime
    address: str
    views: Sequence[SavedLink]
    can_save: bool
    may_assign: bool
    may_approve: bool
