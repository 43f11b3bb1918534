"""Credit settles the open invoice that is named, is kept otherwise, and only what is left of it is taken back."""

from dataclasses import replace
from typing import Any

import pytest

from agentops.kernel.canonical import MAX_INTEGER
from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount
from agentops.registry.tool import Change
from billing_agent.connectors.credit_rules import plan_credit, plan_reversal
from billing_agent.connectors.effect import NewCredit, Posted, Snapshot
from billing_agent.connectors.port import ApplyCredit, ReverseCredit
from billing_agent.connectors.records import InvoiceStatus
from tests.billing_agent.examples import ADA, GONE, IN_JAPAN, NOW, PAID, make_credit, make_invoice, refused, usd

NAMED = ApplyCredit(usd(2_000), "An outage", "in_1")
UNNAMED = ApplyCredit(usd(2_000), "An outage")


def snapshot(**fields: Any) -> Snapshot:
    return Snapshot(**({"now": NOW, "key": "k", "customer": ADA} | fields))


REF = snapshot().new_ref("cr")
GIVEN = Posted("credit", "USD", REF, {"goodwill": 2_000, "customer_credit": -2_000}, "An outage")


def test_credit_without_an_invoice_is_kept() -> None:
    effect = plan_credit(snapshot(), UNNAMED)
    assert effect.preview.effect == "Give Ada Moreau $20.00 of credit for what is billed next"
    assert effect.preview.target == "customer:cus_ada"
    assert effect.preview.money == usd(2_000)
    assert effect.preview.versions == {"customer:cus_ada": 1}
    assert effect.preview.changes == (Change("Credit that is kept", "", "$20.00"), Change("Reason", "", "An outage"))
    assert effect.preview.parts == (Amount("Credit", 2_000, "USD", (("Credit that is kept", 0, 2_000),)),)
    assert effect.new_credit == NewCredit(REF, 2_000, 2_000, "USD", "An outage")
    assert (effect.entries, effect.invoice) == ((GIVEN,), {})
    assert effect.result == {
        "credit_id": REF,
        "amount_minor": 2_000,
        "used_minor": 0,
        "left_minor": 2_000,
        "currency": "USD",
    }


def test_credit_settles_a_part_of_the_named_invoice() -> None:
    effect = plan_credit(snapshot(invoice=make_invoice(credited_minor=500)), NAMED)
    assert effect.preview.effect == "Give Ada Moreau $20.00 of credit and use $20.00 of it on invoice INV-000001"
    assert effect.preview.changes == (
        Change("Left to pay on invoice INV-000001", "$114.00", "$94.00"),
        Change("Credit that is kept", "", "$0.00"),
        Change("Reason", "", "An outage"),
    )
    assert effect.invoice == {"credited_minor": 2_500}
    assert effect.new_credit == NewCredit(REF, 2_000, 0, "USD", "An outage")
    used = Posted("credit_used", "USD", REF, {"customer_credit": 2_000, "receivable": -2_000}, "On invoice in_1")
    assert effect.entries == (GIVEN, used)
    assert (effect.result["invoice_id"], effect.result["invoice_status"]) == ("in_1", "open")


def test_credit_that_settles_all_pays_the_invoice_and_the_rest_is_kept() -> None:
    invoice = make_invoice(paid_minor=10_000, next_attempt_at=NOW)
    effect = plan_credit(snapshot(invoice=invoice), NAMED)
    assert effect.preview.effect == (
        "Give Ada Moreau $20.00 of credit and use $19.00 of it on invoice INV-000001, which is then paid"
    )
    assert effect.preview.changes == (
        Change("Left to pay on invoice INV-000001", "$19.00", "$0.00"),
        Change("Invoice INV-000001", "open", "paid"),
        Change("Credit that is kept", "", "$1.00"),
        Change("Reason", "", "An outage"),
    )
    assert effect.invoice == {"credited_minor": 1_900, "status": "paid", "closed_at": NOW, "next_attempt_at": None}
    assert effect.new_credit == NewCredit(REF, 2_000, 100, "USD", "An outage")
    assert effect.result["invoice_status"] == "paid"


