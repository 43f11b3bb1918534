"""The journal as files for an accountant: each line of the books, what stands on the accounts, and control totals.

CSV as in RFC 4180, UTF-8 with a byte order mark, without which spreadsheets misread names. A file holds its columns and
nothing else, so that a program can read it: totals are a file of their own. Amounts are decimal with a point and the
digits of their currency. No cell can be taken for a formula.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import BigIntegerField, Count, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from agentops.kernel.cells import as_text
from agentops.kernel.money import Money
from agentops.registry.call_record import call_record
from agentops.registry.made import MadeCall
from agentops.tenancy.models import Tenant
from agentops.tenancy.zones import zone_of
from billing_agent import models
from billing_agent.models import Account, EntryKind

ROLE = "billing"
TYPE = "text/csv; charset=utf-8"
AT_ONCE = 2_000
"""Lines of the books that are in memory at once."""

Cells = Sequence[str]


@dataclass(frozen=True)
class Period:
    """Whole days of a tenant's own zone: from the beginning of ``first`` to the end of ``last``."""

    tenant: Tenant
    first: date
    last: date
    zone: ZoneInfo

    @classmethod
    def of(cls, tenant: Tenant, first: date, last: date) -> "Period":
        """Return the period of these days."""
        return cls(tenant, first, last, zone_of(tenant.timezone))

    @property
    def begins(self) -> datetime:
        """The moment from which on it counts."""
        return datetime.combine(self.first, time.min, tzinfo=self.zone)

    @property
    def ends(self) -> datetime:
        """The moment that it no longer includes."""
        return datetime.combine(self.last + timedelta(days=1), time.min, tzinfo=self.zone)


@dataclass(frozen=True)
class File:
    """A file that can be taken. ``rows(period)`` yields its rows after the columns, some at a time."""

    name: str
    title: str
    says: str
    columns: Cells
    rows: Callable[[Period], Iterator[list[Cells]]]

    def lines(self, period: Period) -> Iterator[bytes]:
        """Yield the file in parts."""
        yield b"\xef\xbb\xbf" + _written([self.columns])
        for some in self.rows(period):
            yield _written(some)


def _written(rows: Sequence[Cells]) -> bytes:
    told = io.StringIO(newline="")
    csv.writer(told).writerows([as_text(cell) for cell in row] for row in rows)
    return told.getvalue().encode()


def name_of(period: Period, file: File) -> str:
    """Return what the file is called."""
    return f"{file.name}-{period.tenant.slug}-{period.first.isoformat()}-{period.last.isoformat()}.csv"


def note(period: Period, file: File, *, actor: str) -> None:
    """Put on record who takes which file. What cannot be recorded must not be handed out."""
    facts = {"file": file.name, "first": period.first.isoformat(), "last": period.last.isoformat()}
    call_record().note_export(period.tenant.pk, role=ROLE, actor=actor, facts=facts)


def _lines_of(tenant: Tenant) -> QuerySet[models.Posting]:
    return models.Posting.objects.filter(entry__tenant_id=tenant.pk)


def _within(period: Period) -> Q:
    return Q(entry__at__gte=period.begins, entry__at__lt=period.ends)


_JOURNAL = (
    *("entry_id", "posted_at_utc", "posted_on", "account_code", "account_name", "debit", "credit", "currency"),
    *("customer_id", "document", "kind", "memo", "operation_key", "session_id"),
)
_READ = (
    *("entry_id", "entry__at", "account", "minor", "entry__currency", "entry__customer_ref", "document"),
    *("entry__kind", "entry__memo", "entry__operation_key"),
)


def _journal(period: Period) -> Iterator[list[Cells]]:
    """Yield the lines of the books by time. The database keeps the rows that are not read yet (a cursor)."""
    number = models.Invoice.objects.filter(tenant_id=period.tenant.pk, ref=OuterRef("entry__record_ref"))
    lines = _lines_of(period.tenant).filter(_within(period)).order_by("entry__at", "entry_id", "id")
    told = lines.annotate(document=Coalesce(Subquery(number.values("number")[:1]), "entry__record_ref"))
    some: list[Any] = []
    for row in told.values_list(*_READ, named=True).iterator(chunk_size=AT_ONCE):
        some.append(row)
        if len(some) == AT_ONCE:
            yield _journal_rows(period, some)
            some = []
    if some:
        yield _journal_rows(period, some)


def _journal_rows(period: Period, rows: Sequence[Any]) -> list[Cells]:
    calls = call_record().by_key(period.tenant.pk, {row.entry__operation_key for row in rows})
    return [_journal_row(period, row, calls.get(row.entry__operation_key)) for row in rows]


