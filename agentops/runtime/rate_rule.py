"""What is usual, what is too often, and which limit a call would break (pure).

A call is unusual when with it the calls of the last hour are more than a tool, or new targets of a tool, ever need at
this time of the day: more than ``usual_most`` says of the same hours of the days before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil, sqrt
from statistics import fmean, median_low, pstdev
from uuid import UUID

HOUR = timedelta(hours=1)

HISTORY_DAYS = 14
"""So many days back the same hour is looked at."""

LEAST_DAYS = 3
"""A tenant that has worked for fewer days has no usual: then only limits hold."""

SPREADS = 6
TIMES = 3
"""Unusual is beyond the mean by more than so many spreads, and by more than so many times."""

LEAST_AMOUNTS = 10
MOST_AMOUNTS = 200
"""What a tool usually moves is the median of so many latest amounts; of fewer than the least nothing is usual."""


def usual_most(earlier: Sequence[int], *, floor: int) -> int | None:
    """Return the most calls in an hour that count as usual, None when nothing can be said.

    ``earlier`` are the calls in the same hour of each of the days before. A day without calls counts as 0. Calls come
    at random, so an hour with a mean of n has a spread of at least the root of n. Under ``floor`` nothing is unusual; a
    floor of 0 switches this off.
    """
    if not floor or len(earlier) < LEAST_DAYS:
        return None
    mean = fmean(earlier)
    spread = max(pstdev(earlier), sqrt(mean))
    return max(floor, ceil(TIMES * mean), ceil(mean + SPREADS * spread))


def usual_amount(latest: Sequence[int]) -> int | None:
    """Return the median of the latest amounts in minor units, None when they are too few to say."""
    return None if len(latest) < LEAST_AMOUNTS else median_low(latest)


class Per(StrEnum):
    """What a limit counts: calls of a tool, calls for a target, or all calls of a tenant."""

    TOOL = "tool"
    TARGET = "target"
    TENANT = "tenant"


class Excess(StrEnum):
    """What happens to a call beyond a limit, the strongest first."""

    FORBID = "forbid"
    PAUSE = "pause"
    ASK = "ask"


@dataclass(frozen=True)
class Limit:
    """At most ``most`` write calls in any ``window_seconds``.

    ``tool`` empty: the calls of every tool, each by itself when it is per tool.
    """

    id: str
    tool: str
    per: Per
    most: int
    window_seconds: int
    excess: Excess

    @property
    def window(self) -> timedelta:
        """How long a call counts."""
        return timedelta(seconds=self.window_seconds)

    def covers(self, tool: str) -> bool:
        """Return whether calls of ``tool`` count."""
        return self.tool in ("", tool)

    def counted(self, tool: str, target: str) -> tuple[str | None, str | None]:
        """Return tool and target that count together with such a call; None stands for every one."""
        return (
            tool if self.per is Per.TOOL else self.tool or None,
            target if self.per is Per.TARGET else None,
        )


@dataclass(frozen=True)
class Reached:
    """A limit that leaves no room for the call before ``free_at``."""

    limit: Limit
    free_at: datetime

    def words(self, tool: str) -> str:
        """Return in a sentence which limit it is."""
        limit = self.limit
        which = limit.tool or (tool if limit.per is Per.TOOL else "")
        calls = f"calls of {which}" if which else "changes"
        where = {Per.TOOL: "", Per.TARGET: " for one target", Per.TENANT: " by all agents together"}[limit.per]
        return f"The limit of {calls}{where} is reached: {limit.most:,} in {span_words(limit.window_seconds)}."


def strongest(reached: Iterable[Reached], excess: Excess) -> Reached | None:
    """Return of the reached limits with this effect the one that leaves room last, None when there is none."""
    return max((one for one in reached if one.limit.excess is excess), key=lambda one: one.free_at, default=None)


def wait_words(free_at: datetime, now: datetime) -> str:
    """Return when there is room again, for a planner that may not know the time."""
    seconds = max(1, ceil((free_at - now).total_seconds()))
    return f"There is room again in {span_words(seconds)}, at {free_at:%Y-%m-%d %H:%M:%S} UTC."


_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def span_words(seconds: int) -> str:
    """Return a span in words, in the two largest units it has: ``2 hours 5 minutes``, ``a minute`` as ``1 minute``."""
    parts = []
    for size, unit in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(parts[:2])


@dataclass(frozen=True)
class Anomaly:
    """Why a session is paused.

    ``sign`` names the reason, so that a person can say once that it is all right, for as long as ``window``.
    ``settled_by_decision``: whoever is asked to decide about the call sees it, so that nothing has to be paused.
    """

    sign: str
    words: str
    window: timedelta = HOUR
    settled_by_decision: bool = False


def too_often(tool: str, count: int, usual: int) -> Anomaly:
    """Return the anomaly of a tool that is used more often than usual."""
    return Anomaly(f"often:{tool}", f"{tool} would be used {count} times within an hour; up to {usual} are usual.")


def many_targets(tool: str, count: int, usual: int) -> Anomaly:
    """Return the anomaly of a tool that is used on more new targets than usual."""
    words = f"{tool} would be used on {count} new targets within an hour; up to {usual} are usual."
    return Anomaly(f"targets:{tool}", words)


def new_way_out(tool: str, target_id: UUID) -> Anomaly:
    """Return the anomaly of something that leaves the house for a new place after text by others was read.

    The target may name a person, so neither the sign nor the words do; both stand in the ledger for good.
    """
    words = f"{tool} would send something where it never sent anything before, after text by others was read."
    return Anomaly(f"outside:{tool}:{target_id}", words, settled_by_decision=True)


def beyond(reached: Reached, tool: str) -> Anomaly:
    """Return the anomaly of a call beyond a limit that pauses."""
    return Anomaly(f"limit:{reached.limit.id}", reached.words(tool), reached.limit.window)
