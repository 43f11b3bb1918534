"""The books: their questions, what the check finds, and the walls that the database holds by itself."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from agentops.registry.tool import ToolFailure
from billing_agent import models
from billing_agent.books import Finding, Rule, balances, imbalances
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    PauseSubscription,
    RefundCharge,
    ResumeSubscription,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
)
from billing_agent.models import Account
from tests.factories.billing import NOW, Desk, bill, make_desk, make_dispute, usd
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db


def test_the_accounts_of_the_desk() -> None:
    desk = make_desk()
    assert balances(desk.tenant.id, currency="USD") == {
        Account.CASH: 5500,
        Account.RECEIVABLE: 2200 + 770,
        Account.REVENUE: -2000 - 5000 - 700,
        Account.TAX: -200 - 500 - 70,
        Account.CUSTOMER_CREDIT: 0,
        Account.GOODWILL: 0,
        Account.REFUNDS: 0,
        Account.DISPUTED: 0,
        Account.WRITTEN_OFF: 0,
    }
    assert balances(desk.tenant.id, currency="USD", customer_ref="erin")[Account.RECEIVABLE] == 770
    assert set(balances(desk.tenant.id, currency="EUR").values()) == {0}
    assert set(balances(make_tenant("south").id, currency="USD").values()) == {0}


def test_disputes_that_are_open_or_lost_are_not_cash() -> None:
    desk = make_desk()
    make_dispute(desk.charge(), 5500)
    assert balances(desk.tenant.id, currency="USD")[Account.CASH] == 0
    assert imbalances(desk.tenant.id) == []
    models.Dispute.objects.update(status="won", closed_at=NOW)
    assert imbalances(desk.tenant.id) == [Finding(Rule.CASH, "dana", "USD", 0, 5500)]


PLANTED: dict[str, tuple[Callable[[Desk], object], Finding]] = {
    "an open invoice that somebody marked as paid in part": (
        lambda desk: models.Invoice.objects.filter(number="INV-000001").update(paid_minor=200),
        Finding(Rule.RECEIVABLE, "dana", "USD", 2200, 2000),
    ),
    "an open invoice that is written off without an entry": (
        lambda desk: models.Invoice.objects.filter(number="INV-000003").update(status="uncollectible", closed_at=NOW),
        Finding(Rule.RECEIVABLE, "erin", "USD", 770, 0),
    ),
    "a credit without an entry": (
        lambda desk: models.Credit.objects.create(
            tenant=desk.tenant,
            customer=desk.dana,
            ref="cr-1",
            amount_minor=50,
            left_minor=50,
            currency="EUR",
            reason="?",
            at=NOW,
        ),
        Finding(Rule.CREDIT, "dana", "EUR", 0, 50),
    ),
    "a charge without an entry": (
        lambda desk: models.Charge.objects.create(
            tenant=desk.tenant,
            customer=desk.dana,
            ref="ch-1",
            method_ref="card-1",
            amount_minor=9,
            currency="USD",
            status="succeeded",
            at=NOW,
        ),
        Finding(Rule.CASH, "dana", "USD", 5500, 5509),
    ),
    "an entry of somebody who is not known": (
        lambda desk: _post(desk, {"receivable": 5, "revenue": -5}, customer_ref="ghost"),
        Finding(Rule.RECEIVABLE, "ghost", "USD", 5, 0),
    ),
}


def _post(desk: Desk, postings: dict[str, int], customer_ref: str = "dana") -> models.Entry:
    entry = models.Entry.objects.create(
        tenant=desk.tenant, kind="opening", currency="USD", customer_ref=customer_ref, record_ref="x", at=NOW
    )
    models.Posting.objects.bulk_create(
        models.Posting(entry=entry, account=account, minor=minor) for account, minor in postings.items()
    )
    return entry


@pytest.mark.parametrize("name", PLANTED)
def test_what_disagrees_is_found_and_nothing_else(name: str) -> None:
    desk = make_desk()
    assert imbalances(desk.tenant.id) == []
    plant, expected = PLANTED[name]
    plant(desk)
    [found] = imbalances(desk.tenant.id)
    assert (found.rule, found.record, found.currency, found.said_minor, found.found_minor) == (
        expected.rule,
        expected.record.format(charge=desk.charge().ref),
        expected.currency,
        expected.said_minor,
        expected.found_minor,
    )
    assert imbalances(make_tenant("south").id) == []


def test_an_entry_whose_lines_do_not_sum_to_zero_is_found_before_the_commit_refuses_it() -> None:
    desk = make_desk()
    with transaction.atomic():
        entry = _post(desk, {"goodwill": 5, "revenue": -4})
        assert imbalances(desk.tenant.id) == [Finding(Rule.ENTRY, str(entry.pk), "USD", 1, 0)]
        transaction.set_rollback(True)


def test_an_invoice_that_does_not_say_what_its_lines_come_to_is_found_before_the_commit_refuses_it() -> None:
    desk = make_desk()
    ref = desk.invoice("INV-000003").ref
    with transaction.atomic():
        models.Invoice.objects.filter(ref=ref).update(subtotal_minor=701, total_minor=771, paid_minor=1)
        assert imbalances(desk.tenant.id) == [Finding(Rule.LINES, ref, "USD", 771, 770)]
        transaction.set_rollback(True)


def test_a_charge_that_claims_a_refund_is_found_before_the_commit_refuses_it() -> None:
    desk = make_desk()
    with transaction.atomic():
        models.Charge.objects.filter(pk=desk.charge().pk).update(refunded_minor=7)
        assert imbalances(desk.tenant.id) == [Finding(Rule.REFUNDED, desk.charge().ref, "USD", 7, 0)]
        transaction.set_rollback(True)


def test_the_check_says_in_words_what_it_found() -> None:
    desk = make_desk()
    make_desk(make_tenant("south", "South Goods"))
    out = StringIO()
    call_command("billing_check", stdout=out)
    assert out.getvalue().splitlines() == [
        "North Goods: the books (4 entries) agree with the records.",
        "South Goods: the books (4 entries) agree with the records.",
    ]
    models.Invoice.objects.filter(tenant=desk.tenant, number="INV-000001").update(paid_minor=200)
    out = StringIO()
    with pytest.raises(CommandError, match=r"^Books and records disagree in 1 place\.$") as ended:
        call_command("billing_check", "--tenant", "north", stdout=out)
    assert ended.value.returncode == 1
    assert out.getvalue().splitlines() == [
        "North Goods:",
        "  Customer dana owes $22.00 by the books and $20.00 by their open invoices.",
    ]
    call_command("billing_check", "--tenant", "south", stdout=StringIO())


def test_the_check_answers_in_json() -> None:
    desk = make_desk()
    out = StringIO()
    call_command("billing_check", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"north": []}
    models.Invoice.objects.filter(tenant=desk.tenant, number="INV-000001").update(paid_minor=200)
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("billing_check", "--json", stdout=out)
    [found] = json.loads(out.getvalue())["north"]
    assert found == {
        "rule": "receivable",
        "record": "dana",
        "currency": "USD",
        "said_minor": 2200,
        "found_minor": 2000,
    }


def test_the_check_of_a_tenant_that_does_not_exist_is_refused() -> None:
    with pytest.raises(CommandError, match="There is no tenant west"):
        call_command("billing_check", "--tenant", "west", stdout=StringIO())


_REFUND = (
    "INSERT INTO billing_agent_refund"
    " (tenant_id, charge_id, ref, version, amount_minor, currency, reason, at, operation_key)"
    " SELECT tenant_id, id, 're-1', 1, {minor}, '{currency}', '?', now(), '' FROM billing_agent_charge"
)
_DISPUTE = (
    "INSERT INTO billing_agent_dispute"
    " (tenant_id, charge_id, ref, version, amount_minor, currency, reason, status, opened_at, told_at, closed_at)"
    " SELECT tenant_id, id, 'dp-1', 1, {minor}, 'USD', '?', '{status}', now(), now(), {closed}"
    " FROM billing_agent_charge"
)

WALLS: dict[str, tuple[str, str]] = {
    "a posting that unbalances an entry": (
        (
            "INSERT INTO billing_agent_posting (entry_id, account, minor)"
            " SELECT min(id), 'goodwill', 1 FROM billing_agent_entry"
        ),
        "the lines of an entry sum to zero",
    ),
    "an entry without lines": (
        (
            "INSERT INTO billing_agent_entry"
            " (tenant_id, kind, currency, customer_ref, record_ref, memo, at, operation_key)"
            " SELECT tenant_id, kind, currency, customer_ref, record_ref, memo, at, operation_key"
            " FROM billing_agent_entry LIMIT 1"
        ),
        "an entry has lines",
    ),
    "another amount of a posting": ("UPDATE billing_agent_posting SET minor = minor + 1", "Cannot update or delete"),
    "a posting less": ("DELETE FROM billing_agent_posting", "Cannot update or delete"),
    "another customer of an entry": ("UPDATE billing_agent_entry SET customer_ref = 'erin'", "Cannot update or delete"),
    "an entry less": ("DELETE FROM billing_agent_entry", "Cannot update or delete"),
    "a paid invoice that changes": (
        "UPDATE billing_agent_invoice SET memo = 'Other' WHERE status = 'paid'",
        "a closed invoice never changes",
    ),
    "a paid invoice that goes": (
        "DELETE FROM billing_agent_invoice WHERE status = 'paid'",
        "a closed invoice never changes",
    ),
    "a line more on an issued invoice": (
        (
            "INSERT INTO billing_agent_invoiceline"
            " (tenant_id, invoice_id, number, description, quantity, unit_minor, amount_minor, tax_minor, proration)"
            " SELECT tenant_id, id, 9, 'More', 1, 1, 1, 0, false FROM billing_agent_invoice"
            " WHERE status = 'open' LIMIT 1"
        ),
        "the lines of an issued invoice never change",
    ),
    "a line that changes": (
        "UPDATE billing_agent_invoiceline SET description = 'Other'",
        "the lines of an issued invoice never change",
    ),
    "a line less": ("DELETE FROM billing_agent_invoiceline", "the lines of an issued invoice never change"),
    "more refunded than was paid": (
        "UPDATE billing_agent_charge SET refunded_minor = amount_minor + 1",
        "no_more_is_refunded_than_was_paid",
    ),
    "a number given twice": (
        "UPDATE billing_agent_invoice SET number = 'INV-000001' WHERE number = 'INV-000003'",
        "one_invoice_a_number",
    ),
    "an issued invoice without a number": (
        "UPDATE billing_agent_invoice SET number = NULL WHERE status = 'open'",
        "an_issued_invoice_has_a_number",
    ),
    "more settled than the invoice says": (
        "UPDATE billing_agent_invoice SET paid_minor = total_minor + 1 WHERE status = 'open'",
        "no_more_settles_an_invoice_than_it_says",
    ),
    "paid without being settled": (
        "UPDATE billing_agent_invoice SET status = 'paid', closed_at = now() WHERE status = 'open'",
        "a_paid_invoice_is_settled",
    ),
    "a total of its own": (
        "UPDATE billing_agent_invoice SET total_minor = total_minor + 1 WHERE status = 'open'",
        "a_total_is_subtotal_and_tax",
    ),
    "more left of a credit than it was": (
        "UPDATE billing_agent_credit SET left_minor = amount_minor + 1",
        "no_more_is_left_of_a_credit_than_it_was",
    ),
    "a charge that claims a refund": (
        "UPDATE billing_agent_charge SET refunded_minor = 7",
        "what went back of a charge is what its refunds come to",
    ),
    "a refund that its charge does not know": (
        _REFUND.format(minor=1, currency="USD"),
        "what went back of a charge is what its refunds come to",
    ),
    "a refund in another currency": (
        f"WITH more AS (UPDATE billing_agent_charge SET refunded_minor = 1) {_REFUND.format(minor=1, currency='EUR')}",
        "what goes back of a charge is in its currency",
    ),
    "a refund and a dispute that come to more than the charge": (
        (
            "WITH more AS (UPDATE billing_agent_charge SET refunded_minor = 1),"
            f" held AS ({_DISPUTE.format(minor=5500, status='lost', closed='now()')} RETURNING 1)"
            f" {_REFUND.format(minor=1, currency='USD')}"
        ),
        "no more goes back of a charge than it took, less what banks hold or kept",
    ),
    "a dispute over more than the charge": (
        _DISPUTE.format(minor=5501, status="under_review", closed="NULL"),
        "no more goes back of a charge than it took, less what banks hold or kept",
    ),
    "a decided dispute without a time": (
        _DISPUTE.format(minor=5, status="won", closed="NULL"),
        "a_decided_dispute_has_a_time",
    ),
    "another amount of a charge": ("UPDATE billing_agent_charge SET amount_minor = 1", "a charge stays what it was"),
    "a charge less": ("DELETE FROM billing_agent_charge", "a charge stays what it was"),
    "another amount of a credit": (
        "UPDATE billing_agent_credit SET amount_minor = amount_minor + 1",
        "a credit stays what it was",
    ),
    "less than nothing left of a credit": (
        "UPDATE billing_agent_credit SET left_minor = -1",
        "no_more_is_left_of_a_credit_than_it_was",
    ),
    "an invoice that does not come to its lines": (
        (
            "UPDATE billing_agent_invoice SET subtotal_minor = subtotal_minor + 1, total_minor = total_minor + 1"
            " WHERE status = 'open'"
        ),
        "an issued invoice comes to what its lines do",
    ),
    "an invoice that is written off without a time": (
        "UPDATE billing_agent_invoice SET status = 'uncollectible' WHERE status = 'open'",
        "a_closed_invoice_has_a_time",
    ),
    "an operation's key used again": (
        (
            "INSERT INTO billing_agent_operation (tenant_id, key, action, arguments_digest, result, at, case_ref)"
            " SELECT tenant_id, key, action, arguments_digest, result, at, case_ref"
            " FROM billing_agent_operation LIMIT 1"
        ),
        "one_billing_operation_a_key",
    ),
}


def _run_as_at_commit(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
        assert cursor.rowcount > 0
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


@pytest.mark.parametrize("name", WALLS)
def test_the_database_refuses(name: str) -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(5), "Late"))
    statement, words = WALLS[name]
    with pytest.raises(DatabaseError, match=words):
        _run_as_at_commit(statement)
    assert imbalances(desk.tenant.id) == []


@pytest.mark.django_db(transaction=True)
def test_an_entry_that_does_not_balance_is_refused_by_the_commit() -> None:
    desk = make_desk()
    with pytest.raises(IntegrityError, match="sum to zero"), transaction.atomic():
        _post(desk, {"goodwill": 5, "revenue": -4})
    assert models.Entry.objects.filter(kind="opening").count() == 0


def _credit(desk: Desk) -> str:
    return desk.dana.credits.order_by("-left_minor").values_list("ref", flat=True).first() or "none"


AMOUNTS = st.integers(1, 4000)
NUMBERS = st.integers(1, 6).map(lambda number: f"INV-{number:06}")
# Each step is a write that may be refused: what is refused changes nothing, and what is done keeps the books.
STEPS: st.SearchStrategy[Callable[[Desk], Write]] = st.one_of(
    AMOUNTS.map(lambda minor: lambda desk: bill(minor, "More")),
    st.builds(lambda minor, number: lambda desk: ApplyCredit(usd(minor), "Late", number), AMOUNTS, NUMBERS),
    AMOUNTS.map(lambda minor: lambda desk: ApplyCredit(usd(minor), "Late")),
    AMOUNTS.map(lambda minor: lambda desk: RefundCharge(desk.charge().ref, usd(minor), "Late")),
    st.just(lambda desk: ReverseCredit(_credit(desk), "Twice")),
    NUMBERS.map(lambda number: lambda desk: VoidInvoice(number, "Twice")),
    st.builds(
        lambda number, card: lambda desk: RetryCharge(number, card, _left(desk, number)),
        NUMBERS,
        st.sampled_from(["card-1", "card-2"]),
    ),
    st.builds(
        lambda plan, quantity, now: lambda desk: ChangePlan("sub-1", plan, quantity, now=now),
        st.sampled_from(["team", "business", "old"]),
        st.integers(1, 3),
        st.booleans(),
    ),
    st.just(lambda desk: PauseSubscription("sub-1", None)),
    st.just(lambda desk: ResumeSubscription("sub-1")),
    st.just(lambda desk: CancelSubscription("sub-1", now=False, reason="Too dear")),
)


def _left(desk: Desk, number: str) -> Any:
    invoice = models.Invoice.objects.filter(tenant=desk.tenant, number=number).first()
    return usd(1 if invoice is None else invoice.total_minor - invoice.paid_minor - invoice.credited_minor)


@given(steps=st.lists(STEPS, min_size=4, max_size=14))
@settings(max_examples=20, derandomize=True)
def test_whatever_is_written_in_whatever_order_keeps_the_books(steps: list[Callable[[Desk], Write]]) -> None:
    with transaction.atomic():
        desk = make_desk()
        for number, step in enumerate(steps):
            before = models.Entry.objects.count()
            try:
                desk.act(step(desk), f"step-{number}")
            except ToolFailure:
                assert models.Entry.objects.count() == before
            assert imbalances(desk.tenant.id) == []
        issued = models.Invoice.objects.values_list("number", flat=True)
        assert sorted(issued) == [f"INV-{number:06}" for number in range(1, len(issued) + 1)]
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        transaction.set_rollback(True)
