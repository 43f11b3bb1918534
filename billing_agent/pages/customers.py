"""The list of customers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agentops.kernel.money import Money
from agentops.registry.pages import Status, Tab, key_in, list_url, text_in
from billing_agent import models, queries
from billing_agent.pages.history import NOTHING
from billing_agent.queries import Bucket, Debt

_BUCKETS = {
    Bucket.ALL: "Everybody",
    Bucket.OWES: "Owe something",
    Bucket.PAST_DUE: "Past due",
    Bucket.DISPUTED: "In dispute",
}


@dataclass(frozen=True)
class Row:
    """A customer in the list. Name and address are text from outside."""

    ref: str
    name: str
    email: str
    owes: str
    status: Status
    since: datetime


@dataclass(frozen=True)
class CustomersPage:
    """The list. Addresses are relative and keep search and bucket. ``filtered``: an empty list then says so."""

    query: str
    bucket: str
    tabs: Sequence[Tab]
    rows: Sequence[Row]
    filtered: bool
    next_url: str
    first_url: str
    clear_url: str
    filters: tuple[()] = ()


def customers_page(tenant_id: UUID, params: Mapping[str, str], *, now: datetime) -> CustomersPage:
    """Return one page of the list. Values that the page does not offer restrict nothing."""
    text = text_in(params)
    asked = params.get("bucket", "")
    bucket = next((each for each in Bucket if each.value == asked), Bucket.ALL)
    before = key_in(params)
    rows, more = queries.customers(tenant_id, text=text, bucket=bucket, before=before, now=now)
    keys = [row.pk for row in rows]
    debts, disputed = queries.debts(keys, now), queries.disputed(keys)
    return CustomersPage(
        query=text,
        bucket=bucket.value,
        tabs=[Tab(label, list_url(text, each), each is bucket) for each, label in _BUCKETS.items()],
        rows=[_row(row, debts.get(row.pk, []), row.pk in disputed) for row in rows],
        filtered=bool(text or bucket),
        next_url=list_url(text, bucket, rows[-1].pk) if more else "",
        first_url=list_url(text, bucket) if before is not None else "",
        clear_url="?",
    )


def _row(row: models.Customer, debts: Sequence[Debt], in_dispute: bool) -> Row:
    return Row(
        ref=row.ref,
        name=row.name,
        email=row.email,
        owes=", ".join(str(Money(debt.minor, debt.currency)) for debt in debts) or NOTHING,
        status=status_of(row, debts, in_dispute),
        since=row.created_at,
    )


def status_of(row: models.Customer, debts: Sequence[Debt], in_dispute: bool) -> Status:
    """Return how it stands with a customer: the gravest of what holds."""
    if in_dispute:
        return Status("stop", "in dispute")
    if any(debt.past_due for debt in debts):
        return Status("stop", "past due")
    if row.deleted_at is not None:
        return Status("gone", "deleted")
    return Status("notice", "owes") if debts else Status("ok", "settled")
