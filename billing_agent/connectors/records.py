"""What a billing system knows, as values: customers, subscriptions, invoices and payments at one moment. Pure.

Amounts are whole minor units; a value says its currency. Moments are UTC.
"""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from agentops.kernel.money import Money


class InvoiceStatus(StrEnum):
    """Where an invoice is in its life."""

    DRAFT = "draft"
    OPEN = "open"
    PAID = "paid"
    VOID = "void"
    UNCOLLECTIBLE = "uncollectible"


class SubscriptionStatus(StrEnum):
    """Where a subscription is in its life."""

    ACTIVE = "active"
    PAST_DUE = "past_due"
    PAUSED = "paused"
    CANCELLED = "cancelled"


class ChargeStatus(StrEnum):
    """How an attempt to take money ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


class DisputeStatus(StrEnum):
    """Where a dispute is in its life."""

    NEEDS_RESPONSE = "needs_response"
    UNDER_REVIEW = "under_review"
    WON = "won"
    LOST = "lost"


OPEN_DISPUTES = frozenset({DisputeStatus.NEEDS_RESPONSE, DisputeStatus.UNDER_REVIEW})


@dataclass(frozen=True)
class Method:
    """A card or account.

    ``declines_with`` is what its issuer answers, empty when it pays; only the embedded system knows it beforehand.
    """

    ref: str
    kind: str
    brand: str
    last_four: str
    expires: tuple[int, int] | None
    declines_with: str
    is_default: bool
    version: int

    @property
    def words(self) -> str:
        """The method as a person recognises it, for example ``Visa ending 4242``."""
        name = self.brand or ("bank account" if self.kind == "bank" else "card")
        return f"{name} ending {self.last_four}" if self.last_four else f"{name} {self.ref}"

    def is_expired(self, on: date) -> bool:
        """Return whether the card's last month is over. ``expires`` is year and month."""
        return self.expires is not None and (on.year, on.month) > self.expires


@dataclass(frozen=True)
class Customer:
    """Somebody who is billed. ``tax_bp`` are basis points, 0 for whoever is exempt."""

    ref: str
    name: str
    email: str
    currency: str
    country: str
    tax_bp: int
    tax_exempt: bool
    methods: tuple[Method, ...]
    created_at: datetime
    deleted_at: datetime | None
    version: int

    @property
    def rate_bp(self) -> int:
        """The basis points of tax that are added to what is billed."""
        return 0 if self.tax_exempt else self.tax_bp

    def method(self, ref: str) -> Method | None:
        """Return the customer's own method of that id, or None."""
        return next((method for method in self.methods if method.ref == ref), None)

    @property
    def default_method(self) -> Method | None:
        """The method that is charged when none is named."""
        return next((method for method in self.methods if method.is_default), None)


@dataclass(frozen=True)
class Plan:
    """A price for a period of a calendar month or year."""

    ref: str
    name: str
    interval: str
    price: Money
    active: bool
    version: int


@dataclass(frozen=True)
class Subscription:
    """A customer's plan, paid in advance for one period at a time."""

    ref: str
    customer_ref: str
    plan: Plan
    next_plan: Plan | None
    quantity: int
    status: SubscriptionStatus
    anchor_day: int
    period_start: datetime
    period_end: datetime
    cancel_at: datetime | None
    paused_at: datetime | None
    resumes_at: datetime | None
    version: int

    @property
    def words(self) -> str:
        """What was sold, for example ``3 × Team monthly``."""
        return f"{self.quantity} × {self.plan.name}" if self.quantity > 1 else self.plan.name


@dataclass(frozen=True)
class Line:
    """One line of an invoice; ``period`` is the time that it pays for."""

    description: str
    quantity: int
    unit_minor: int
    amount_minor: int
    tax_minor: int
    proration: bool = False
    period: tuple[datetime, datetime] | None = None


@dataclass(frozen=True)
class Invoice:
    """One bill. ``left`` is what is still owed; what was written off is owed no more."""

    ref: str
    number: str
    customer_ref: str
    subscription_ref: str
    status: InvoiceStatus
    currency: str
    memo: str
    lines: tuple[Line, ...]
    subtotal_minor: int
    tax_minor: int
    total_minor: int
    paid_minor: int
    credited_minor: int
    created_at: datetime
    issued_at: datetime | None
    due_at: datetime | None
    closed_at: datetime | None
    attempts: int
    next_attempt_at: datetime | None
    version: int

    @property
    def words(self) -> str:
        """What people call it: its number, or its id while it has none."""
        return self.number or self.ref

    @property
    def left(self) -> Money:
        """What is still owed: nothing, unless it is open."""
        owed = self.status is InvoiceStatus.OPEN
        return Money(self.total_minor - self.paid_minor - self.credited_minor if owed else 0, self.currency)


@dataclass(frozen=True)
class Refund:
    """Money that went back for a charge."""

    ref: str
    amount: Money
    reason: str
    at: datetime


@dataclass(frozen=True)
class Dispute:
    """A charge that the customer's bank took back. ``told_at`` is when it stood as it is, None when nobody says."""

    ref: str
    charge_ref: str
    amount: Money
    reason: str
    status: DisputeStatus
    opened_at: datetime
    respond_by: datetime | None
    told_at: datetime | None = None


@dataclass(frozen=True)
class Charge:
    """One attempt to take money, with what became of it."""

    ref: str
    invoice_ref: str
    method_ref: str
    amount: Money
    status: ChargeStatus
    decline_code: str
    refunded_minor: int
    at: datetime
    refunds: tuple[Refund, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    version: int = 1

    @property
    def refundable(self) -> Money:
        """What can still go back: nothing while a dispute is open, or of what a lost dispute took."""
        if any(each.status in OPEN_DISPUTES for each in self.disputes):
            return Money(0, self.amount.currency)
        return self.kept

    @property
    def kept(self) -> Money:
        """What it took and neither a refund nor a dispute that is open or lost has taken back."""
        took = self.amount.minor if self.status is ChargeStatus.SUCCEEDED else 0
        held = sum(each.amount.minor for each in self.disputes if each.status is not DisputeStatus.WON)
        return Money(max(took - self.refunded_minor - held, 0), self.amount.currency)


@dataclass(frozen=True)
class Credit:
    """Money that a customer has with us. ``left_minor`` is what is not used yet."""

    ref: str
    amount: Money
    left_minor: int
    reason: str
    at: datetime
    reversed_at: datetime | None
    version: int


@dataclass(frozen=True)
class Template:
    """A mail with gaps, written ``{name}``. One that nobody has reviewed is not sent."""

    ref: str
    name: str
    subject: str
    body: str
    reviewed_by: str
    version: int


@dataclass(frozen=True)
class Mail:
    """A mail to the customer."""

    ref: str
    kind: str
    subject: str
    body: str
    template_ref: str
    at: datetime
    release_at: datetime | None
    recalled_at: datetime | None
    version: int


@dataclass(frozen=True)
class Case:
    """The piece of work that a session is about."""

    ref: str
    sender: str
    subject: str
    status: str
    note: str
    version: int


@dataclass(frozen=True)
class Account360:
    """A customer with all that a billing desk asks first. ``owed_minor`` and ``credit_minor`` are in their currency."""

    customer: Customer
    subscriptions: tuple[Subscription, ...]
    open_invoices: tuple[Invoice, ...]
    disputes: tuple[Dispute, ...]
    credits: tuple[Credit, ...]
    owed_minor: int
    credit_minor: int
    paid_minor: int
