"""Whether a change freeze covers a service at a moment. Pure."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

_WEEK = timedelta(days=7)


class Freeze(Protocol):
    """A change freeze, as ``models.ChangeFreeze`` has it. ``service`` empty: every service."""

    service: str
    starts_at: datetime
    ends_at: datetime
    weekly: bool


def covers(freeze: Freeze, service: str, now: datetime, zone: tzinfo) -> bool:
    """Return whether nothing is to be changed of ``service`` now; its end is no part of a freeze.

    A weekly one comes again every seven days from the same local time to the same local time of ``zone``. A local time
    that a day skips is as much later; what a day has twice begins the first time and ends the second time.
    """
    if freeze.service not in ("", service) or now < freeze.starts_at:
        return False
    if now < freeze.ends_at:
        return True
    return freeze.weekly and _comes_again(freeze, now, zone)


def _comes_again(freeze: Freeze, now: datetime, zone: tzinfo) -> bool:
    starts, ends = (_wall(moment, zone) for moment in (freeze.starts_at, freeze.ends_at))
    if ends - starts >= _WEEK:
        return True
    weeks = (_wall(now, zone) - starts) // _WEEK
    # A clock that is set forward or back can put the moment into the week beside the one that it seems to be in.
    return any(
        _moment(starts + week * _WEEK, zone, last=False) <= now < _moment(ends + week * _WEEK, zone, last=True)
        for week in range(max(weeks - 1, 1), weeks + 2)
    )


def _wall(moment: datetime, zone: tzinfo) -> datetime:
    """Return what a clock on the wall shows."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def _moment(wall: datetime, zone: tzinfo, *, last: bool) -> datetime:
    """Return when a clock on the wall shows a time, of two moments the ``last`` or the first."""
    first, second = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    # In the time that is skipped the second reading is the earlier one.
    return max(first, second) if last or second < first else first
