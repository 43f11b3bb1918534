"""The queue and its live fragment, built from rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.models import User
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import get_text_list

from agentops.console.access import Reader
from agentops.console.codes import as_uuid
from agentops.console.formats import time_left_words
from agentops.console.marks import Filter, Kind, Option, State, Tier
from agentops.console.reveal import reveal
from agentops.kernel.money import Money
from agentops.registry import roles
from agentops.runtime.ports import ApprovalState
from approvals import presenters
from approvals.live import SOCKET_PATH
from approvals.models import ApprovalRequest
from approvals.queries import (
    PAGE_SIZE,
    Bucket,
    Counts,
    Cursor,
    View,
    approvals_of,
    arrived,
    counts,
    cursor_of,
    decidable_queues,
    level_of,
    page_of,
    still_in,
)
from approvals.search import Search, clean, read_search, with_tier, with_tool

SOON = timedelta(hours=1)
OVERLAP = timedelta(seconds=10)
"""A request is dated before its transaction commits; a look back this far misses none that was under way."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"(\d{1,17})\.([1-3])\.([0-9a-f]{32})\Z", re.ASCII)
_MICROSECONDS = re.compile(r"\d{1,17}\Z", re.ASCII)
_LABELS = {Bucket.TURN: "Your turn", Bucket.OTHERS: "Waiting on others", Bucket.DECIDED: "Decided"}


@dataclass(frozen=True)
class Query:
    """What the address of the queue asks for. ``kept`` are the parameters that its links keep."""

    bucket: Bucket
    search: Search
    text: str
    kept: Mapping[str, str]
    after: Cursor | None
    notes: Sequence[str]

    def url(self, **more: str) -> str:
        """Return the relative address of this list with ``more`` parameters."""
        return "?" + urlencode({"bucket": self.bucket, **self.kept, **more})


def read_query(parameters: QueryDict) -> Query:
    """Return what ``parameters`` ask for; what cannot be read is left out and noted."""
    name = parameters.get("bucket", "")
    bucket = Bucket(name) if name in set(Bucket) else Bucket.TURN
    text = clean(parameters.get("q", ""))
    search, kept = read_search(text), {"q": text} if text else {}
    for parameter, restrict in (("tier", with_tier), ("tool", with_tool)):
        value = clean(parameters.get(parameter, ""))
        if value:
            search, kept = restrict(search, value), {**kept, parameter: value}
    after = _read_cursor(parameters.get("after", ""))
    notes = list(search.notes)
    if parameters.get("after") and after is None:
        notes.append("The address named no page of this list, so it begins at the start.")
    return Query(bucket, search, text, kept, after, notes)


def queue_page(reader: Reader, query: Query, now: datetime) -> presenters.QueuePage:
    """Return one page of the queue as the reader sees it."""
    view = View(reader.tenant.pk, reader.person, decidable_queues(reader.person), now)
    found = page_of(view, query.bucket, query.search, query.after)
    rows, more = found[:PAGE_SIZE], len(found) > PAGE_SIZE
    sizes = _counts(view)
    return presenters.QueuePage(
        buckets=_buckets(query, sizes),
        bucket=query.bucket.value,
        query=query.text,
        filters=_filters(query),
        filtered=query.search.restricts,
        groups=_groups(rows, query.bucket, reader.person, now),
        next_url=query.url(after=_write_cursor(cursor_of(rows[-1]))) if more else "",
        first_url=query.url() if query.after else "",
        clear_url=f"?bucket={query.bucket}",
        others_waiting=sizes.others,
        next_due=sizes.others_next_due,
        news_url=reverse("approval_news") + query.url(since=str(_microseconds(now))),
        live_url=f"/{SOCKET_PATH}",
        as_of=now,
    )


def queue_news(reader: Reader, query: Query, parameters: QueryDict, now: datetime) -> presenters.QueueNews:
    """Return what changed since the page that shows ``shown`` was made at ``since``."""
    view = View(reader.tenant.pk, reader.person, decidable_queues(reader.person), now)
    shown = [pk for pk in map(as_uuid, parameters.getlist("shown")[:PAGE_SIZE]) if pk is not None]
    since = _read_moment(parameters.get("since", "")) or now
    present = still_in(view, query.bucket, shown)
    sizes = _counts(view)
    return presenters.QueueNews(
        new=arrived(view, query.bucket, query.search, since=since - OVERLAP, shown=shown),
        since=since,
        as_of=now,
        gone=[str(pk) for pk in shown if pk not in present],
        buckets=_buckets(query, sizes),
        refresh_url=reverse("approval_queue") + query.url(),
        your_turn=sizes.turn,
    )


def _counts(view: View) -> Counts:
    day_began = timezone.localtime(view.now).replace(hour=0, minute=0, second=0, microsecond=0)
    return counts(view, day_began=day_began)


