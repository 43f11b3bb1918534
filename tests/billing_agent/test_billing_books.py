"""The books: their questions, what the check finds, and the walls that the database holds by itself."""

import json
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from billing_agent import models
from billing_agent.books import Finding, Rule, balances, imbalances
from billing_agent.models import Account
from tests.factories.billing import NOW, Desk, make_desk, make_dispute
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
        lambda desk: post_entry(desk, {"receivable": 5, "revenue": -5}, customer_ref="ghost"),
        Finding(Rule.RECEIVABLE, "ghost", "USD", 5, 0),
    ),
}


def post_entry(desk: Desk, postings: dict[str, int], customer_ref: str = "dana") -> models.Entry:
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
        entry = post_entry(desk, {"goodwill": 5, "revenue": -4})
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
