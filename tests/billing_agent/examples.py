"""Records of a billing system to begin with: Ada, who pays 19 % tax with a Visa, and what she was billed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.tool import ToolFailure
from billing_agent.connectors.issuing import taxed_line
from billing_agent.connectors.records import (
    Charge,
    ChargeStatus,
    Credit,
    Customer,
    Dispute,
    DisputeStatus,
    Invoice,
    InvoiceStatus,
    Line,
    Method,
)

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
VISA = Method("pm_visa", "card", "Visa", "4242", (2028, 4), "", is_default=True, version=1)
BANK = Method("pm_bank", "bank", "", "6789", None, "", is_default=False, version=1)
ADA = Customer(
    ref="cus_ada",
    name="Ada Moreau",
    email="ada@example.com",
    currency="USD",
    country="FR",
    tax_bp=1900,
    tax_exempt=False,
    methods=(VISA, BANK),
    created_at=datetime(2025, 1, 1, tzinfo=UTC),
    deleted_at=None,
    version=1,
)
GONE = replace(ADA, deleted_at=NOW)
EXEMPT = replace(ADA, tax_exempt=True)
IN_JAPAN = replace(ADA, currency="JPY", tax_bp=1000)


def usd(minor: int) -> Money:
    """Return that many cents."""
    return Money(minor, "USD")


def make_invoice(*lines: Line, **fields: Any) -> Invoice:
    """Return an open invoice over $119.00, of which $19.00 are tax, or over ``lines``."""
    lines = lines or (taxed_line("Seats", 10, 1_000, 1900),)
    subtotal, tax = sum(line.amount_minor for line in lines), sum(line.tax_minor for line in lines)
    values: dict[str, Any] = {
        "ref": "in_1",
        "number": "INV-000001",
        "customer_ref": ADA.ref,
        "subscription_ref": "",
        "status": InvoiceStatus.OPEN,
        "currency": "USD",
        "memo": "",
        "lines": lines,
        "subtotal_minor": subtotal,
        "tax_minor": tax,
        "total_minor": subtotal + tax,
        "paid_minor": 0,
        "credited_minor": 0,
        "created_at": datetime(2026, 11, 1, tzinfo=UTC),
        "issued_at": datetime(2026, 11, 1, tzinfo=UTC),
        "due_at": datetime(2026, 11, 15, tzinfo=UTC),
        "closed_at": None,
        "attempts": 0,
        "next_attempt_at": None,
        "version": 1,
    }
    return Invoice(**(values | fields))


PAID = make_invoice(status=InvoiceStatus.PAID, paid_minor=11_900, closed_at=NOW)


def make_charge(minor: int = 11_900, **fields: Any) -> Charge:
    """Return a charge of the Visa that paid the invoice."""
    values: dict[str, Any] = {
        "ref": "ch_1",
        "invoice_ref": "in_1",
        "method_ref": VISA.ref,
        "amount": usd(minor),
        "status": ChargeStatus.SUCCEEDED,
        "decline_code": "",
        "refunded_minor": 0,
        "at": NOW,
    }
    return Charge(**(values | fields))


def declined(code: str, method: Method = VISA) -> Charge:
    """Return an attempt that the issuer of ``method`` declined."""
    return make_charge(ref="ch_0", method_ref=method.ref, status=ChargeStatus.FAILED, decline_code=code)


def make_credit(ref: str, left_minor: int, amount_minor: int = 0, **fields: Any) -> Credit:
    """Return a credit of which ``left_minor`` are left."""
    amount = Money(amount_minor or left_minor, fields.pop("currency", "USD"))
    values: dict[str, Any] = {"reason": "An outage", "at": NOW, "reversed_at": None, "version": 1}
    return Credit(ref, amount, left_minor, **(values | fields))


def make_dispute(status: DisputeStatus, minor: int = 11_900) -> Dispute:
    """Return a dispute of the charge."""
    return Dispute("dp_1", "ch_1", usd(minor), "fraudulent", status, NOW, None)


def refused(plan: Callable[..., object], *arguments: object) -> tuple[FailureKind, str, str | None]:
    """Return kind, words and field of the refusal. Fails when nothing is refused."""
    with pytest.raises(ToolFailure) as caught:
        plan(*arguments)
    return caught.value.kind, caught.value.message, caught.value.field
