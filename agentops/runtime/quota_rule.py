"""The rule by which calls of a shared provider are given out (pure).

Of ``per_minute`` calls in any minute each tenant that wants some may have an equal share. A tenant that has had its
share gets more only while that leaves enough for what the others still want of theirs.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

WINDOW = 60
"""A call counts for so many whole seconds after its own, so that no span of 60 seconds holds too many."""

GRACE = 10
"""Somebody who was told to come back counts as wanting a call for so many seconds longer."""

LONGEST_WAIT = WINDOW + 1
"""By then every call that counts now counts no more."""


@dataclass(frozen=True)
class Second:
    """What one tenant did in one second: calls that it made, and calls that it was told to come back for then."""

    tenant_id: UUID
    second: int
    calls: int = 0
    waits: int = 0


def wait_of(seconds: Iterable[Second], *, tenant_id: UUID, now: int, per_minute: int) -> int:
    """Return 0 when the tenant may make a call in second ``now``, otherwise in how many seconds to ask again."""
    made: list[int] = []
    ours: list[int] = []
    used: Counter[UUID] = Counter()
    wanted: Counter[UUID] = Counter()
    for entry in seconds:
        if entry.calls and entry.second >= now - WINDOW:
            used[entry.tenant_id] += entry.calls
            made += [entry.second] * entry.calls
            ours += [entry.second] * entry.calls if entry.tenant_id == tenant_id else []
        if entry.waits and entry.second > now - GRACE:
            wanted[entry.tenant_id] += entry.waits
    share = max(1, per_minute // len({tenant_id, *used, *wanted}))
    owed = sum(min(max(0, share - used[other]), waits) for other, waits in wanted.items() if other != tenant_id)
    free, beyond = per_minute - len(made), len(ours) - share
    if free > 0 and (beyond < 0 or free > owed):
        return 0
    if beyond < 0:
        return _until(sorted(made), wanted[tenant_id] + owed - free, now)
    # Its turn comes when others leave something, or when enough of its own calls count no more.
    left_over = _until(sorted(made), sum(wanted.values()) - free, now)
    return min(left_over, _until(sorted(ours), beyond + wanted[tenant_id], now))


def _until(made: list[int], ahead: int, now: int) -> int:
    """Return the seconds until, after ``ahead`` others, another of the calls that were ``made`` counts no more."""
    if ahead >= len(made):
        return LONGEST_WAIT
    return min(max(made[max(0, ahead)] + WINDOW + 1 - now, 1), LONGEST_WAIT)
