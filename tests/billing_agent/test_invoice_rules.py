"""An invoice is made with its tax, settled with the credit that is left, and taken back while nothing was paid."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from agentops.kernel.canonical import MAX_INTEGER
from agentops.kernel.errors import FailureKind
from agentops.registry.preview_parts import Amount
from agentops.registry.tool import Change
from billing_agent.connectors.effect import NewCredit, NewInvoice, Posted, Snapshot
from billing_agent.connectors.invoice_rules import plan_invoice, plan_void, plan_write_off
from billing_agent.connectors.issuing import issued, taxed_line
from billing_agent.connectors.port import GenerateInvoice, Item, VoidInvoice, WriteOffInvoice
from billing_agent.connectors.records import InvoiceStatus, Line
from tests.billing_agent.examples import ADA, EXEMPT, GONE, IN_JAPAN, NOW, PAID, make_credit, make_invoice, refused, usd

SETUP = GenerateInvoice((Item("Setup", 1, 10_000), Item("Training hours", 3, 999)), "USD", "As agreed", 14)
VOID = VoidInvoice("in_1", "Billed to the wrong account")


def snapshot(**fields: Any) -> Snapshot:
    return Snapshot(**({"now": NOW, "key": "k", "customer": ADA} | fields))


REF, CREDIT_REF = snapshot().new_ref("in"), snapshot().new_ref("cr")
LINES = (Line("Setup", 1, 10_000, 10_000, 1_900), Line("Training hours", 3, 999, 2_997, 569))

# Invoices that are made


def test_an_invoice_has_lines_with_tax_and_is_due_later() -> None:
    effect = plan_invoice(snapshot(), SETUP)
    assert effect.preview.effect == "Bill Ada Moreau $154.66, due on 14 December 2026"
    assert effect.preview.target == "customer:cus_ada"
    assert effect.preview.money == usd(15_466)
    assert effect.preview.versions == {"customer:cus_ada": 1}
    assert effect.preview.changes == (
        Change("Setup", "", "1 × $100.00 = $100.00"),
        Change("Training hours", "", "3 × $9.99 = $29.97"),
        Change("Subtotal", "", "$129.97"),
        Change("Tax", "", "$24.69"),
        Change("Total", "", "$154.66"),
        Change("Left to pay", "", "$154.66"),
        Change("Memo", "", "As agreed"),
    )
    assert effect.preview.parts == (Amount("Invoice", 15_466, "USD", (("Left to pay on this invoice", 0, 15_466),)),)
    due_at = datetime(2026, 12, 14, 10, tzinfo=UTC)
    assert effect.new_invoice == NewInvoice(REF, "", "USD", "As agreed", LINES, due_at, 0)
    assert effect.new_invoice.status is InvoiceStatus.OPEN
    postings = {"receivable": 15_466, "revenue": -12_997, "tax": -2_469}
    assert effect.entries == (Posted("invoice", "USD", REF, postings, "As agreed"),)
    assert effect.credits == {}
    assert effect.result == {
        "invoice_id": REF,
        "status": "open",
        "subtotal_minor": 12_997,
        "tax_minor": 2_469,
        "total_minor": 15_466,
        "credited_minor": 0,
        "left_minor": 15_466,
        "currency": "USD",
        "due_at": "2026-12-14T10:00:00+00:00",
    }


def test_the_oldest_credit_is_used_first_and_no_more_than_is_needed() -> None:
    left = (make_credit("cr_1", 10_000), make_credit("cr_2", 10_000, 12_000), make_credit("cr_3", 50))
    effect = plan_invoice(snapshot(credits=left), SETUP)
    assert effect.preview.effect == ("Bill Ada Moreau $154.66, due on 14 December 2026; credit settles $154.66 of it")
    assert effect.preview.changes[5:8] == (
        Change("Left of credit cr_1", "$100.00", "$0.00"),
        Change("Left of credit cr_2", "$100.00", "$45.34"),
        Change("Left to pay", "", "$0.00"),
    )
    assert effect.credits == {"cr_1": 0, "cr_2": 4_534}
    assert effect.new_invoice is not None
    assert (effect.new_invoice.credited_minor, effect.new_invoice.status) == (15_466, InvoiceStatus.PAID)
    assert effect.entries[1:] == (
        Posted("credit_used", "USD", "cr_1", {"customer_credit": 10_000, "receivable": -10_000}, f"On invoice {REF}"),
        Posted("credit_used", "USD", "cr_2", {"customer_credit": 5_466, "receivable": -5_466}, f"On invoice {REF}"),
    )
    assert (effect.result["status"], effect.result["left_minor"]) == ("paid", 0)


def test_credit_in_another_currency_and_credit_that_is_used_up_stay() -> None:
    effect = plan_invoice(
        snapshot(credits=(make_credit("cr_1", 500, currency="EUR"), make_credit("cr_2", 0, 5))), SETUP
    )
    assert (effect.credits, effect.result["left_minor"]) == ({}, 15_466)


def test_whoever_is_exempt_is_billed_without_tax() -> None:
    effect = plan_invoice(snapshot(customer=EXEMPT), SETUP)
    assert effect.entries[0].postings == {"receivable": 12_997, "revenue": -12_997}
    assert (effect.result["tax_minor"], effect.result["total_minor"]) == (0, 12_997)


def test_yen_have_no_smaller_unit() -> None:
    write = GenerateInvoice((Item("Setup", 1, 1_005),), "JPY", "", 0)
    effect = plan_invoice(snapshot(customer=IN_JAPAN), write)
    assert effect.preview.effect == "Bill Ada Moreau ¥1,105, due on 30 November 2026"
    # 10 % of 1,005 is 100.5, and 100 is even.
    assert effect.entries[0].postings == {"receivable": 1_105, "revenue": -1_005, "tax": -100}
    assert [change.label for change in effect.preview.changes] == ["Setup", "Subtotal", "Tax", "Total", "Left to pay"]


@pytest.mark.parametrize(
    ("fields", "changed", "kind", "words", "field"),
    [
        ({"customer": None}, {}, "NOT_FOUND", "Nobody with this address is a customer.", "customer_id"),
        (
            {"customer": GONE},
            {},
            "CONFLICT",
            "Ada Moreau is deleted; nothing new is begun for them.",
            "customer_id",
        ),
        ({}, {"currency": "EUR"}, "VALIDATION", "Ada Moreau is billed in USD, not EUR.", "currency"),
        ({}, {"items": ()}, "VALIDATION", "An invoice has at least one item.", "items"),
        *(
            ({}, {"items": (item,)}, "VALIDATION", "Each item is at least one, and costs more than nothing.", "items")
            for item in (Item("x", 0, 5), Item("x", -1, 5), Item("x", 1, 0), Item("x", 1, -5), Item("x", -1, -5))
        ),
        *(
            ({}, {"due_days": days}, "VALIDATION", "An invoice is due after 0 to 365 days.", "due_days")
            for days in (-1, 366)
        ),
        (
            {},
            {"items": (Item("x", 1, MAX_INTEGER),)},
            "VALIDATION",
            "The items come to more than any invoice here.",
            "items",
        ),
    ],
)
def test_an_invoice_is_refused(
    fields: dict[str, Any], changed: dict[str, Any], kind: str, words: str, field: str
) -> None:
    found = refused(plan_invoice, snapshot(**fields), replace(SETUP, **changed))
    assert found == (FailureKind(kind), words, field)


# Issuing, for all that bill


def test_unused_time_lowers_an_invoice_and_its_tax() -> None:
    lines = [taxed_line("Team", 1, 5_000, 1900), taxed_line("Unused time", 1, -2_000, 1900, proration=True)]
    made = issued(snapshot(), "in_2", lines, subscription_ref="sub_1", memo="", due_at=NOW)
    assert made.entries[0].postings == {"receivable": 3_570, "revenue": -3_000, "tax": -570}
    assert (made.subtotal, made.tax, made.total, made.left) == (usd(3_000), usd(570), usd(3_570), usd(3_570))
    assert made.new_invoice.subscription_ref == "sub_1"
    assert made.new_invoice.lines[1].proration


def test_an_invoice_over_nothing_is_paid_and_books_nothing() -> None:
    made = issued(
        snapshot(credits=(make_credit("cr_1", 500),)),
        "in_2",
        [taxed_line("Free plan", 1, 0, 1900)],
        subscription_ref="",
        memo="",
        due_at=NOW,
    )
    assert (made.entries, made.credits, made.new_invoice.status) == ((), {}, InvoiceStatus.PAID)


def test_an_invoice_over_less_than_nothing_is_refused() -> None:
    def bill() -> object:
        lines = [taxed_line("Unused time", 1, -1, 0)]
        return issued(snapshot(), "in_2", lines, subscription_ref="", memo="", due_at=NOW)

    assert refused(bill) == (FailureKind.VALIDATION, "An invoice never comes to less than nothing.", "items")


# Invoices that are taken back


def test_an_open_invoice_is_voided() -> None:
    effect = plan_void(snapshot(invoice=make_invoice(attempts=2, next_attempt_at=NOW)), VOID)
    assert effect.preview.effect == "Void invoice INV-000001 of Ada Moreau over $119.00"
    assert effect.preview.money == usd(11_900)
    assert effect.preview.versions == {"customer:cus_ada": 1, "invoice:in_1": 1}
    assert effect.preview.changes == (
        Change("Invoice INV-000001", "open", "void"),
        Change("Left to pay on invoice INV-000001", "$119.00", "$0.00"),
        Change("Reason", "", "Billed to the wrong account"),
    )
    assert effect.invoice == {"status": "void", "credited_minor": 0, "closed_at": NOW, "next_attempt_at": None}
    assert effect.new_credit is None
    postings = {"receivable": -11_900, "revenue": 10_000, "tax": 1_900}
    assert effect.entries == (Posted("void", "USD", "in_1", postings, "Billed to the wrong account"),)
    assert effect.result == {
        "invoice_id": "in_1",
        "status": "void",
        "total_minor": 11_900,
        "credit_id": "",
        "credited_minor": 0,
        "currency": "USD",
    }


def test_credit_that_was_used_on_it_is_given_back_as_a_new_one() -> None:
    effect = plan_void(snapshot(invoice=make_invoice(credited_minor=2_000)), VOID)
    assert effect.preview.effect == (
        "Void invoice INV-000001 of Ada Moreau over $119.00 and give $20.00 of credit back"
    )
    assert effect.preview.changes[1:3] == (
        Change("Left to pay on invoice INV-000001", "$99.00", "$0.00"),
        Change("Credit given back", "", "$20.00"),
    )
    reason = "Used on invoice INV-000001, which was voided"
    assert effect.new_credit == NewCredit(CREDIT_REF, 2_000, 2_000, "USD", reason)
    assert effect.entries[0].postings == {
        "receivable": -9_900,
        "revenue": 10_000,
        "tax": 1_900,
        "customer_credit": -2_000,
    }
    assert (effect.result["credit_id"], effect.result["credited_minor"]) == (CREDIT_REF, 2_000)


def test_the_invoice_of_a_deleted_customer_can_be_voided() -> None:
    assert plan_void(snapshot(customer=GONE, invoice=make_invoice()), VOID).result["status"] == "void"


def test_what_was_issued_after_the_books_were_closed_is_voided() -> None:
    issued_at = datetime(2026, 11, 1, tzinfo=UTC)
    found = snapshot(invoice=make_invoice(issued_at=issued_at), closed_through=date(2026, 10, 31))
    assert plan_void(found, VOID).result["status"] == "void"
    closed = replace(found, invoice=make_invoice(issued_at=issued_at - timedelta(microseconds=1)))
    words = "Invoice INV-000001 was issued in books that are closed through 2026-10-31; give a credit instead."
    assert refused(plan_void, closed, VOID) == (FailureKind.CONFLICT, words, "invoice_id")


@pytest.mark.parametrize(
    ("invoice", "kind", "words"),
    [
        (None, "NOT_FOUND", "There is no such invoice of this customer."),
        (PAID, "CONFLICT", "Invoice INV-000001 is paid; only an open one is voided."),
        (
            make_invoice(status=InvoiceStatus.VOID, closed_at=NOW),
            "CONFLICT",
            "Invoice INV-000001 is void; only an open one is voided.",
        ),
        (
            make_invoice(status=InvoiceStatus.UNCOLLECTIBLE),
            "CONFLICT",
            "Invoice INV-000001 is uncollectible; only an open one is voided.",
        ),
        (make_invoice(paid_minor=1), "CONFLICT", "$0.01 of invoice INV-000001 were paid, so it is not voided."),
    ],
)
def test_a_void_is_refused(invoice: Any, kind: str, words: str) -> None:
    assert refused(plan_void, snapshot(invoice=invoice), VOID) == (FailureKind(kind), words, "invoice_id")


# Invoices that are given up

GIVE_UP = WriteOffInvoice("in_1", "The company was dissolved")


def test_what_is_left_of_an_invoice_is_written_off_and_what_was_paid_stays() -> None:
    late = make_invoice(paid_minor=1_900, attempts=4, next_attempt_at=NOW)
    effect = plan_write_off(snapshot(invoice=late), GIVE_UP)
    assert effect.preview.effect == "Write off $100.00 of invoice INV-000001 of Ada Moreau"
    assert effect.preview.money == usd(10_000)
    assert effect.preview.parts == (
        Amount("Written off", 10_000, "USD", (("Left to pay on invoice INV-000001", 10_000, 0),)),
    )
    assert effect.invoice == {"status": "uncollectible", "closed_at": NOW, "next_attempt_at": None}
    assert effect.entries == (
        Posted("write_off", "USD", "in_1", {"written_off": 10_000, "receivable": -10_000}, "The company was dissolved"),
    )
    assert effect.result == {
        "invoice_id": "in_1",
        "status": "uncollectible",
        "written_off_minor": 10_000,
        "currency": "USD",
    }


def test_what_was_issued_in_closed_books_can_be_written_off_later() -> None:
    closed = snapshot(invoice=make_invoice(), closed_through=date(2026, 11, 29))
    assert plan_write_off(closed, GIVE_UP).entries


@pytest.mark.parametrize(
    ("invoice", "kind", "words"),
    [
        (None, "NOT_FOUND", "There is no such invoice of this customer."),
        (PAID, "CONFLICT", "Invoice INV-000001 is paid; only an open one is written off."),
        (
            make_invoice(status=InvoiceStatus.UNCOLLECTIBLE, closed_at=NOW),
            "CONFLICT",
            "Invoice INV-000001 is uncollectible; only an open one is written off.",
        ),
        (
            make_invoice(due_at=NOW + timedelta(seconds=1)),
            "CONFLICT",
            "Invoice INV-000001 is not due yet, so nobody can say that it is not paid.",
        ),
        (
            make_invoice(due_at=None),
            "CONFLICT",
            "Invoice INV-000001 is not due yet, so nobody can say that it is not paid.",
        ),
    ],
)
def test_a_write_off_is_refused(invoice: Any, kind: str, words: str) -> None:
    assert refused(plan_write_off, snapshot(invoice=invoice), GIVE_UP) == (FailureKind(kind), words, "invoice_id")
