"""When a person is told (pure): quiet hours on their own clock, digests, and how long to wait after a failure."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

MOST_ATTEMPTS = 8
FIRST_WAIT = 15.0
LONGEST_WAIT = 3600.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Habits:
    """How a person wants to be told. Quiet from one local time to another, over midnight too; both None: never."""

    zone: ZoneInfo
    quiet_from: time | None = None
    quiet_to: time | None = None
    digest: timedelta = timedelta()


def due_at(now: datetime, habits: Habits, *, urgent: bool, until: datetime) -> datetime:
    """Return when a message of ``now`` is sent. ``until`` is when it is of no more use.

    What is urgent is sent at once. A digest takes no more than a quarter of the time that is left.
    """
    if urgent:
        return now
    due = now
    if habits.digest:
        due = min(_end_of_digest(now, habits.digest), now + max(until - now, timedelta()) / 4)
    return quiet_end(due, habits)


def _end_of_digest(now: datetime, length: timedelta) -> datetime:
    """All messages of one stretch of this length end at the same moment, and so go out together."""
    return _EPOCH + -((_EPOCH - now) // length) * length


def quiet_end(now: datetime, habits: Habits) -> datetime:
    """Return the first moment from ``now`` on at which the person's clock shows no quiet time."""
    if not is_quiet(now, habits):
        return now
    assert habits.quiet_to is not None  # noqa: S101 - it is quiet
    today = now.astimezone(habits.zone).date()
    ends = [
        _clock_reaches(datetime.combine(day, habits.quiet_to, habits.zone).replace(fold=fold))
        for day in (today, today + timedelta(days=1), today + timedelta(days=2))
        for fold in (0, 1)
    ]
    # A clock that is set forward can jump out of the quiet hours, over their end, or over all that is not quiet.
    return min(end for end in ends if end > now and not is_quiet(end, habits))


def is_quiet(now: datetime, habits: Habits) -> bool:
    """Return whether the person's clock shows a time from ``quiet_from`` on and before ``quiet_to``."""
    begins, ends = habits.quiet_from, habits.quiet_to
    if begins is None or ends is None or begins == ends:
        return False
    clock = now.astimezone(habits.zone).time()
    return begins <= clock < ends if begins < ends else clock >= begins or clock < ends


def _clock_reaches(local: datetime) -> datetime:
    """Return the moment in UTC at which the clock shows ``local``, or jumps over it."""
    moment = local.astimezone(UTC)
    if moment.astimezone(local.tzinfo).replace(tzinfo=None) == local.replace(tzinfo=None):
        return moment
    # The two readings of a time that does not exist lie before and after the jump.
    early, late = sorted(local.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    zone, offset = local.tzinfo, early.astimezone(local.tzinfo).utcoffset()
    while late - early > timedelta(seconds=1):
        middle = early + (late - early) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    return late.replace(microsecond=0)


def wait_after(attempts: int, *, jitter: float) -> timedelta:
    """Return how long to wait after so many attempts: 15, 30, 60 … s, ± 20 % by ``jitter`` in [0, 1)."""
    base = min(FIRST_WAIT * 2.0 ** (max(attempts, 1) - 1), LONGEST_WAIT)
    return timedelta(seconds=base * (0.8 + 0.4 * jitter))
