"""The daily sums that limits on money are checked against: which row a call adds to, and its lock."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from agentops.kernel.ids import derived_id
from agentops.ledger.sql import fetch_one
from agentops.registry.tool import Preview, ToolSpec
from agentops.runtime import statements
from agentops.runtime.spend import business_day
from agentops.runtime.work import Work


@dataclass(frozen=True)
class Window:
    """The daily sum of a call: its row and day, None when the call counts in none, and what it holds so far."""

    id: UUID | None = None
    day: date | None = None
    moved: int = 0


def counts_in_window(tool: ToolSpec, preview: Preview) -> bool:
    """Return whether the call counts in a daily sum, which then stays locked until the decision is recorded."""
    return preview.money is not None and bool(tool.money_family)


def open_window(work: Work, tool: ToolSpec, preview: Preview, at: datetime) -> Window:
    """Lock the daily sum that the call would add to, and return it. In the transaction of the decision."""
    money = preview.money
    if money is None or not counts_in_window(tool, preview):
        return Window()
    day = business_day(at, work.brief.zone)
    window = window_id(work.held.tenant_id, tool.money_family, preview.target, money.currency, day)
    row = fetch_one(
        statements.OPEN_WINDOW,
        {
            "window": window,
            "tenant": work.held.tenant_id,
            "family": tool.money_family,
            "target": preview.target,
            "currency": money.currency,
            "day": day,
        },
    )
    return Window(window, day, int(row[0]) if row else 0)


def window_id(tenant_id: UUID, family: str, target: str, currency: str, day: date) -> UUID:
    """Return the id of the row that sums up one family, target, currency and business day."""
    return derived_id("money", str(tenant_id), family, target, currency, day.isoformat())
