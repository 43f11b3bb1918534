"""What the pages of billing read. Every question names the tenant; lists cost the same number of queries at any length.

No list is counted, and each is walked by the key of its last row, so that a million customers cost what thirty do.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum

from billing_agent import models
from billing_agent.connectors.issuing import invoice_in, used_on
from billing_agent.connectors.reading import by_id_or_number
from billing_agent.connectors.records import OPEN_DISPUTES
from billing_agent.models.customers import Words

PAGE = 30
LATEST = 10
MOST_WORDS = 8
OWED = ("receivable", "customer_credit")
"""The accounts that say together what a customer owes, less than nothing when the house owes them."""

_WORD = re.compile(r"[^\W_]+")


class Bucket(StrEnum):
    """What a list of customers is restricted to."""

    ALL = ""
    OWES = "owes"
    PAST_DUE = "past_due"
    DISPUTED = "disputed"


@dataclass(frozen=True)
class Debt:
    """What a customer owes by open invoices in one currency, in minor units, and whether some of it is past due."""

    currency: str
    minor: int
    past_due: bool


def customers(
    tenant_id: UUID, *, text: str, bucket: Bucket, before: int | None, now: datetime
) -> tuple[list[models.Customer], bool]:
    """Return at most 30 customers, the newest first, and whether there are more. ``before`` is the key to go on from.

    ``text`` is an id, the number of an invoice, or the beginnings of words of name and address.
    """
    found = models.Customer.objects.filter(tenant_id=tenant_id)
    if before is not None:
        found = found.filter(pk__lt=before)
    if text:
        found = _mentioning(found, tenant_id, text)
        for key, cause in _causes(tenant_id, bucket, now):
            found = found.filter(Exists(cause.filter(**{key: OuterRef("pk")})))
    else:
        for key, cause in _causes(tenant_id, bucket, now):
            # From what makes them stand here, along its index: among many customers it may be few.
            rows = cause if before is None else cause.filter(**{f"{key}__lt": before})
            keys = rows.order_by(f"-{key}").values_list(key, flat=True).distinct()
            found = found.filter(pk__in=list(keys[: PAGE + 1]))
    page = list(found.order_by("-pk")[: PAGE + 1])
    return page[:PAGE], len(page) > PAGE


def _mentioning(rows: QuerySet[models.Customer], tenant_id: UUID, text: str) -> QuerySet[models.Customer]:
    billed = models.Invoice.objects.filter(tenant_id=tenant_id, number=text).values_list("customer_id", flat=True)
    named = Q(ref=text) | Q(pk__in=list(billed[:1]))
    begins = " & ".join(f"{word}:*" for word in _WORD.findall(text)[:MOST_WORDS])
    if not begins:
        return rows.filter(named)
    # As one condition on one table, so that each part is found along its own index.
    query = SearchQuery(begins, config="simple", search_type="raw")
    return rows.alias(words=Words("name", "email")).filter(named | Q(words=query))


_Cause = tuple[str, "QuerySet[models.Invoice] | QuerySet[models.Dispute]"]


def _causes(tenant_id: UUID, bucket: Bucket, now: datetime) -> Sequence[_Cause]:
    """Return what makes a customer stand in a bucket, with the path from it to the customer's key."""
    is_open = models.Invoice.objects.filter(tenant_id=tenant_id, status=models.Invoice.Status.OPEN)
    match bucket:
        case Bucket.OWES:
            return [("customer_id", is_open)]
        case Bucket.PAST_DUE:
            return [("customer_id", is_open.filter(is_past_due(now)))]
        case Bucket.DISPUTED:
            disputes = models.Dispute.objects.filter(tenant_id=tenant_id, status__in=sorted(OPEN_DISPUTES))
            return [("charge__customer_id", disputes)]
        case Bucket.ALL:
            return []


def is_past_due(now: datetime) -> Q:
    """Return the condition for an open invoice that was tried in vain or should have been paid."""
    return Q(due_at__lt=now) | Q(attempts__gt=0)


def debts(customer_keys: Collection[int], now: datetime) -> Mapping[int, list[Debt]]:
    """Return what customers owe by their open invoices, by the customer's key and then by currency."""
    rows = models.Invoice.objects.filter(customer_id__in=customer_keys, status=models.Invoice.Status.OPEN)
    owed = Sum(F("total_minor") - F("paid_minor") - F("credited_minor"))
    sums = rows.values("customer_id", "currency").annotate(owed=owed, late=Count("pk", filter=is_past_due(now)))
    found: dict[int, list[Debt]] = {}
    for row in sums.order_by("customer_id", "currency"):
        found.setdefault(row["customer_id"], []).append(Debt(row["currency"], row["owed"], row["late"] > 0))
    return found


def disputed(customer_keys: Collection[int]) -> frozenset[int]:
    """Return the keys of those customers whose bank has taken something back that is not decided yet."""
    rows = models.Dispute.objects.filter(charge__customer_id__in=customer_keys, status__in=sorted(OPEN_DISPUTES))
    return frozenset(rows.values_list("charge__customer_id", flat=True).distinct())


