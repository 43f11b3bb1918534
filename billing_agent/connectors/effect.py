"""What a write comes to: computed once from a snapshot, shown as a preview or carried out. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import Preview, Result, ToolFailure
from billing_agent.connectors.records import (
    Case,
    Charge,
    Credit,
    Customer,
    Invoice,
    InvoiceStatus,
    Line,
    Mail,
    Plan,
    Subscription,
    Template,
)


@dataclass(frozen=True)
class Snapshot:
    """The records that a write is about, as far as they exist and belong to the session's customer.

    ``key`` is the operation's own, empty for a preview: what the write makes is known by it later. ``credits`` are
    those that are left, the oldest first. ``closed_through`` is the last day of the closed books. ``invoice`` is also
    that of ``charge``, and ``attempts`` are the earlier ones to charge it.
    """

    now: datetime
    key: str = ""
    customer: Customer | None = None
    invoice: Invoice | None = None
    charge: Charge | None = None
    attempts: Sequence[Charge] = ()
    subscription: Subscription | None = None
    plan: Plan | None = None
    credit: Credit | None = None
    credits: Sequence[Credit] = ()
    template: Template | None = None
    mail: Mail | None = None
    case: Case | None = None
    closed_through: date | None = None

    def versions(self) -> dict[str, int]:
        """Return the versions of all records that the write is about, by kind and id."""
        records = {
            "customer": self.customer,
            "invoice": self.invoice,
            "charge": self.charge,
            "subscription": self.subscription,
            "plan": self.plan,
            "credit": self.credit,
            "template": self.template,
            "mail": self.mail,
            "case": self.case,
        }
        found = {f"{kind}:{each.ref}": each.version for kind, each in records.items() if each is not None}
        return found | {f"credit:{each.ref}": each.version for each in self.credits}

    def new_ref(self, prefix: str, part: str = "") -> str:
        """Return the id of what the write makes: the same for the same key, and unknown to a preview."""
        digest = hashlib.sha256(f"{self.key}/{part}".encode()).hexdigest()
        return f"{prefix}_{digest[:20]}" if self.key else ""


@dataclass(frozen=True)
class NewInvoice:
    """An invoice that is issued with its number when it is written; credit settles ``credited_minor`` of it at once."""

    ref: str
    subscription_ref: str
    currency: str
    memo: str
    lines: tuple[Line, ...]
    due_at: datetime
    credited_minor: int = 0
    next_attempt_at: datetime | None = None

    @property
    def subtotal_minor(self) -> int:
        """What is billed, before tax."""
        return sum(line.amount_minor for line in self.lines)

    @property
    def tax_minor(self) -> int:
        """The tax that is added."""
        return sum(line.tax_minor for line in self.lines)

    @property
    def total_minor(self) -> int:
        """What is billed, with tax."""
        return self.subtotal_minor + self.tax_minor

    @property
    def status(self) -> InvoiceStatus:
        """Paid, and so closed at once, when credit settles all of it."""
        return InvoiceStatus.PAID if self.credited_minor == self.total_minor else InvoiceStatus.OPEN


@dataclass(frozen=True)
class NewCharge:
    """An attempt to take money, with the issuer's answer; ``decline_code`` is empty when it paid."""

    ref: str
    invoice_ref: str
    method_ref: str
    amount_minor: int
    currency: str
    decline_code: str


@dataclass(frozen=True)
class NewRefund:
    """Money that goes back for a charge."""

    ref: str
    charge_ref: str
    amount_minor: int
    currency: str
    reason: str


@dataclass(frozen=True)
class NewCredit:
    """Credit for the customer, of which ``left_minor`` is not used at once."""

    ref: str
    amount_minor: int
    left_minor: int
    currency: str
    reason: str


@dataclass(frozen=True)
class NewMail:
    """A draft, or a mail that leaves at ``release_at``."""

    ref: str
    template_ref: str
    template_version: int
    subject: str
    body: str
    release_at: datetime | None


@dataclass(frozen=True)
class Posted:
    """One entry of the books. ``postings`` map accounts (``models.Account``) to minor units and sum to zero."""

    kind: str
    currency: str
    record_ref: str
    postings: Mapping[str, int]
    memo: str = ""


@dataclass(frozen=True)
class Effect:
    """What a write shows, returns and changes.

    ``invoice``, ``subscription`` and ``case`` are fields to set on the snapshot's record; ``refunded_minor`` what the
    charge has given back afterwards; ``credits`` what is left of which credit.
    """

    preview: Preview
    result: Result
    invoice: Mapping[str, Any] = field(default_factory=dict)
    subscription: Mapping[str, Any] = field(default_factory=dict)
    case: Mapping[str, Any] = field(default_factory=dict)
    refunded_minor: int | None = None
    credits: Mapping[str, int] = field(default_factory=dict)
    reverses_credit: bool = False
    recalls_mail: bool = False
    discards_mail: bool = False
    new_invoice: NewInvoice | None = None
    new_charge: NewCharge | None = None
    new_refund: NewRefund | None = None
    new_credit: NewCredit | None = None
    new_mail: NewMail | None = None
    entries: tuple[Posted, ...] = ()


def missing(what: str, field_name: str | None = None) -> ToolFailure:
    """Return the refusal for a record that does not exist, or not for this customer."""
    return ToolFailure(FailureKind.NOT_FOUND, f"There is no such {what} of this customer.", field=field_name)


def nobody() -> ToolFailure:
    """Return the refusal for a call without a known customer."""
    return ToolFailure(FailureKind.NOT_FOUND, "Nobody with this address is a customer.", field="customer_id")


def invalid(message: str, field_name: str | None = None) -> ToolFailure:
    """Return the refusal for a value that can never be right."""
    return ToolFailure(FailureKind.VALIDATION, message, field=field_name)


def conflict(message: str, field_name: str | None = None) -> ToolFailure:
    """Return the refusal for what the records do not allow now."""
    return ToolFailure(FailureKind.CONFLICT, message, field=field_name)
