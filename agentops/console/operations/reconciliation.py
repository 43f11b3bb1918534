"""Where the ledger, a role's own books and its vendor differ, from the role to what the template receives."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from agentops.console.marks import Text
from agentops.console.operations.presenters import Standing, Tab
from agentops.console.operations.standing import tabs_of
from agentops.console.reveal import reveal
from agentops.registry import roles
from agentops.registry.call_record import call_record
from agentops.registry.reconcile import Difference, Gap, Reconciliation
from agentops.registry.tool import ToolFailure
from agentops.tenancy.access import Reader
from agentops.tenancy.spans import Span

MOST_SHOWN = 200
ROUTE = "reconciliation"

Reconcile = Callable[[UUID, datetime, datetime], Reconciliation]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A difference. ``step`` is the key of its call when the ledger has one, ``url`` the role's page of the record."""

    words: Text
    key: str
    step: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The differences of one kind."""

    label: str
    found: Sequence[Found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a comparison came to: how much was compared, and what differs. ``left_out`` is not shown."""

    calls: int
    effects: int
    entries: int
    total: int
    groups: Sequence[Group]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciliationPage:
    """A role's period. ``compared`` is None when the role could not compare; ``error`` then says why."""

    tabs: Sequence[Tab]
    roles: Sequence[Tab]
    role: str
    span: Span
    compared: Compared | None
    error: str = ""


def able_roles() -> dict[str, Reconcile]:
    """Return how each role that can is reconciled, by its name."""
    return {role.name: role.reconcile for role in roles.all_roles() if role.reconcile is not None}


def reconciliation_page(reader: Reader, standing: Standing, name: str, span: Span) -> ReconciliationPage:
    """Return what the role of that name finds in a period of the tenant. Raises KeyError for one that cannot."""
    compared, error = None, ""
    try:
        compared = _compared(reader.tenant.pk, able_roles()[name](reader.tenant.pk, span.begins, span.ends))
    except ToolFailure as failure:
        error = failure.message
    return ReconciliationPage(
        tabs=tabs_of(standing, ROUTE),
        roles=[_tab(each, name, span) for each in able_roles()],
        role=name,
        span=span,
        compared=compared,
        error=error,
    )


def _tab(name: str, current: str, span: Span) -> Tab:
    url = f"?{urlencode({'by': name})}&{span.query}"
    return Tab(label=roles.get_role(name).title, url=url, current=name == current)


def _compared(tenant_id: UUID, report: Reconciliation) -> Compared:
    shown = report.differences[:MOST_SHOWN]
    held = call_record().by_key(tenant_id, {each.key for each in shown})
    return Compared(
        calls=report.calls,
        effects=report.effects,
        entries=report.entries,
        total=len(report.differences),
        groups=[group for gap in Gap if (group := _group(gap, shown, held)).found],
        left_out=len(report.differences) - len(shown),
    )


def _group(gap: Gap, shown: Sequence[Difference], held: Container[str]) -> Group:
    found = [
        Found(words=reveal(each.words), key=each.key, step=each.key if each.key in held else "", url=each.url)
        for each in shown
        if each.gap is gap
    ]
    return Group(label=gap.label, found=found)
