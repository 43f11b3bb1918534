"""A customer's page: who it is, how they stand, and what happened to their money."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from urllib.parse import urlencode

from agentops.kernel.money import Money
from agentops.registry.pages import Status, key_in
from billing_agent import models, queries
from billing_agent.connectors import reading
from billing_agent.connectors.records import Invoice, Method, Subscription
from billing_agent.pages.customers import status_of
from billing_agent.pages.parts import Happening, Made, Makers, happenings, invoice_status
from billing_agent.queries import LATEST

MOST_OPEN = 50


@dataclass(frozen=True)
class Balance:
    """How a customer stands in one currency: what they owe and have as credit, what was paid, what banks hold."""

    currency: str
    owed: str
    credit: str
    paid: str
    disputed: str


@dataclass(frozen=True)
class SubscriptionRow:
    """A subscription; ``note`` says what is to come."""

    ref: str
    words: str
    price: str
    status: Status
    period_end: datetime
    note: str


@dataclass(frozen=True)
class InvoiceRow:
    """An open invoice."""

    ref: str
    number: str
    left: str
    total: str
    due: datetime | None
    status: Status
    attempts: int


@dataclass(frozen=True)
class MethodRow:
    """A card or account to pay with."""

    ref: str
    words: str
    expires: str
    status: Status


@dataclass(frozen=True)
class DisputeRow:
    """A dispute. ``reason`` is text from outside."""

    ref: str
    amount: str
    reason: str
    status: Status
    opened: datetime
    respond_by: datetime | None


@dataclass(frozen=True)
class MailRow:
    """A mail to the customer."""

    ref: str
    subject: str
    status: Status
    at: datetime
    made: Made


@dataclass(frozen=True)
class CaseRow:
    """A piece of work about the customer. ``subject`` is text from outside."""

    ref: str
    subject: str
    status: Status
    at: datetime


@dataclass(frozen=True)
class CustomerPage:
    """All of it. ``more_open`` is how many open invoices are not shown."""

    ref: str
    name: str
    email: str
    country: str
    tax: str
    since: datetime
    deleted: datetime | None
    status: Status
    balances: Sequence[Balance]
    subscriptions: Sequence[SubscriptionRow]
    invoices: Sequence[InvoiceRow]
    more_open: int
    methods: Sequence[MethodRow]
    history: Sequence[Happening]
    disputes: Sequence[DisputeRow]
    mails: Sequence[MailRow]
    cases: Sequence[CaseRow]
    next_url: str
    first_url: str


def customer_page(row: models.Customer, params: Mapping[str, str], *, now: datetime) -> CustomerPage:
    """Return the page of a customer; ``before`` in ``params`` is the key of an entry that the history goes on from."""
    account, before = reading.account(row), key_in(params)
    booked, more = queries.history(row.tenant_id, row.ref, before=before)
    debts, in_dispute = queries.debts([row.pk], now).get(row.pk, []), bool(account.disputes)
    customer = account.customer
    return CustomerPage(
        ref=row.ref,
        name=row.name,
        email=row.email,
        country=row.country,
        tax="exempt" if row.tax_exempt else f"{row.tax_bp / 100:g} %",
        since=row.created_at,
        deleted=row.deleted_at,
        status=status_of(row, debts, in_dispute),
        balances=_balances(row),
        subscriptions=[_subscription(each) for each in account.subscriptions],
        invoices=[_invoice(each, now) for each in account.open_invoices[:MOST_OPEN]],
        more_open=max(len(account.open_invoices) - MOST_OPEN, 0),
        methods=[_method(each, now.date()) for each in customer.methods],
        history=happenings(row.tenant_id, booked),
        disputes=_disputes(row),
        mails=_mails(row, now),
        cases=_cases(row),
        next_url="?" + urlencode({"before": booked[-1].entry.pk}) + "#history" if more else "",
        first_url="?#history" if before is not None else "",
    )


def _balances(row: models.Customer) -> list[Balance]:
    found = queries.balances(row.tenant_id, row.ref) or {row.currency: {}}
    return [_balance(currency, accounts) for currency, accounts in found.items()]


def _balance(currency: str, accounts: Mapping[str, int]) -> Balance:
    def told(account: str, sign: int = 1) -> str:
        return str(Money(sign * accounts.get(account, 0), currency))

    return Balance(currency, told("receivable"), told("customer_credit", -1), told("cash"), told("disputed"))


_SUBSCRIPTIONS = {"active": "ok", "past_due": "stop", "paused": "notice", "cancelled": "gone"}


def _subscription(each: Subscription) -> SubscriptionRow:
    note = ""
    if each.cancel_at is not None:
        note = "ends with this period"
    elif each.next_plan is not None:
        note = f"then {each.next_plan.name}"
    elif each.resumes_at is not None:
        note = "resumes by itself"
    return SubscriptionRow(
        ref=each.ref,
        words=each.words,
        price=f"{Money(each.plan.price.minor * each.quantity, each.plan.price.currency)} a {each.plan.interval}",
        status=Status(_SUBSCRIPTIONS[each.status.value], each.status.value.replace("_", " ")),
        period_end=each.period_end,
        note=note,
    )


def _invoice(each: Invoice, now: datetime) -> InvoiceRow:
    late = each.attempts > 0 or (each.due_at is not None and each.due_at < now)
    return InvoiceRow(
        ref=each.ref,
        number=each.words,
        left=str(each.left),
        total=str(Money(each.total_minor, each.currency)),
        due=each.due_at,
        status=invoice_status(each.status.value, past_due=late),
        attempts=each.attempts,
    )


def _method(each: Method, today: date) -> MethodRow:
    expired = each.is_expired(today)
    usual = Status("ok", "default") if each.is_default else Status("plain", "on file")
    return MethodRow(
        ref=each.ref,
        words=each.words,
        expires="" if each.expires is None else f"{each.expires[1]:02}/{each.expires[0]}",
        status=Status("stop", "expired") if expired else usual,
    )


_DISPUTES = {"needs_response": "stop", "under_review": "notice", "won": "ok", "lost": "gone"}


def _disputes(row: models.Customer) -> list[DisputeRow]:
    found = models.Dispute.objects.filter(charge__customer=row).order_by("-opened_at", "-id")[:LATEST]
    return [
        DisputeRow(
            ref=each.ref,
            amount=str(Money(each.amount_minor, each.currency)),
            reason=each.reason,
            status=Status(_DISPUTES[each.status], each.status.replace("_", " ")),
            opened=each.opened_at,
            respond_by=each.respond_by if _DISPUTES[each.status] in ("stop", "notice") else None,
        )
        for each in found
    ]


def _mails(row: models.Customer, now: datetime) -> list[MailRow]:
    found = list(row.mails.order_by("-at", "-id")[:LATEST])
    makers = Makers(row.tenant_id, [each.operation_key for each in found])
    return [
        MailRow(each.ref, each.subject, _mail_status(each, now), each.at, makers.of(each.operation_key))
        for each in found
    ]


def _mail_status(mail: models.Mail, now: datetime) -> Status:
    if mail.recalled_at is not None:
        return Status("gone", "recalled")
    if mail.release_at is None:
        return Status("notice", "draft")
    return Status("ok", "sent") if mail.release_at <= now else Status("plain", "leaves soon")


_CASES = {"open": "notice", "answered": "ok", "escalated": "stop", "closed": "gone"}


def _cases(row: models.Customer) -> list[CaseRow]:
    return [_case(each) for each in row.cases.order_by("-received_at", "-id")[:LATEST]]


def _case(each: models.Case) -> CaseRow:
    status = Status(_CASES[each.status], each.get_status_display().lower())
    return CaseRow(each.ref, each.subject, status, each.received_at)
