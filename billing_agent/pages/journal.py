"""The journal's page: what a period comes to, and its files."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentops.kernel.money import Money
from agentops.tenancy.models import Tenant
from agentops.tenancy.spans import Span
from billing_agent.exporting import FILES, File, Period, Total, totals, trial_balance
from billing_agent.models import Account
from billing_agent.pages.history import NOTHING, signed


@dataclass(frozen=True)
class AccountRow:
    """An account of the trial balance. A debit has no sign, a credit a minus."""

    name: str
    currency: str
    opening: str
    debits: str
    credits: str
    closing: str


@dataclass(frozen=True)
class TotalRow:
    """What a currency comes to; ``broken`` when its debits are not its credits."""

    currency: str
    entries: int
    lines: int
    debits: str
    credits: str
    broken: bool


@dataclass(frozen=True)
class JournalPage:
    """A period with its totals, accounts and files."""

    span: Span
    totals: Sequence[TotalRow]
    accounts: Sequence[AccountRow]
    files: Sequence[File]


def journal_page(tenant: Tenant, span: Span) -> JournalPage:
    """Return the page of a period of the tenant's days."""
    period = Period.of(tenant, span.first, span.last)
    accounts = [
        AccountRow(
            name=Account(each.account).label,
            currency=each.currency,
            opening=_side(each.opening_minor, each.currency),
            debits=_sum(each.debits_minor, each.currency),
            credits=_sum(each.credits_minor, each.currency),
            closing=_side(each.closing_minor, each.currency),
        )
        for each in trial_balance(period)
    ]
    return JournalPage(span, [_total(each) for each in totals(period)], accounts, list(FILES.values()))


def _total(each: Total) -> TotalRow:
    return TotalRow(
        currency=each.currency,
        entries=each.entries,
        lines=each.lines,
        debits=_sum(each.debits_minor, each.currency),
        credits=_sum(each.credits_minor, each.currency),
        broken=each.debits_minor != each.credits_minor,
    )


def _sum(minor: int, currency: str) -> str:
    return str(Money(minor, currency)) if minor else NOTHING


def _side(minor: int, currency: str) -> str:
    return signed(minor, currency).removeprefix("+")
