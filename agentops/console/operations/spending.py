"""What models cost today, from queries to what the template receives."""

from datetime import datetime

from django.urls import reverse

from agentops.agents.models import Agent
from agentops.console.formats import cost_words
from agentops.console.marks import State
from agentops.console.operations.presenters import SpendPage, SpendRow, Standing
from agentops.console.operations.standing import tabs_of
from agentops.runtime.guards import WARN_AT
from agentops.runtime.spend import Spent, business_day, spend_of
from agentops.tenancy.access import Reader
from agentops.tenancy.zones import zone_of

MOST_STREAMS = 50


def spend_page(reader: Reader, standing: Standing, *, now: datetime) -> SpendPage:
    """Return the tenant's business day: all of it, by agent, by workstream. Two queries."""
    tenant = reader.tenant
    day = business_day(now, zone_of(tenant.timezone))
    spent = spend_of(tenant.pk, day)
    by_agent = dict(spent.agents)
    agents = sorted(Agent.objects.filter(tenant=tenant), key=lambda agent: -by_agent.get(agent.pk, Spent()).spent_micro)
    return SpendPage(
        tabs=tabs_of(standing, "spend_today"),
        as_of=now,
        day=day.isoformat(),
        total=_row(tenant.name, spent.total, tenant.max_day_micro),
        agents=[_row(agent.name, by_agent.get(agent.pk, Spent()), agent.max_day_micro) for agent in agents],
        workstreams=[_row(name, one, None) for name, one in spent.workstreams[:MOST_STREAMS]],
        workstreams_total=len(spent.workstreams),
        admin_url=reverse("admin:agentops_tenant_change", args=[tenant.pk]) if reader.person.is_staff else "",
    )


def _row(name: str, spent: Spent, limit: int | None) -> SpendRow:
    used = spent.spent_micro + spent.reserved_micro
    percent = None if limit is None else used * 100 // limit if limit else 100
    return SpendRow(
        name=name,
        spent=cost_words(spent.spent_micro),
        reserved=cost_words(spent.reserved_micro),
        limit="no limit" if limit is None else cost_words(limit) if limit else "nothing",
        percent="" if percent is None else f"{percent} %",
        state=_state(percent),
        share=_share(spent.spent_micro, limit),
        reserved_share=_share(used, limit),
        tokens=f"{spent.tokens:,}",
        calls=f"{spent.calls:,}",
    )


def _share(micro: int, limit: int | None) -> int | None:
    if limit is None:
        return None
    return min(1000, micro * 1000 // limit) if limit else 1000


def _state(percent: int | None) -> State | None:
    """Return how much of a limit is used, in words from the first mark on; None below it and without a limit."""
    if percent is None or percent < WARN_AT[0]:
        return None
    if percent >= 100:
        return State("stop", "limit reached")
    passed = max(mark for mark in WARN_AT if mark <= percent)
    return State("notice", f"over {passed} %")
