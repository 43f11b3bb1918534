"""Calendar periods of subscriptions, and the part of a price that belongs to a part of a period. Pure, in UTC.

Money goes by the second of the period, counted from the beginning of the UTC day: a dry run that is repeated later on
the same day says the same amounts, so that what a person approved is what is done.
"""

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from billing_agent.connectors.taxes import half_even

MONTH = "month"
YEAR = "year"
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Period:
    """The time from ``start`` up to ``end``. Raises ValueError unless both have a zone and ``end`` is later."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.seconds <= 0:
            raise ValueError("a period has a length")

    @property
    def seconds(self) -> int:
        """How long it is, in whole seconds."""
        return (_utc(self.end) - _utc(self.start)) // _SECOND

    def seconds_left(self, at: datetime) -> int:
        """Return how many whole seconds of it lie after ``at``: all before it begins, none after it ends."""
        return self.seconds - min(max((_utc(at) - _utc(self.start)) // _SECOND, 0), self.seconds)

    def counted_from(self, now: datetime) -> datetime:
        """Return the moment from which a change at ``now`` counts: the beginning of the day, within the period."""
        return min(max(day_of(now), _utc(self.start)), _utc(self.end))


@dataclass(frozen=True)
class Split:
    """A price for a period in two parts, in minor units, which come to the price."""

    used_minor: int
    unused_minor: int


def split(price_minor: int, period: Period, at: datetime) -> Split:
    """Return what of a price belongs to the time before ``at``, and what to the rest of the period.

    The rest is rounded half to even; the time before has what it leaves. Raises ValueError for a negative price.
    """
    if price_minor < 0:
        raise ValueError("a price is nothing or more")
    unused = half_even(price_minor * period.seconds_left(at), period.seconds)
    return Split(price_minor - unused, unused)


def period_from(start: datetime, interval: str, anchor_day: int) -> Period:
    """Return the period that begins at ``start``: up to the anchor day of the next month, or of the month a year later.

    In a month that has no such day it ends on the month's last. The time of day stays. ``interval`` is ``month`` or
    ``year``. Raises ValueError for anything else, or a day that no month has.
    """
    if interval not in (MONTH, YEAR):
        raise ValueError(f"{interval[:20]!r} is no interval")
    if not 1 <= anchor_day <= 31:
        raise ValueError("an anchor is a day of a month")
    begin = _utc(start)
    months = begin.year * 12 + begin.month - 1 + (12 if interval == YEAR else 1)
    year, month = months // 12, months % 12 + 1
    day = min(anchor_day, monthrange(year, month)[1])
    return Period(begin, begin.replace(year=year, month=month, day=day))


def day_of(moment: datetime) -> datetime:
    """Return the beginning of the UTC day of ``moment``."""
    return _utc(moment).replace(hour=0, minute=0, second=0, microsecond=0)


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone is none")
    return moment.astimezone(UTC)
