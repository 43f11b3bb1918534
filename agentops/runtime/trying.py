"""Trying a tenant's rules on what was proposed in the last days, before they decide anything."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from uuid import UUID

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.policy.ruleset import TenantRules
from agentops.policy.simulate import Summary, exchanged, simulate
from agentops.runtime.history import present_rules, proposals, under_present_grants

MOST_DAYS = 365


class Base(StrEnum):
    """What decides besides the rules that are tried."""

    THEN = "then"  # everything that was decided then, but for the tenant's own rules of then
    NOW = "now"  # today's grants, limits and rules of the house


class BadWindow(AgentOpsError):
    """A window that is no number of days."""

    code = "BAD_WINDOW"
    next_step = f"Give a number of days from 1 to {MOST_DAYS}."


@dataclass(frozen=True)
class Tried:
    """What came of it. ``cut``: there were more proposals than were to be looked at; the oldest sessions are in it."""

    summary: Summary
    since: datetime
    until: datetime
    base: Base
    cut: bool


def try_on_history(
    *, tenant_id: UUID, rules: TenantRules, days: int, base: Base = Base.THEN, most: int | None = None
) -> Tried:
    """Decide the proposals of the last ``days`` anew with ``rules`` as the tenant's own. Raises BadWindow.

    ``most`` bounds how many are looked at. Nothing is written.
    """
    if not 1 <= days <= MOST_DAYS:
        raise BadWindow(f"{days} is no window.")
    until = utcnow()
    since = until - timedelta(days=days)
    records = proposals(tenant_id=tenant_id, since=since, until=until)
    looked_at = islice(records, most)
    if base is Base.NOW:
        summary = simulate(under_present_grants(looked_at), present_rules(rules))
    else:
        summary = simulate(looked_at, exchanged(rules))
    return Tried(summary, since, until, base, cut=summary.total == most and next(records, None) is not None)