def _buckets(query: Query, sizes: Counts) -> list[presenters.Bucket]:
    numbers = {Bucket.TURN: sizes.turn, Bucket.OTHERS: sizes.others, Bucket.DECIDED: sizes.decided}
    return [
        presenters.Bucket(
            key=bucket.value,
            label=_LABELS[bucket],
            count=numbers[bucket],
            url="?" + urlencode({"bucket": bucket, **query.kept}),
            current=bucket is query.bucket,
            note="today" if bucket is Bucket.DECIDED else "",
        )
        for bucket in Bucket
    ]


def _filters(query: Query) -> list[Filter]:
    tools = sorted({tool.name for role in roles.all_roles() for tool in role.tools if tool.queue})
    chosen = query.kept.get("tool", "")
    if chosen and chosen not in tools:
        tools.append(chosen)
    tiers = [(str(level), f"T{level} {Tier(level).word}") for level in (1, 2, 3)]
    return [
        _filter("tier", "Tier", "Any tier", tiers, query.kept.get("tier", "")),
        _filter("tool", "Tool", "Any tool", [(tool, tool) for tool in tools], chosen),
    ]


def _filter(name: str, label: str, anything: str, values: Sequence[tuple[str, str]], chosen: str) -> Filter:
    options = [Option("", anything, not chosen), *(Option(value, words, value == chosen) for value, words in values)]
    return Filter(name, label, options)


def _groups(
    rows: Sequence[ApprovalRequest], bucket: Bucket, person: User, now: datetime
) -> list[presenters.QueueGroup]:
    heading = _day_decided if bucket is Bucket.DECIDED else _day_due
    return [
        presenters.QueueGroup(label=label, rows=[_row(row, bucket, person, now) for row in group])
        for label, group in groupby(rows, key=lambda row: heading(row, now))
    ]


def _day_due(row: ApprovalRequest, now: datetime) -> str:
    if row.expires_at - now < SOON:
        return "Due within the hour"
    due = timezone.localtime(row.expires_at)
    return "Later today" if due.date() == timezone.localtime(now).date() else f"Due {date_format(due, 'l j F Y')}"


def _day_decided(row: ApprovalRequest, now: datetime) -> str:
    closed = timezone.localtime(row.closed_at or row.expires_at)
    return "Today" if closed.date() == timezone.localtime(now).date() else date_format(closed, "l j F Y")


OUTCOMES: Mapping[str, tuple[Kind, str]] = {
    ApprovalState.APPROVED: ("ok", "approved"),
    ApprovalState.REJECTED: ("stop", "rejected"),
    ApprovalState.EXPIRED: ("gone", "expired"),
    ApprovalState.VOIDED: ("notice", "changed since"),
}


def _row(row: ApprovalRequest, bucket: Bucket, person: User, now: datetime) -> presenters.QueueRow:
    closed = row.state in OUTCOMES
    return presenters.QueueRow(
        pk=str(row.pk),
        id=row.code,
        effect=reveal(row.effect),
        tool=row.tool,
        agent=row.agent,
        target=reveal(row.target),
        amount=amount_words(row),
        tier=Tier(level_of(row)),
        due=row.expires_at,
        time_left="" if closed else time_left_words((row.expires_at - now).total_seconds()),
        soon=not closed and row.expires_at - now < SOON,
        share_left=share_left(row, now),
        votes_in=len(approvals_of(row)),
        votes_needed=row.people,
        waits_on=row.queue.name if bucket is Bucket.OTHERS else "",
        outcome=State(*OUTCOMES[row.state]) if closed else None,
        closed_at=row.closed_at,
        closed_by=names_of(row, person) if bucket is Bucket.DECIDED else "",
    )


def names_of(row: ApprovalRequest, reader: User) -> str:
    """Return who rejected the request, or all who approved it; "" while it is neither."""
    if row.state == ApprovalState.REJECTED:
        return name_of(row.decisions.all()[0].person, reader)
    approved = approvals_of(row) if row.state == ApprovalState.APPROVED else []
    return get_text_list([name_of(decision.person, reader) for decision in approved], "and")


def name_of(person: User, reader: User) -> str:
    """Return how a person is named to the reader."""
    return "you" if person == reader else person.get_full_name() or person.get_username()


def amount_words(request: ApprovalRequest) -> str:
    """Return the money that the call would move, "" when it moves none."""
    return "" if request.money_minor is None else str(Money(request.money_minor, request.money_currency))


def share_left(request: ApprovalRequest, now: datetime) -> int:
    """Return how much of the time to decide is left, in hundredths."""
    whole = (request.expires_at - request.created_at).total_seconds()
    left = (request.expires_at - now).total_seconds()
    return max(0, min(100, round(100 * left / whole))) if whole > 0 else 0


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _write_cursor(cursor: Cursor) -> str:
    return f"{_microseconds(cursor.at)}.{cursor.level}.{cursor.id.hex}"


def _read_cursor(text: str) -> Cursor | None:
    found = _CURSOR.match(text)
    if found is None:
        return None
    return Cursor(_EPOCH + timedelta(microseconds=int(found[1])), int(found[2]), UUID(found[3]))


def _read_moment(text: str) -> datetime | None:
    return _EPOCH + timedelta(microseconds=int(text)) if _MICROSECONDS.match(text) else None