@pytest.mark.parametrize(
    "invoice",
    [
        PAID,
        make_invoice(status=InvoiceStatus.VOID, closed_at=NOW),
        make_invoice(status=InvoiceStatus.UNCOLLECTIBLE),
        make_invoice(status=InvoiceStatus.DRAFT, number="", issued_at=None),
    ],
    ids=lambda invoice: invoice.status.value,
)
def test_an_invoice_that_is_not_open_takes_no_credit(invoice: Any) -> None:
    effect = plan_credit(snapshot(invoice=invoice), NAMED)
    assert effect.preview.effect == (
        f"Give Ada Moreau $20.00 of credit for what is billed next, because invoice {invoice.words} is {invoice.status}"
    )
    assert (effect.invoice, effect.entries) == ({}, (GIVEN,))
    assert effect.new_credit == NewCredit(REF, 2_000, 2_000, "USD", "An outage")
    assert effect.result["invoice_status"] == invoice.status.value


def test_yen_have_no_smaller_unit() -> None:
    write = ApplyCredit(Money(2_000, "JPY"), "An outage")
    assert plan_credit(snapshot(customer=IN_JAPAN), write).preview.effect == (
        "Give Ada Moreau ¥2,000 of credit for what is billed next"
    )


@pytest.mark.parametrize(
    ("fields", "write", "kind", "words", "field"),
    [
        ({"customer": None}, UNNAMED, "NOT_FOUND", "Nobody with this address is a customer.", "customer_id"),
        ({}, NAMED, "NOT_FOUND", "There is no such invoice of this customer.", "invoice_id"),
        (
            {"customer": GONE},
            UNNAMED,
            "CONFLICT",
            "Ada Moreau is deleted; nothing new is begun for them.",
            "customer_id",
        ),
        ({}, ApplyCredit(usd(0), "x"), "VALIDATION", "The amount must be more than nothing.", "amount_minor"),
        ({}, ApplyCredit(usd(-1), "x"), "VALIDATION", "The amount must be more than nothing.", "amount_minor"),
        (
            {},
            ApplyCredit(usd(MAX_INTEGER + 1), "x"),
            "VALIDATION",
            "The amount is larger than any that is booked here.",
            "amount_minor",
        ),
        ({}, ApplyCredit(Money(5, "EUR"), "x"), "VALIDATION", "Ada Moreau is in USD, not EUR.", "currency"),
        (
            {"invoice": make_invoice(currency="EUR")},
            NAMED,
            "VALIDATION",
            "Invoice INV-000001 is in EUR, not USD.",
            "currency",
        ),
    ],
)
def test_credit_is_refused(fields: dict[str, Any], write: ApplyCredit, kind: str, words: str, field: str) -> None:
    assert refused(plan_credit, snapshot(**fields), write) == (FailureKind(kind), words, field)


def test_what_is_left_of_a_credit_is_taken_back() -> None:
    effect = plan_reversal(snapshot(credit=make_credit("cr_1", 700, 1_000)), ReverseCredit("cr_1", "A mistake"))
    assert effect.preview.effect == "Take back $7.00, which is left of credit cr_1 over $10.00, from Ada Moreau"
    assert effect.preview.changes == (
        Change("Left of credit cr_1", "$7.00", "$0.00"),
        Change("Reason", "", "A mistake"),
    )
    assert effect.preview.money is None
    assert effect.preview.versions == {"customer:cus_ada": 1, "credit:cr_1": 1}
    assert effect.reverses_credit
    assert effect.entries == (
        Posted("credit_reversed", "USD", "cr_1", {"customer_credit": 700, "goodwill": -700}, "A mistake"),
    )
    assert effect.result == {
        "credit_id": "cr_1",
        "amount_minor": 700,
        "used_minor": 300,
        "currency": "USD",
        "status": "reversed",
    }


def test_the_credit_of_a_deleted_customer_can_be_taken_back() -> None:
    found = snapshot(customer=GONE, credit=make_credit("cr_1", 700))
    assert plan_reversal(found, ReverseCredit("cr_1", "Account closed")).reverses_credit


@pytest.mark.parametrize(
    ("credit", "kind", "words"),
    [
        (None, "NOT_FOUND", "There is no such credit of this customer."),
        (make_credit("cr_1", 0, 500), "CONFLICT", "Credit cr_1 is used up; there is nothing left to take back."),
        (
            replace(make_credit("cr_1", 0, 500), reversed_at=NOW),
            "CONFLICT",
            "Credit cr_1 was taken back before.",
        ),
    ],
)
def test_a_reversal_is_refused(credit: Any, kind: str, words: str) -> None:
    found = refused(plan_reversal, snapshot(credit=credit), ReverseCredit("cr_1", "x"))
    assert found == (FailureKind(kind), words, "credit_id")
