"""The queue and its live fragment, built from rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from agentops.console.codes import as_uuid
from agentops.console.marks import Filter, Option, Tier
from agentops.registry import roles
from agentops.tenancy.access import Reader
from approvals.access import View, view_of
from approvals.insight.siblings import counts as counts_alike
from approvals.live import SOCKET_PATH
from approvals.models import ApprovalRequest
from approvals.queries import (
    MOST_COUNTED,
    PAGE_SIZE,
    Bucket,
    Counts,
    Cursor,
    arrived,
    counts,
    cursor_of,
    page_of,
    still_in,
)
from approvals.queue_presenters import Bucket as Tab
from approvals.queue_presenters import QueueGroup, QueueNews, QueuePage, SavedLink
from approvals.rows import SOON, row_of
from approvals.saved import views_of
from approvals.search import Search, clean, read_search, with_tier, with_tool

OVERLAP = timedelta(seconds=10)
"""A request is dated before its transaction commits; a look back this far misses none that was under way."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"(\d{1,17})\.([1-3])\.([0-9a-f]{32})\Z", re.ASCII)
_MICROSECONDS = re.compile(r"\d{1,17}\Z", re.ASCII)
_LABELS = {
    Bucket.TURN: "Your turn",
    Bucket.OTHERS: "Waiting on others",
    Bucket.ESCALATED: "Escalated to you",
    Bucket.DECIDED: "Decided",
}


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

    @property
    def address(self) -> str:
        """The query text of this list from its start, in one form for every way of writing it."""
        return self.url()[1:]


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


def queue_page(reader: Reader, query: Query, now: datetime) -> QueuePage:
    """Return one page of the queue as the reader sees it."""
    view = view_of(reader.person, reader.tenant.pk, now)
    found = page_of(view, query.bucket, query.search, query.after)
    rows, more = found[:PAGE_SIZE], len(found) > PAGE_SIZE
    sizes = _counts(view)
    views = views_of(reader.person, reader.tenant.pk)
    return QueuePage(
        buckets=_buckets(query, sizes),
        bucket=query.bucket.value,
        query=query.text,
        filters=_filters(query),
        filtered=query.search.restricts,
        groups=_groups(rows, query.bucket, view),
        next_url=query.url(after=_write_cursor(cursor_of(rows[-1]))) if more else "",
        first_url=query.url() if query.after else "",
        clear_url=f"?bucket={query.bucket}",
        others_waiting=sizes.others,
        next_due=sizes.others_next_due,
        news_url=reverse("approval_news") + query.url(since=str(_microseconds(now))),
        live_url=f"/{SOCKET_PATH}",
        as_of=now,
        address=query.address,
        views=[SavedLink(pk=v.pk, name=v.name, url=f"?{v.query}", current=v.query == query.address) for v in views],
        can_save=query.search.restricts and all(view.query != query.address for view in views),
        may_assign=any(row.queue_id in view.manages for row in rows),
        may_approve=any(row.queue.bulk_approve and row.queue_id in view.mine for row in rows),
    )


def queue_news(reader: Reader, query: Query, parameters: QueryDict, now: datetime) -> QueueNews:
    """Return what changed since the page that shows ``shown`` was made at ``since``."""
    view = view_of(reader.person, reader.tenant.pk, now)
    shown = [pk for pk in map(as_uuid, parameters.getlist("shown")[:PAGE_SIZE]) if pk is not None]
    since = _read_moment(parameters.get("since", "")) or now
    present = still_in(view, query.bucket, shown)
    sizes = _counts(view)
    return QueueNews(
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


def _buckets(query: Query, sizes: Counts) -> list[Tab]:
    numbers = {
        Bucket.TURN: sizes.turn,
        Bucket.OTHERS: sizes.others,
        Bucket.ESCALATED: sizes.escalated,
        Bucket.DECIDED: sizes.decided,
    }
    return [
        Tab(
            key=bucket.value,
            label=_LABELS[bucket],
            count=numbers[bucket],
            url="?" + urlencode({"bucket": bucket, **query.kept}),
            current=bucket is query.bucket,
            note="today" if bucket is Bucket.DECIDED else "",
            many=numbers[bucket] >= MOST_COUNTED,
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


def _groups(rows: Sequence[ApprovalRequest], bucket: Bucket, view: View) -> list[QueueGroup]:
    heading = _day_decided if bucket is Bucket.DECIDED else _day_due
    alike = {} if bucket is Bucket.DECIDED else counts_alike([row.pk for row in rows], view.now)
    return [
        QueueGroup(label=label, rows=[row_of(row, bucket, view, alike=alike.get(row.pk, 0)) for row in group])
        for label, group in groupby(rows, key=lambda row: heading(row, view.now))
    ]


def _day_due(row: ApprovalRequest, now: datetime) -> str:
    if row.expires_at - now < SOON:
        return "Due within the hour"
    due = timezone.localtime(row.expires_at)
    return "Later today" if due.date() == timezone.localtime(now).date() else f"Due {date_format(due, 'l j F Y')}"


def _day_decided(row: ApprovalRequest, now: datetime) -> str:
    closed = timezone.localtime(row.closed_at or row.expires_at)
    return "Today" if closed.date() == timezone.localtime(now).date() else date_format(closed, "l j F Y")


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
