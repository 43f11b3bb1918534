"""The circuit breaker of one tool or provider: what keeps failing is left alone for a while (pure).

    closed ──five failures in a row──▶ open ──its time is over──▶ half-open: one probe
      ▲                                 ▲                            │
      └────────── probe succeeds ───────┼────────────────────────────┤
                                        └──────── probe fails ───────┘

Only failures that say something about the other side count: it is down, slow, or asks to be left alone. A refusal of
the call itself, such as VALIDATION, is an answer: it counts for nothing, but a probe that gets one has shown that the
other side is there.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from agentops.kernel.errors import FailureKind

OPENS_AFTER = 5
FIRST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(minutes=10)
LONGEST_RETRY_AFTER = timedelta(hours=1)
PROBE_GIVEN_UP = timedelta(seconds=120)
ASK_AGAIN = timedelta(seconds=5)
"""When to come back while somebody else probes: most probes are over by then."""

COUNTED = frozenset({FailureKind.UNAVAILABLE, FailureKind.TIMEOUT, FailureKind.UNKNOWN, FailureKind.RATE_LIMIT})


class BreakerState(StrEnum):
    """Closed lets calls through, open none, half-open one probe at a time."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True)
class BreakerView:
    """A breaker as it was read. ``tenant_id`` None belongs to everybody; ``opened`` counts openings in a row.

    ``retry_at`` is set while it is open, ``probe_until`` while a probe is under way: the probe's token, and when it
    is given up.
    """

    id: UUID
    name: str
    tenant_id: UUID | None = None
    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    opened: int = 0
    last_code: str = ""
    retry_at: datetime | None = None
    probe_until: datetime | None = None


@dataclass(frozen=True)
class Let:
    """The call may be made."""


@dataclass(frozen=True)
class Probe:
    """The call may be made if nobody else is probing; the token is valid until ``until``."""

    until: datetime


@dataclass(frozen=True)
class Off:
    """The call may not be made before ``retry_at``."""

    retry_at: datetime


def may_call(view: BreakerView, now: datetime) -> Let | Probe | Off:
    """Return whether a call may be made at ``now``."""
    if view.state is BreakerState.CLOSED:
        return Let()
    if view.state is BreakerState.OPEN and view.retry_at is not None and now < view.retry_at:
        return Off(view.retry_at)
    if view.state is BreakerState.HALF_OPEN and view.probe_until is not None and now < view.probe_until:
        return Off(min(view.probe_until, now + ASK_AGAIN))
    return Probe(now + PROBE_GIVEN_UP)


def begin_probe(view: BreakerView, probe: Probe) -> BreakerView:
    """Return the breaker with a probe under way."""
    return replace(view, state=BreakerState.HALF_OPEN, retry_at=None, probe_until=probe.until)


def after_failure(
    view: BreakerView,
    kind: FailureKind,
    now: datetime,
    retry_after: float | None = None,
    *,
    probe: datetime | None = None,
) -> BreakerView:
    """Return the breaker after a call that failed; ``probe`` is the token of the call, ``retry_after`` seconds.

    While somebody probes, only the probe's own answer counts: another call that was begun before it opened says
    nothing new. A failure of an open breaker whose time is over is as good as a failed probe.
    """
    ours = view.state is BreakerState.HALF_OPEN and probe is not None and probe == view.probe_until
    if kind not in COUNTED:
        return _closed(view) if ours else view
    seen = replace(view, failures=view.failures + 1, last_code=kind.value)
    if view.state is BreakerState.CLOSED:
        return _open(seen, now, retry_after) if seen.failures >= OPENS_AFTER else seen
    if view.state is BreakerState.HALF_OPEN:
        return _open(seen, now, retry_after) if ours else view
    if view.retry_at is None or view.retry_at <= now:
        return _open(seen, now, retry_after)
    longer = now + _asked(retry_after)
    return replace(seen, retry_at=longer) if longer > view.retry_at else view


def after_success(view: BreakerView, *, probe: datetime | None = None) -> BreakerView:
    """Return the breaker after a call that worked. Of one that is not closed, only the probe says anything."""
    if view.state is BreakerState.CLOSED:
        return replace(view, failures=0)
    ours = view.state is BreakerState.HALF_OPEN and probe is not None and probe == view.probe_until
    return _closed(view) if ours else view


def pause_of(opened: int, retry_after: float | None = None) -> timedelta:
    """Return how long a breaker stays off that opens for the ``opened``-th time in a row."""
    doubled: timedelta = FIRST_PAUSE * (1 << min(opened - 1, 10))
    return max(min(doubled, LONGEST_PAUSE), _asked(retry_after))


def _asked(retry_after: float | None) -> timedelta:
    """What the other side asked for, as far as it is a time that can be waited for."""
    longest = LONGEST_RETRY_AFTER.total_seconds()
    if retry_after is None or not retry_after > 0:
        return timedelta()
    return timedelta(seconds=min(retry_after, longest))


def _open(view: BreakerView, now: datetime, retry_after: float | None) -> BreakerView:
    opened = view.opened + 1
    until = now + pause_of(opened, retry_after)
    return replace(view, state=BreakerState.OPEN, opened=opened, retry_at=until, probe_until=None)


def _closed(view: BreakerView) -> BreakerView:
    return replace(view, state=BreakerState.CLOSED, failures=0, opened=0, retry_at=None, probe_until=None)
