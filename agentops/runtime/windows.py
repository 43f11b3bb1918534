"""The sums that limits on money are checked against: which rows a call adds to, and their locks.

A call adds to two rows of the business day: its target's and its agent's. Whoever decides first locks the target's
whole past, by an advisory lock, and then the rows by id; whoever takes an amount back locks the rows by id alone. So
nobody waits in a circle, and of two decisions about one target the second counts the first, also around midnight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from uuid import UUID

from agentops.kernel.ids import derived_id
from agentops.ledger.sql import fetch_one
from agentops.registry.tool import Preview, ToolSpec
from agentops.runtime import statements
from agentops.runtime.spend import business_day
from agentops.runtime.work import Work

LONG = 30
"""The days of the longer window, the last one included."""


@dataclass(frozen=True)
class Moved:
    """What the sums hold without the call, in minor units: see ``policy.facts.Spent``."""

    customer_day: int = 0
    customer_30_days: int = 0
    agent_day: int = 0


NOTHING_MOVED = Moved()


@dataclass(frozen=True)
class Window:
    """The sums of a call: the rows that it adds to and their day, None when it counts in none, and what they hold."""

    rows: Sequence[UUID] = ()
    day: date | None = None
    moved: Moved = NOTHING_MOVED


@dataclass(frozen=True)
class Place:
    """Where amounts are summed up: of one tenant, money family and currency on one business day."""

    tenant_id: UUID
    family: str
    currency: str
    day: date

    def row_of(self, target: str) -> UUID:
        """Return the id of the row of a target, or of an agent by its ``agent_target``."""
        return derived_id("money", str(self.tenant_id), self.family, target, self.currency, self.day.isoformat())

    def rows(self, target: str, agent_id: UUID) -> list[UUID]:
        """Return the ids of the rows that a call adds to, in the order in which they are locked."""
        return sorted({self.row_of(target), self.row_of(agent_target(agent_id))})


def agent_target(agent_id: UUID | str) -> str:
    """Return what an agent's own sum is kept under. No target of a call begins like that."""
    return f"by agent:{agent_id}"


def counts_in_window(tool: ToolSpec, preview: Preview) -> bool:
    """Return whether the call counts in sums, which then stay locked until the decision is recorded."""
    return preview.money is not None and bool(tool.money_family)


def open_window(work: Work, tool: ToolSpec, preview: Preview, at: datetime) -> Window:
    """Lock the sums that the call would add to, and return them. In the transaction of the decision."""
    money = preview.money
    if money is None or not counts_in_window(tool, preview):
        return Window()
    day = business_day(at, work.brief.zone)
    place = Place(work.held.tenant_id, tool.money_family, money.currency, day)
    return open_sums(place, preview.target, work.held.agent_id)


def open_sums(place: Place, target: str, agent_id: UUID) -> Window:
    """Lock what a call of an agent about a target adds to, until the transaction ends, and return it."""
    day, agent, rows = place.day, agent_target(agent_id), place.rows(target, agent_id)
    params = {
        "tenant": place.tenant_id,
        "family": place.family,
        "currency": place.currency,
        "target": target,
        "day": day,
        "before": [replace(place, day=day - timedelta(days=ago)).row_of(target) for ago in range(1, LONG)],
        "windows": rows,
        "targets": sorted([target, agent], key=place.row_of),
        "own": place.row_of(target),
        "agent": place.row_of(agent),
    }
    fetch_one(statements.LOCK_TARGET, params)
    row = fetch_one(statements.OPEN_WINDOW, params)
    own_day, before, agent_day = (int(found) for found in row) if row is not None else (0, 0, 0)
    return Window(rows, day, Moved(own_day, before + own_day, agent_day))
