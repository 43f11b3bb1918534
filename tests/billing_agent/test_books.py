"""No sequence of writes on money breaks the books: what must hold, holds after each of them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentops.kernel.money import Money
from agentops.registry.tool import ToolFailure
from billing_agent import models
from billing_agent.connectors.effect import Posted
from billing_agent.connectors.port import (
    ApplyCredit,
    GenerateInvoice,
    Item,
    MoneyWrite,
    RefundCharge,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    WriteOffInvoice,
)
from billing_agent.connectors.posting import Account, EntryKind, posted
from billing_agent.connectors.records import ChargeStatus, Customer, DisputeStatus, InvoiceStatus
from tests.billing_agent.books import CLOSED, PLANS, Books
from tests.billing_agent.examples import ADA, BANK, EXEMPT, IN_JAPAN, VISA, usd

WRITES = (
    *("bill", "bill", "credit", "credit", "reverse", "charge", "charge", "decline", "refund", "too much", "void"),
    "write off",
)
EVENTS = ("dispute", "won", "lost", "close the books", "time passes")
DECLINES = ("insufficient_funds", "lost_or_stolen", "do_not_honor")


@dataclass(frozen=True)
class Step:
    """One thing that happens. ``which`` chooses the record, ``minor`` is an amount.

    ``whole`` is for all that there is instead, of a record that takes it.
    """

    kind: str
    which: int
    minor: int
    whole: bool


AMOUNTS = st.integers(-1, 300) | st.integers(1, 12_000) | st.integers(0, 10**9)
STEPS = st.lists(
    st.builds(Step, st.sampled_from(WRITES + EVENTS), st.integers(0, 2), AMOUNTS, st.booleans()),
    min_size=5,
    max_size=30,
)
CUSTOMERS = st.sampled_from([ADA, EXEMPT, IN_JAPAN]) | st.builds(
    lambda rate: replace(ADA, tax_bp=rate), st.integers(0, 10_000)
)


def chosen(refs: Iterable[str], step: Step) -> str:
    """Return one of the latest records, an unknown one when there are none."""
    latest = list(refs)[::-1]
    return latest[step.which % len(latest)] if latest else "unknown"


def write_of(books: Books, step: Step) -> MoneyWrite:
    """Return the write that the step asks for."""
    currency = books.customer.currency
    amount = Money(step.minor, currency)
    open_ones = [ref for ref, invoice in books.invoices.items() if invoice.status is InvoiceStatus.OPEN]
    invoice_ref = chosen(open_ones if step.whole else books.invoices, step)
    match step.kind:
        case "bill":
            items = (Item("Seats", 1 + step.which, step.minor), Item("Support", 1, 7))
            return GenerateInvoice(items, currency, "", 14)
        case "credit":
            return ApplyCredit(amount, "An outage", "" if invoice_ref == "unknown" else invoice_ref)
        case "reverse":
            return ReverseCredit(chosen(books.credits, step), "A mistake")
        case "charge" | "decline":
            invoice = books.invoices.get(invoice_ref)
            method = VISA if step.kind == "charge" else BANK
            return RetryCharge(invoice_ref, method.ref, amount if invoice is None else invoice.left)
        case "refund" | "too much":
            paying = [ref for ref, charge in books.charges.items() if charge.status is ChargeStatus.SUCCEEDED]
            charge_ref = chosen(paying, step)
            charge = books.charges.get(charge_ref)
            if charge is not None and step.kind == "too much":
                amount = Money(charge.refundable.minor + 1, currency)
            elif charge is not None and step.whole:
                amount = charge.refundable
            return RefundCharge(charge_ref, amount, "Billed twice")
        case "write off":
            return WriteOffInvoice(invoice_ref, "Nobody is there any more")
        case _:
            return VoidInvoice(invoice_ref, "Wrong account")


def happen(books: Books, step: Step) -> None:
    """Let what is no write happen: a bank disputes a charge or decides, the books are closed through yesterday."""
    charge_ref = chosen(books.charges, step)
    if step.kind == "close the books":
        books.closed_through = books.now.date() - timedelta(days=1)
    elif step.kind == "time passes":
        if books.invoices:
            books.grow_old(chosen(books.invoices, step))
    elif charge_ref in books.charges:
        if step.kind == "dispute":
            books.dispute(charge_ref)
        else:
            books.decide(charge_ref, DisputeStatus(step.kind))


@settings(max_examples=250, deadline=None)
@given(steps=STEPS, customer=CUSTOMERS, code=st.sampled_from(DECLINES))
def test_whatever_is_asked_for_the_books_hold(steps: list[Step], customer: Customer, code: str) -> None:
    bank = replace(BANK, declines_with=code)
    books = Books(customer=replace(customer, methods=(VISA, bank)))
    for step in [Step("bill", 0, 9_999, True), Step("charge", 0, 0, True), Step("bill", 0, 1_001, True), *steps]:
        closed = {ref: invoice for ref, invoice in books.invoices.items() if invoice.status in CLOSED}
        before = list(books.entries)
        if step.kind in EVENTS:
            happen(books, step)
        else:
            write = write_of(books, step)
            asked = replace(books.snapshot(write), key="")
            try:
                effect = books.carry_out(write)
            except ToolFailure:
                assert books.entries == before
            else:
                assert effect.preview == PLANS[type(write)](asked, write).preview, "what was approved is what is done"
        assert {ref: books.invoices[ref] for ref in closed} == closed
        assert books.entries[: len(before)] == before
        books.check()


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(st.integers(1, 500), min_size=1, max_size=8), rate=st.integers(0, 10_000), credit=st.integers(0, 400)
)
def test_a_charge_that_is_refunded_in_parts_leaves_no_tax_behind(parts: list[int], rate: int, credit: int) -> None:
    books = Books(customer=replace(ADA, tax_bp=rate))
    if credit:
        books.carry_out(ApplyCredit(usd(credit), "An outage"))
    made = books.carry_out(GenerateInvoice((Item("Seats", 1, 400 + sum(parts)),), "USD", "", 0))
    left = made.result["left_minor"]
    charge_ref = books.carry_out(RetryCharge(made.result["invoice_id"], VISA.ref, usd(left))).result["charge_id"]
    for part in [*parts, left - sum(parts)]:
        if part:
            books.carry_out(RefundCharge(charge_ref, usd(part), "In parts"))
    with pytest.raises(ToolFailure, match="gone back already"):
        books.plan(RefundCharge(charge_ref, usd(1), "Too much"))
    books.check()
    # What credit settled keeps its part of the tax, and nothing else does.
    total, tax = made.result["total_minor"], made.result["tax_minor"]
    assert "cash" not in books.balances
    assert abs(books.balances.get("tax", 0) * total + tax * credit) * 2 <= total


def test_a_year_at_the_desk() -> None:
    books = Books()
    first = books.carry_out(GenerateInvoice((Item("Seats", 10, 1_000),), "USD", "", 14)).result["invoice_id"]
    books.carry_out(ApplyCredit(usd(2_000), "An outage", first))
    books.carry_out(VoidInvoice(first, "Wrong account"))
    second = books.carry_out(GenerateInvoice((Item("Seats", 10, 1_000),), "USD", "", 14)).result
    assert (second["credited_minor"], second["left_minor"]) == (2_000, 9_900)
    charge = books.carry_out(RetryCharge(second["invoice_id"], VISA.ref, usd(9_900))).result["charge_id"]
    books.carry_out(RefundCharge(charge, usd(1_190), "A seat too many"))
    books.dispute(charge)
    books.decide(charge, DisputeStatus.LOST)
    kept = books.carry_out(ApplyCredit(usd(500), "Sorry", second["invoice_id"])).result
    assert (kept["left_minor"], kept["invoice_status"]) == (500, "paid")
    books.carry_out(ReverseCredit(kept["credit_id"], "A mistake"))
    books.check()
    assert [entry.kind for entry in books.entries] == [
        "invoice",
        "credit",
        "credit_used",
        "void",
        "invoice",
        "credit_used",
        "charge",
        "refund",
        "dispute",
        "dispute_lost",
        "credit",
        "credit_reversed",
    ]
    assert books.balances == {
        "revenue": -10_000,
        "tax": -1_710,
        "goodwill": 2_000,
        "refunds": 1_000,
        "written_off": 8_710,
    }
    assert books.invoices[first].status is InvoiceStatus.VOID


def test_the_rules_know_the_accounts_of_the_tables() -> None:
    assert [account.value for account in Account] == list(models.Account.values)
    assert [kind.value for kind in EntryKind] == list(models.EntryKind.values)


def test_an_entry_leaves_out_lines_of_nothing_and_cuts_its_memo() -> None:
    lines = {Account.CASH: 5, Account.TAX: 0, Account.RECEIVABLE: -5}
    assert posted(EntryKind.CHARGE, "USD", "ch_1", lines, memo="x" * 301) == (
        Posted("charge", "USD", "ch_1", {"cash": 5, "receivable": -5}, "x" * 300),
    )
    assert posted(EntryKind.CHARGE, "USD", "ch_1", {Account.CASH: 0, Account.RECEIVABLE: 0}) == ()
    with pytest.raises(ValueError, match="sum to zero"):
        posted(EntryKind.CHARGE, "USD", "ch_1", {Account.CASH: 5, Account.RECEIVABLE: -4})
