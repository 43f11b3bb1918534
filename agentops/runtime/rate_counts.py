"""How often writes were made lately, on what, and with how much money: kept in the process, so that a step asks nobody.

Frequencies come from one look at the tenant's last hour, taken anew every few seconds at most, and advanced by what
this process does; those of other processes come with the next look. That a target is known never changes, so it is
remembered. What has to be exact is counted in the decision's own transaction: see ``rates``.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from threading import Lock
from typing import Generic, TypeVar
from uuid import UUID

from agentops.kernel.ids import derived_id
from agentops.ledger.append import Statement
from agentops.ledger.sql import fetch_all, fetch_one
from agentops.registry import roles
from agentops.runtime.rate_rule import HISTORY_DAYS, HOUR, MOST_AMOUNTS, usual_amount

FRESH_SECONDS = 5.0
"""A look at the last hour serves for so long."""

SHARE = 50
"""And for so many times as long as it took, so that looking never takes more than this part of the time."""

HISTORY_SECONDS = 600.0
AMOUNT_SECONDS = 60.0
MOST_KEPT = 4_096
MOST_TARGETS = 100_000

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Kept(Generic[_K, _V]):
    """Values that serve for some seconds, the oldest forgotten first.

    ``share``: one serves at least for so many times as long as it took to find.
    """

    def __init__(self, seconds: float, *, most: int = MOST_KEPT, share: int = 0) -> None:
        self._seconds, self._most, self._share = seconds, most, share
        self._values: OrderedDict[_K, tuple[float, _V]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: _K, find: Callable[[], _V]) -> _V:
        """Return the value of ``key``, found anew when it is too old."""
        found = self._values.get(key)
        if found is not None and found[0] > time.monotonic():
            return found[1]
        began = time.monotonic()
        value = find()
        self.put(key, value, took=time.monotonic() - began)
        return value

    def now(self, key: _K) -> _V | None:
        """Return the value of ``key`` if it still serves."""
        found = self._values.get(key)
        return None if found is None or found[0] <= time.monotonic() else found[1]

    def put(self, key: _K, value: _V, *, took: float = 0.0) -> None:
        """Keep a value from now on, which ``took`` so many seconds to find."""
        until = time.monotonic() + max(self._seconds, self._share * took)
        with self._lock:
            self._values[key] = (until, value)
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()


@dataclass
class LastHour:
    """What a tenant did in the last hour: calls that were made, by tool and by tool and target."""

    tools: Counter[str] = field(default_factory=Counter)
    targets: Counter[tuple[str, str]] = field(default_factory=Counter)
    total: int = 0

    def add(self, tool: str, target: str, count: int = 1) -> None:
        """Count calls."""
        self.tools[tool] += count
        self.targets[tool, target] += count
        self.total += count


_hours: Kept[UUID, LastHour] = Kept(FRESH_SECONDS, share=SHARE)
_counting = Lock()
_known: Kept[tuple[UUID, str, str], bool] = Kept(inf, most=MOST_TARGETS)
_earlier_calls: Kept[tuple[UUID, str], tuple[int, ...]] = Kept(HISTORY_SECONDS)
_earlier_targets: Kept[tuple[UUID, str], tuple[int, ...]] = Kept(HISTORY_SECONDS)
_amounts: Kept[tuple[UUID, str, str], int | None] = Kept(AMOUNT_SECONDS)


def forget() -> None:
    """Forget everything that was kept; the next call looks anew."""
    for kept in (_hours, _known, _earlier_calls, _earlier_targets, _amounts):
        kept.clear()


def writing_tools() -> list[str]:
    """Return the names of every tool of the installation that writes."""
    return sorted({tool.name for role in roles.all_roles() for tool in role.tools if tool.is_write})


_LAST_HOUR = """
SELECT tool, preview ->> 'target', count(*) FROM invocation
WHERE tenant_id = %(tenant)s AND tool = ANY(%(tools)s) AND intended_at > %(since)s
GROUP BY 1, 2"""


def last_hour(tenant_id: UUID, at: datetime) -> LastHour:
    """Return what the tenant did in the hour before ``at``, as this process knows it."""
    return _hours.get(tenant_id, lambda: _look(tenant_id, at))


def _look(tenant_id: UUID, at: datetime) -> LastHour:
    hour = LastHour()
    for tool, target, count in fetch_all(
        _LAST_HOUR, {"tenant": tenant_id, "tools": writing_tools(), "since": at - HOUR}
    ):
        hour.add(tool, target, count)
    return hour


def note_call(tenant_id: UUID, tool: str, target: str, *, known: bool) -> None:
    """Count a call whose intent this process has just recorded. ``known``: what it recorded is there to stay."""
    hour = _hours.now(tenant_id)
    if hour is not None:
        with _counting:
            hour.add(tool, target)
    if known:
        _known.put((tenant_id, tool, target), True)


_TARGET = """
SELECT EXISTS (SELECT 1 FROM known_target WHERE id = %(id)s),
  (SELECT count(*) FROM known_target WHERE tenant_id = %(tenant)s AND tool = %(tool)s AND first_at > %(since)s)"""


def new_targets(tenant_id: UUID, tool: str, target: str, at: datetime) -> int | None:
    """Return None when the tool was used on the target before, otherwise the tool's new targets of the last hour."""
    key = (tenant_id, tool, target)
    if _known.now(key):
        return None
    params = {"id": target_id(*key), "tenant": tenant_id, "tool": tool, "since": at - HOUR}
    found = fetch_one(_TARGET, params)
    if found is None or not found[0]:
        return int(found[1]) if found else 0
    _known.put(key, True)
    return None