def balances(tenant_id: UUID, customer_ref: str) -> Mapping[str, Mapping[str, int]]:
    """Return what stands on the accounts of a customer in minor units, by currency and account. A debit is positive."""
    lines = models.Posting.objects.filter(entry__tenant_id=tenant_id, entry__customer_ref=customer_ref)
    sums = lines.order_by().values("entry__currency", "account").annotate(minor=Sum("minor"))
    found: dict[str, dict[str, int]] = {}
    for row in sums.order_by("entry__currency"):
        found.setdefault(row["entry__currency"], {})[row["account"]] = row["minor"]
    return found


@dataclass(frozen=True)
class Booked:
    """An entry with its lines, in minor units of its currency, and what the customer owed after it."""

    entry: models.Entry
    moved: Mapping[str, int]
    owed_minor: int


def history(tenant_id: UUID, customer_ref: str, *, before: int | None) -> tuple[list[Booked], bool]:
    """Return at most 30 entries of a customer, the latest first, and whether there are more.

    ``before`` is the key to go on from. What is owed is summed up to the first of them, and from there backwards.
    """
    entries = models.Entry.objects.filter(tenant_id=tenant_id, customer_ref=customer_ref)
    if before is not None:
        entries = entries.filter(pk__lt=before)
    rows = list(entries.order_by("-pk").prefetch_related("postings")[: PAGE + 1])
    if not rows:
        return [], False
    lines = models.Posting.objects.filter(entry__tenant_id=tenant_id, entry__customer_ref=customer_ref)
    sums = lines.filter(entry_id__lte=rows[0].pk, account__in=OWED).order_by().values("entry__currency")
    owed = {row["entry__currency"]: row["owed"] for row in sums.annotate(owed=Sum("minor"))}
    found = []
    for row in rows[:PAGE]:
        moved = {line.account: line.minor for line in row.postings.all()}
        found.append(Booked(row, moved, owed.get(row.currency, 0)))
        owed[row.currency] = owed.get(row.currency, 0) - owed_by(moved)
    return found, len(rows) > PAGE


def owed_by(moved: Mapping[str, int]) -> int:
    """Return by how much an entry changes what the customer owes."""
    return sum(moved.get(account, 0) for account in OWED)


def entries_of(invoice: models.Invoice, charge_refs: Collection[str]) -> list[models.Entry]:
    """Return the entries about an invoice, its charges, their refunds and disputes, and credit on it, by age."""
    customer = invoice.customer
    refunds = models.Refund.objects.filter(charge__invoice=invoice).values_list("ref", flat=True)
    disputes = models.Dispute.objects.filter(charge__invoice=invoice).values_list("ref", flat=True)
    refs = [invoice.ref, *charge_refs, *refunds, *disputes]
    rows = models.Entry.objects.filter(tenant_id=invoice.tenant_id, customer_ref=customer.ref)
    settled = Q(kind=models.EntryKind.CREDIT_USED, memo=used_on(invoice.ref))
    return list(rows.filter(Q(record_ref__in=refs) | settled).order_by("pk").prefetch_related("postings"))


def about(entry: models.Entry) -> str:
    """Return the id of the record that an entry is about: for credit that was used, the invoice that it settled."""
    return invoice_in(entry.memo) if entry.kind == models.EntryKind.CREDIT_USED else entry.record_ref


def reason(entry: models.Entry) -> str:
    """Return what somebody wrote about an entry, empty where its memo only names its invoice."""
    own = (models.EntryKind.CREDIT_USED, models.EntryKind.CHARGE)
    return "" if entry.kind in own else entry.memo


def numbers(tenant_id: UUID, entries: Collection[models.Entry]) -> Mapping[str, tuple[str, str]]:
    """Return the invoices that entries are about, as id and number, by the record that ``about`` says.

    What is about no invoice is left out.
    """
    refs = set(map(about, entries))
    found: dict[str, tuple[str, str]] = {}
    invoices = models.Invoice.objects.filter(tenant_id=tenant_id, ref__in=refs)
    for ref, number in invoices.values_list("ref", "number"):
        found[ref] = ref, number or ref
    paths = (
        (models.Charge.objects, "invoice"),
        (models.Refund.objects, "charge__invoice"),
        (models.Dispute.objects, "charge__invoice"),
    )
    for rows, path in paths:
        named = rows.filter(tenant_id=tenant_id, ref__in=refs, **{f"{path}__isnull": False})
        for record, ref, number in named.values_list("ref", f"{path}__ref", f"{path}__number"):
            found[record] = ref, number or ref
    return found


def invoice_of(tenant_id: UUID, ref: str) -> models.Invoice | None:
    """Return the invoice of that id or number with its customer, or None."""
    rows = by_id_or_number(models.Invoice.objects.filter(tenant_id=tenant_id), ref)
    return rows.select_related("customer").first()
