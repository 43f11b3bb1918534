"""The demo's billing desk: books that agree, twelve situations, invented people, and the same after seeding twice."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import transaction
from django.db.models import F
from pytest_django.plugin import DjangoDbBlocker

from agentops.tenancy.models import Tenant
from billing_agent import seeds
from billing_agent.books import imbalances
from billing_agent.models import Case, Charge, Customer, Dispute, Invoice, MailTemplate, Plan, Refund, Subscription
from support_agent import seeds as support_seeds

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def tenant(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Tenant]:
    """Seed once: what a test changes is rolled back to it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield seeds.seed_demo()
        transaction.set_rollback(True)


def rows() -> dict[str, list[object]]:
    tables = apps.get_app_config("billing_agent").get_models()
    return {table.__name__: list(table._base_manager.order_by("pk").values()) for table in tables}


def customer(name: str) -> Customer:
    return Customer.objects.get(ref=f"cus_{name}")


def attempts(invoice: Invoice) -> list[str]:
    return list(invoice.charges.order_by("at").values_list("decline_code", flat=True))


def open_invoice(name: str) -> Invoice:
    return customer(name).invoices.get(status="open")


def test_seeding_twice_changes_nothing(tenant: Tenant) -> None:
    Plan.objects.filter(ref="trade-monthly").update(version=F("version") + 1)
    before = rows()
    assert seeds.seed_demo() == tenant
    assert rows() == before


def test_the_books_agree_with_the_records(tenant: Tenant) -> None:
    assert imbalances(tenant.pk) == []
    said = StringIO()
    call_command("billing_check", stdout=said)
    assert "agree with the records" in said.getvalue()


def test_billing_and_support_work_for_one_company(tenant: Tenant) -> None:
    assert support_seeds.seed_demo() == tenant
    assert (support_seeds.NAME, support_seeds.TIMEZONE) == (seeds.NAME, seeds.TIMEZONE)


def test_nothing_is_due_when_the_desk_opens() -> None:
    said = StringIO()
    call_command("billing_due", stdout=said)
    assert said.getvalue() == ""


def test_the_desk_sells_in_four_currencies_by_month_and_year() -> None:
    sold = set(Plan.objects.filter(active=True).values_list("currency", "interval"))
    assert sold == {(currency, interval) for currency in ("USD", "EUR", "GBP", "JPY") for interval in ("month", "year")}
    assert set(Invoice.objects.values_list("currency", flat=True)) == {"USD", "EUR", "GBP", "JPY"}


def test_double_charge_is_two_paid_invoices_of_one_thing() -> None:
    charges = Charge.objects.filter(customer=customer("whitfield"), amount_minor=4860)
    assert [charge.status for charge in charges] == ["succeeded", "succeeded"]
    assert {line.description for charge in charges for line in charge.invoice.lines.all()} == {
        "Window display workshop"
    }


@pytest.mark.parametrize(
    ("name", "answers", "is_due_again"),
    [
        ("castellan", ["expired_card"], False),
        ("oyelaran", ["expired_card"], False),
        ("lindholm", ["insufficient_funds"] * 3, True),
        ("marchetti", ["insufficient_funds"] * 3, True),
        ("haverkamp", ["do_not_honor"] * 4, False),
        ("abara", ["do_not_honor"] * 2, True),
    ],
)
def test_declined_payments_stand_where_dunning_has_left_them(name: str, answers: list[str], is_due_again: bool) -> None:
    invoice = open_invoice(name)
    assert attempts(invoice) == answers
    assert (invoice.next_attempt_at is not None) == is_due_again
    assert customer(name).subscriptions.get().status == "past_due"


def test_partial_refunds_leave_something_to_give_back() -> None:
    left = [
        (charge.customer.ref, charge.amount_minor, charge.refunded_minor)
        for charge in Charge.objects.filter(refunded_minor__gt=0).order_by("id")
    ]
    assert left == [("cus_kowalska", 11664, 3888), ("cus_petrenko", 6000, 4000)]
    assert Refund.objects.count() == 2


def test_closed_invoice_bills_one_thing_twice() -> None:
    invoice = customer("thornbury").invoices.get()
    descriptions = list(invoice.lines.values_list("description", flat=True))
    assert (invoice.status, descriptions.count("Delivery, Tuesday round")) == ("paid", 2)


def test_exempt_customer_was_billed_no_tax() -> None:
    exempt = customer("hopewell")
    assert (exempt.tax_exempt, exempt.tax_bp) == (True, 800)
    assert set(exempt.invoices.values_list("tax_minor", flat=True)) == {0}


def test_chargeback_holds_money_of_a_charge() -> None:
    dispute = Dispute.objects.get()
    assert (dispute.charge.customer.ref, dispute.amount_minor, dispute.status) == (
        "cus_vasquez",
        8532,
        "needs_response",
    )


def test_deleted_customer_was_charged_and_is_billed_no_more() -> None:
    gone = customer("moreno")
    assert gone.deleted_at is not None
    assert gone.charges.filter(status="succeeded").exists()
    assert gone.subscriptions.get().status in ("active", "cancelled")


def test_plans_that_are_to_change_are_paid_for() -> None:
    held = Subscription.objects.filter(customer__ref__in=["cus_sato", "cus_beaumont"]).order_by("ref")
    assert [(each.plan.ref, each.status) for each in held] == [
        ("trade-yearly", "active"),
        ("trade-plus-monthly", "active"),
    ]


def test_invoice_grew_with_the_plan() -> None:
    totals = list(customer("okonkwo").invoices.order_by("number").values_list("total_minor", flat=True))
    assert (totals[0], totals[-1], len(totals)) == (6264, 9396, 3)


def test_dunning_of_the_calendar_has_opened_a_case() -> None:
    (waits,) = Case.objects.filter(source="schedule", status="open")
    assert (waits.customer, waits.source_key.endswith(":exhausted")) == (customer("haverkamp"), True)


def test_every_case_waits_and_one_is_of_a_stranger() -> None:
    assert Case.objects.filter(status="open", taken_at=None).count() == 35
    assert list(Case.objects.filter(customer=None).values_list("ref", flat=True)) == ["C-2028"]
    texts = [text for case in Case.objects.all() for text in (case.subject, case.body)]
    assert not [text for text in texts if "{" in text]


def test_templates_are_reviewed_but_one() -> None:
    assert list(MailTemplate.objects.filter(reviewed_by="").values_list("ref", flat=True)) == ["spring-prices"]


def test_addresses_of_people_are_reserved_ones() -> None:
    senders = [*Customer.objects.values_list("email", flat=True), *Case.objects.values_list("sender", flat=True)]
    assert {sender.rpartition("@")[2] for sender in senders} == {"example.com"}


def test_ids_in_the_data_stand_once() -> None:
    folder = Path(seeds.__file__).parent / "seed_data"
    for name in ("plans", "templates", "customers", "cases"):
        refs = [record["ref"] for record in json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))]
        assert len(refs) == len(set(refs)), name
