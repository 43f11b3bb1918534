"""The port between the role's tools and the system of record: what can be read, and what can be asked for.

A write is a value. ``preview`` and ``write`` take the same value, so what a person approved is what is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from agentops.kernel.money import Money
from agentops.registry.tool import CallContext, Preview, Result
from billing_agent.connectors.records import Account360, Charge, Invoice, Plan, Template


@dataclass(frozen=True)
class ApplyCredit:
    """Give the customer credit, which settles the open invoice that is named and then whatever is billed next."""

    amount: Money
    reason: str
    invoice_ref: str = ""


@dataclass(frozen=True)
class ReverseCredit:
    """Take back what is left of a credit."""

    credit_ref: str
    reason: str


@dataclass(frozen=True)
class RetryCharge:
    """Try to take what is left of an open invoice. ``amount`` is what it says; another amount is a conflict."""

    invoice_ref: str
    method_ref: str
    amount: Money


@dataclass(frozen=True)
class RefundCharge:
    """Give back part or all of a charge, to the method that paid it."""

    charge_ref: str
    amount: Money
    reason: str


@dataclass(frozen=True)
class ChangePlan:
    """Sell another plan instead: ``now``, with the difference billed or credited, or when the period ends."""

    subscription_ref: str
    plan_ref: str
    quantity: int
    now: bool


@dataclass(frozen=True)
class DropPlanChange:
    """Keep the plan: take back a change that was to come with the next period."""

    subscription_ref: str


@dataclass(frozen=True)
class Item:
    """One line of an invoice that is to be made."""

    description: str
    quantity: int
    unit_minor: int


@dataclass(frozen=True)
class GenerateInvoice:
    """Bill the customer for something beside subscriptions, due after ``due_days``."""

    items: tuple[Item, ...]
    currency: str
    memo: str
    due_days: int


@dataclass(frozen=True)
class VoidInvoice:
    """Take an open invoice back on which nothing was paid."""

    invoice_ref: str
    reason: str


@dataclass(frozen=True)
class WriteOffInvoice:
    """Give up what is left of an open invoice that nobody will pay."""

    invoice_ref: str
    reason: str


@dataclass(frozen=True)
class PauseSubscription:
    """Bill nothing until a day, or until somebody resumes it."""

    subscription_ref: str
    until: date | None


@dataclass(frozen=True)
class ResumeSubscription:
    """Go on billing."""

    subscription_ref: str


@dataclass(frozen=True)
class CancelSubscription:
    """End it: ``now``, for good, or with the period that is paid."""

    subscription_ref: str
    now: bool
    reason: str


@dataclass(frozen=True)
class KeepSubscription:
    """Take back that it ends with its period."""

    subscription_ref: str


@dataclass(frozen=True)
class WriteMail:
    """Fill a reviewed template: keep it as a draft, or send it to the customer's own address."""

    template_ref: str
    fields: tuple[tuple[str, str], ...]
    send: bool


@dataclass(frozen=True)
class RecallMail:
    """Take a mail back that has not left yet."""

    mail_ref: str


@dataclass(frozen=True)
class DiscardMail:
    """Throw a draft away."""

    mail_ref: str


@dataclass(frozen=True)
class CloseCase:
    """Say that the case is done, with a note for colleagues."""

    note: str


@dataclass(frozen=True)
class ReopenCase:
    """Take back that the case is done."""


@dataclass(frozen=True)
class EscalateCase:
    """Hand the case to a person."""

    reason: str
    summary: str


MoneyWrite = ApplyCredit | ReverseCredit | RetryCharge | RefundCharge | GenerateInvoice | VoidInvoice | WriteOffInvoice
SubscriptionWrite = (
    ChangePlan | DropPlanChange | PauseSubscription | ResumeSubscription | CancelSubscription | KeepSubscription
)
MailWrite = WriteMail | RecallMail | DiscardMail
CaseWrite = CloseCase | ReopenCase | EscalateCase
Write = MoneyWrite | SubscriptionWrite | MailWrite | CaseWrite


class Billing(Protocol):
    """A system of record for billing.

    Everything is seen through the call's context: records of another tenant or customer do not exist, and asking for
    them raises the same NOT_FOUND as asking for what never was.
    """

    def account(self, context: CallContext) -> Account360:
        """Return the session's customer with all that is open. Raises ToolFailure NOT_FOUND when nobody is known."""

    def invoices(self, context: CallContext, *, limit: int) -> Sequence[Invoice]:
        """Return the customer's latest invoices, the newest first. Raises ToolFailure NOT_FOUND."""

    def invoice(self, context: CallContext, ref: str) -> tuple[Invoice, Sequence[Charge]]:
        """Return one invoice, by id or number, and the attempts to charge it. Raises ToolFailure NOT_FOUND."""

    def plans(self, context: CallContext) -> Sequence[Plan]:
        """Return the plans that are sold in the customer's currency, the cheapest first."""

    def templates(self, context: CallContext) -> Sequence[Template]:
        """Return the reviewed templates, by name."""

    def preview(self, context: CallContext, write: Write) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""

    def write(self, context: CallContext, write: Write) -> Result:
        """Do it, once for each idempotency key. Raises ToolFailure (no effect) or OutcomeUnknown."""

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the context's idempotency key, None when it took no effect."""
