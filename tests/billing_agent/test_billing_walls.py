"""What the database refuses by itself, whatever writes to the tables of billing."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from billing_agent import models
from billing_agent.books import imbalances
from billing_agent.connectors.port import ApplyCredit
from tests.billing_agent.test_billing_books import post_entry
from tests.factories.billing import make_desk, usd

pytestmark = pytest.mark.django_db

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
        post_entry(desk, {"goodwill": 5, "revenue": -4})
    assert models.Entry.objects.filter(kind="opening").count() == 0