def _journal_row(period: Period, row: Any, call: MadeCall | None) -> Cells:
    return (
        str(row.entry_id),
        row.entry__at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        row.entry__at.astimezone(period.zone).date().isoformat(),
        row.account,
        Account(row.account).label,
        *_sides(row.minor, row.entry__currency),
        row.entry__currency,
        row.entry__customer_ref,
        row.document,
        EntryKind(row.entry__kind).label,
        row.entry__memo,
        row.entry__operation_key,
        "" if call is None else str(call.session_id),
    )


def _sides(minor: int, currency: str) -> tuple[str, str]:
    """Return debit and credit, the other one empty."""
    return (decimal(minor, currency), "") if minor >= 0 else ("", decimal(-minor, currency))


def decimal(minor: int, currency: str) -> str:
    """Return an amount with a point and the digits of its currency: 1234.50 in USD, 1234 in JPY."""
    return f"{Money(minor, currency).decimal:f}"


@dataclass(frozen=True)
class Standing:
    """What stands on one account in minor units: before a period, and what it added on each side.

    A debit is positive; ``credits_minor`` are what was credited, as a positive number.
    """

    account: str
    currency: str
    opening_minor: int
    debits_minor: int
    credits_minor: int

    @property
    def closing_minor(self) -> int:
        """What stands on it at the end."""
        return self.opening_minor + self.debits_minor - self.credits_minor


def trial_balance(period: Period) -> list[Standing]:
    """Return every account on which something stood or moved, by currency and account. One question."""
    lines = _lines_of(period.tenant).filter(entry__at__lt=period.ends).order_by()
    within = Q(entry__at__gte=period.begins)
    zero = Value(0, output_field=BigIntegerField())
    sums = lines.values("entry__currency", "account").annotate(
        opening=Coalesce(Sum("minor", filter=~within), zero),
        debits=Coalesce(Sum("minor", filter=within & Q(minor__gt=0)), zero),
        credits=Coalesce(Sum("minor", filter=within & Q(minor__lt=0)), zero),
    )
    found = [
        Standing(row["account"], row["entry__currency"], row["opening"], row["debits"], -row["credits"])
        for row in sums.order_by("entry__currency")
    ]
    order = list(Account)
    return sorted(found, key=lambda each: (each.currency, order.index(Account(each.account))))


def _trial_rows(period: Period) -> Iterator[list[Cells]]:
    yield [_trial_row(each) for each in trial_balance(period)]


def _trial_row(each: Standing) -> Cells:
    sums = (each.debits_minor, each.credits_minor)
    return (
        each.account,
        Account(each.account).label,
        each.currency,
        *_sides(each.opening_minor, each.currency),
        *(decimal(minor, each.currency) for minor in sums),
        *_sides(each.closing_minor, each.currency),
    )


@dataclass(frozen=True)
class Total:
    """What the journal of a period comes to in one currency. Debits are credits, or the books are broken."""

    currency: str
    entries: int
    lines: int
    debits_minor: int
    credits_minor: int
    last_entry: int


def totals(period: Period) -> list[Total]:
    """Return the control totals of the journal by currency."""
    lines = _lines_of(period.tenant).filter(_within(period)).order_by()
    zero = Value(0, output_field=BigIntegerField())
    sums = lines.values("entry__currency").annotate(
        entries=Count("entry_id", distinct=True),
        lines=Count("pk"),
        debits=Coalesce(Sum("minor", filter=Q(minor__gt=0)), zero),
        credits=Coalesce(Sum("minor", filter=Q(minor__lt=0)), zero),
        last=Max("entry_id"),
    )
    return [
        Total(row["entry__currency"], row["entries"], row["lines"], row["debits"], -row["credits"], row["last"])
        for row in sums.order_by("entry__currency")
    ]


def _total_rows(period: Period) -> Iterator[list[Cells]]:
    yield [_total_row(period, each) for each in totals(period)]


def _total_row(period: Period, each: Total) -> Cells:
    sums = (each.debits_minor, each.credits_minor, each.debits_minor - each.credits_minor)
    counts = (each.entries, each.lines, each.last_entry)
    days = (period.first.isoformat(), period.last.isoformat(), period.zone.key)
    return (*days, each.currency, *map(str, counts), *(decimal(minor, each.currency) for minor in sums))


FILES = {
    file.name: file
    for file in (
        File("journal", "Journal", "One row for each line of the books.", _JOURNAL, _journal),
        File(
            "trial-balance",
            "Trial balance",
            "What stood on each account before, what moved, and what stands on it now.",
            (
                *("account_code", "account_name", "currency", "opening_debit", "opening_credit"),
                *("period_debit", "period_credit", "closing_debit", "closing_credit"),
            ),
            _trial_rows,
        ),
        File(
            "totals",
            "Control totals",
            "What the journal must come to: entries, lines, debits and credits of each currency.",
            (
                *("first_day", "last_day", "time_zone", "currency", "entries", "lines", "last_entry_id"),
                *("debits", "credits", "difference"),
            ),
            _total_rows,
        ),
    )
}