def target_id(tenant_id: UUID, tool: str, target: str) -> UUID:
    """Return the id of the row that says that the tool was used on the target."""
    return derived_id("target", str(tenant_id), tool, target)


_KNOW = """
INSERT INTO known_target (id, tenant_id, tool, first_at)
SELECT %(known_id)s, %(ledger_tenant)s, %(known_tool)s, %(ledger_at)s FROM head
ON CONFLICT (id) DO NOTHING"""


def know_target(tenant_id: UUID, tool: str, target: str) -> Statement:
    """Return the part of a durable point that makes the target known."""
    params = {"known_id": target_id(tenant_id, tool, target), "known_tool": tool}
    return Statement("known", _KNOW, params)


# One hour of each of the days before, of which the first is left out that the tenant has not worked all of.
_EARLIER = """
WITH begun AS (
  SELECT min(first) AS at FROM unnest(%(tools)s::text[]) AS t(tool) CROSS JOIN LATERAL (
    SELECT i.intended_at AS first FROM invocation i
    WHERE i.tenant_id = %(tenant)s AND i.tool = t.tool AND i.intended_at IS NOT NULL
    ORDER BY i.intended_at LIMIT 1) AS f
)
SELECT (SELECT count(*) FROM {table} c WHERE c.tenant_id = %(tenant)s AND c.tool = %(tool)s
  AND c.{moment} > %(at)s - d.day * interval '1 day' - interval '1 hour'
  AND c.{moment} <= %(at)s - d.day * interval '1 day')
FROM begun CROSS JOIN generate_series(1, %(days)s) AS d(day)
WHERE begun.at <= %(at)s - d.day * interval '1 day' - interval '1 hour'
ORDER BY d.day"""
_EARLIER_CALLS = _EARLIER.format(table="invocation", moment="intended_at")
_EARLIER_TARGETS = _EARLIER.format(table="known_target", moment="first_at")


def earlier_calls(tenant_id: UUID, tool: str, at: datetime) -> tuple[int, ...]:
    """Return the tool's calls in this hour of each of the days before on which the tenant already worked."""
    return _earlier_calls.get((tenant_id, tool), lambda: _earlier(_EARLIER_CALLS, tenant_id, tool, at))


def earlier_targets(tenant_id: UUID, tool: str, at: datetime) -> tuple[int, ...]:
    """Return the tool's new targets in this hour of each of the days before."""
    return _earlier_targets.get((tenant_id, tool), lambda: _earlier(_EARLIER_TARGETS, tenant_id, tool, at))


def _earlier(sql: str, tenant_id: UUID, tool: str, at: datetime) -> tuple[int, ...]:
    params = {"tenant": tenant_id, "tool": tool, "tools": writing_tools(), "at": at, "days": HISTORY_DAYS}
    return tuple(int(count) for (count,) in fetch_all(sql, params))


# Of a currency that is rare among the latest calls nothing usual is known.
_AMOUNTS = """
SELECT minor FROM (
  SELECT preview -> 'money' ->> 1 AS currency, (preview -> 'money' ->> 0)::bigint AS minor, state, intended_at
  FROM invocation
  WHERE tenant_id = %(tenant)s AND tool = %(tool)s AND intended_at IS NOT NULL
  ORDER BY intended_at DESC LIMIT %(among)s
) latest
WHERE state = 'succeeded' AND currency = %(currency)s ORDER BY intended_at DESC LIMIT %(most)s"""


def usual_minor(tenant_id: UUID, tool: str, currency: str) -> int | None:
    """Return what the tool usually moves for the tenant, in minor units; None when it was used too little to say."""

    def find() -> int | None:
        params = {"tenant": tenant_id, "tool": tool, "currency": currency}
        rows = fetch_all(_AMOUNTS, {**params, "most": MOST_AMOUNTS, "among": 5 * MOST_AMOUNTS})
        return usual_amount([int(minor) for (minor,) in rows])

    return _amounts.get((tenant_id, tool, currency), find)
