"""Arithmetic with working hours (pure).

A moment is open when the clock on the wall shows a time within the hours. So the hour that a zone repeats in autumn
counts twice, and the one that it leaves out in spring does not count. Between two changes of a zone's offset the clock
on the wall is plain arithmetic; every calculation is cut at these changes.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

DAY_MINUTES = 24 * 60
MOST_DAYS = 1_200
"""How far ahead open time is looked for; a deadline is at most thirty days of it."""

_DAY, _ZERO, _SECOND = timedelta(days=1), timedelta(), timedelta(seconds=1)
Piece = tuple[datetime, datetime]


class NoBusinessTime(ValueError):
    """There is not so much open time in the next years."""


@dataclass(frozen=True)
class Hours:
    """A week in a zone. ``week`` are seven lists, Monday first, of (first minute of the day, minute after the last).

    A span that ends after midnight belongs to the day on which it begins. On a holiday nothing begins, and what runs
    into it ends at midnight.
    """

    zone: ZoneInfo
    week: tuple[tuple[tuple[int, int], ...], ...]
    holidays: frozenset[date] = frozenset()

    @classmethod
    def of(cls, timezone: str, week: Sequence[Sequence[Sequence[str]]], holidays: Collection[str] = ()) -> "Hours":
        """Read what is stored: pairs of local times "HH:MM", and ISO dates. Raises ValueError."""
        spans = tuple(tuple(minutes_of(begin, end) for begin, end in day) for day in week)
        if len(spans) != 7:
            raise ValueError("a week has seven days")
        return cls(ZoneInfo(timezone), spans, frozenset(map(date.fromisoformat, holidays)))

    @cached_property
    def is_empty(self) -> bool:
        """True when nothing is ever open."""
        return not any(self.week)

    def open_on(self, day: date) -> list[tuple[int, int]]:
        """Return when it is open on a day, as minutes of the clock on the wall, in order and apart from each other."""
        if day in self.holidays:
            return []
        spans = [(begin, min(end, DAY_MINUTES)) for begin, end in self.week[day.weekday()]]
        before = day - _DAY
        if before not in self.holidays:
            late = self.week[before.weekday()]
            spans += [(0, end - DAY_MINUTES) for _, end in late if end > DAY_MINUTES]
        return _joined(sorted(spans))


def minutes_of(begin: str, end: str) -> tuple[int, int]:
    """Return a span as minutes of the day; one that ends at or before its begin ends on the next. Raises ValueError."""
    first, last = _minute(begin), _minute(end)
    if first in (DAY_MINUTES, last):
        raise ValueError(f"{begin}-{end} is no span of time")
    return first, last if last > first else last + DAY_MINUTES


def _minute(text: str) -> int:
    hour, _, minute = text.partition(":")
    if not (len(hour) == len(minute) == 2 and hour.isascii() and minute.isascii() and (hour + minute).isdecimal()):
        raise ValueError(f"{text!r} is no time of day")
    found = int(hour) * 60 + int(minute)
    if int(minute) > 59 or found > DAY_MINUTES:
        raise ValueError(f"{text!r} is no time of day")
    return found


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in spans:
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def add_business(start: datetime, span: timedelta, hours: Hours | None) -> datetime:
    """Return the first moment at which ``span`` of open time has passed since ``start``. None: always open.

    Raises NoBusinessTime.
    """
    start = start.astimezone(UTC)
    if span <= _ZERO:
        return start
    if hours is None:
        return start + span
    left = span
    for begin, end in _open(start, start + MOST_DAYS * _DAY, hours):
        if end - begin >= left:
            return begin + left
        left -= end - begin
    raise NoBusinessTime(f"less than {span} of open time in {MOST_DAYS} days")


def business_between(start: datetime, end: datetime, hours: Hours | None) -> timedelta:
    """Return how much open time lies between two moments; less than zero when ``end`` is the earlier one."""
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    if end < start:
        return -business_between(end, start, hours)
    if hours is None:
        return end - start
    return sum((last - first for first, last in _open(start, end, hours)), _ZERO)


def is_open(moment: datetime, hours: Hours | None) -> bool:
    """Return whether it is open at a moment."""
    if hours is None:
        return True
    wall = moment.astimezone(hours.zone)
    minute = wall.hour * 60 + wall.minute
    return any(begin <= minute < end for begin, end in hours.open_on(wall.date()))


def _open(start: datetime, end: datetime, hours: Hours) -> Iterator[Piece]:
    """Yield the open pieces of a stretch of time, in order. Pieces may touch."""
    if hours.is_empty:
        return
    for begin, until, offset in _steady(start, end, hours.zone):
        first, last = begin.replace(tzinfo=None) + offset, until.replace(tzinfo=None) + offset
        day = first.date()
        while day <= last.date():
            midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - the clock on the wall
            for from_minute, to_minute in hours.open_on(day):
                opens = max(first, midnight + timedelta(minutes=from_minute))
                closes = min(last, midnight + timedelta(minutes=to_minute))
                if opens < closes:
                    yield (opens - offset).replace(tzinfo=UTC), (closes - offset).replace(tzinfo=UTC)
            day += _DAY


def _steady(start: datetime, end: datetime, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime, timedelta]]:
    """Yield the parts of a stretch of time in which the zone's offset does not change, each at most a day long."""
    while start < end:
        until = min(end, start + _DAY)
        offset = _offset(start, zone)
        if _offset(until, zone) != offset:
            until = _change(start, until, zone)
        yield start, until, offset
        start = until


def _change(start: datetime, end: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment after ``start`` with another offset than there; changes happen on whole seconds."""
    offset = _offset(start, zone)
    low = start.replace(microsecond=0)
    steps = -((low - end) // _SECOND)  # so many seconds later it is another one
    same = 0
    while steps - same > 1:
        middle = (same + steps) // 2
        if _offset(low + middle * _SECOND, zone) == offset:
            same = middle
        else:
            steps = middle
    return min(end, low + steps * _SECOND)


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or _ZERO
