"""What is read of the billing tables: one customer's records and nobody else's, in few queries."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, ToolFailure
from billing_agent import models
from billing_agent.connectors import billing, disputed, owner_of
from billing_agent.connectors.port import (
    ApplyCredit,
    ChangePlan,
    RefundCharge,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
    WriteMail,
)
from billing_agent.connectors.records import InvoiceStatus
from tests.factories.billing import (
    NOW,
    bill,
    every_row,
    make_card,
    make_desk,
    make_dispute,
    make_plan,
    make_subscription,
    usd,
)
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db
READS: dict[str, Callable[[CallContext], object]] = {
    "account": lambda context: billing().account(context),
    "invoices": lambda context: billing().invoices(context, limit=50),
    "invoice": lambda context: billing().invoice(context, "INV-000002"),
    "plans": lambda context: billing().plans(context),
    "templates": lambda context: billing().templates(context),
}


def refusal(call: Callable[[], object]) -> ToolFailure:
    with pytest.raises(ToolFailure) as failure:
        call()
    return failure.value


def test_the_account_holds_all_that_is_open() -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(300), "Late"))
    make_dispute(desk.charge(), 5500)
    account = billing().account(desk.context())
    assert (account.customer.name, account.customer.rate_bp) == ("Dana Ruiz", 1000)
    assert [method.ref for method in account.customer.methods] == ["card-1", "card-2"]
    assert [each.ref for each in account.subscriptions] == ["sub-1"]
    assert [each.number for each in account.open_invoices] == ["INV-000001"]
    assert [each.ref for each in account.disputes] == ["dp-1"]
    assert [each.left_minor for each in account.credits] == [300]
    assert (account.owed_minor, account.credit_minor, account.paid_minor) == (2200, 300, 5500)


def test_the_latest_invoices_come_first() -> None:
    desk = make_desk()
    assert [each.number for each in billing().invoices(desk.context(), limit=50)] == ["INV-000002", "INV-000001"]
    assert [each.number for each in billing().invoices(desk.context(), limit=1)] == ["INV-000002"]


def test_an_invoice_is_found_by_id_and_by_number() -> None:
    desk = make_desk()
    desk.act(RefundCharge(desk.charge().ref, usd(100), "Late"))
    by_number, charges = billing().invoice(desk.context(), "INV-000002")
    assert billing().invoice(desk.context(), by_number.ref) == (by_number, charges)
    assert (by_number.status, by_number.total_minor, by_number.paid_minor) == (InvoiceStatus.PAID, 5500, 5500)
    assert [(line.description, line.amount_minor, line.tax_minor) for line in by_number.lines] == [
        ("Training", 5000, 500)
    ]
    assert [(each.amount, each.refundable, len(each.refunds)) for each in charges] == [(usd(5500), usd(5400), 1)]


def test_a_number_that_is_also_an_id_means_the_id() -> None:
    desk = make_desk()
    models.Invoice.objects.filter(number="INV-000001").update(ref="INV-000002")
    found, _ = billing().invoice(desk.context(), "INV-000002")
    assert found.number == "INV-000001"


def test_plans_that_are_sold_come_by_price_and_templates_by_name() -> None:
    desk = make_desk()
    make_plan(desk.tenant, "cheap", "Cheap", 100)
    make_plan(desk.tenant, "euro", "Euro", 1, currency="EUR")
    assert [plan.ref for plan in billing().plans(desk.context())] == ["cheap", "team", "business"]
    assert [template.ref for template in billing().templates(desk.context())] == ["thanks"]


@pytest.mark.parametrize("name", ["account", "invoices", "invoice", "plans"])
def test_nobody_else_is_seen(name: str) -> None:
    desk = make_desk()
    elsewhere = replace(desk.context(), tenant_id=make_tenant("south").id)
    contexts = [desk.context(customer_id=None), desk.context(customer_id="nobody"), elsewhere]
    for context in contexts:
        assert refusal(lambda context=context: READS[name](context)).kind is FailureKind.NOT_FOUND


def test_what_is_another_customers_is_refused_like_what_never_was() -> None:
    desk = make_desk()
    theirs = desk.invoice("INV-000003").ref
    for ref in (theirs, "INV-000003"):
        told = [
            refusal(lambda each=each: billing().invoice(desk.context(), each)).in_full for each in (ref, "in_never")
        ]
        assert told[0] == told[1]
    writes: list[Callable[[str], Write]] = [
        lambda ref: VoidInvoice(ref, "Twice"),
        lambda ref: RefundCharge(ref, usd(1), "Late"),
        lambda ref: ReverseCredit(ref, "Twice"),
        lambda ref: ChangePlan(ref, "business", 1, now=True),
        lambda ref: RetryCharge(desk.invoice("INV-000001").ref, ref, usd(2200)),
    ]
    desk.act(ApplyCredit(usd(5), "Late"), customer_id="erin")
    desk.act(RetryCharge(theirs, "card-9", usd(770)), customer_id="erin")
    charge, credit = models.Charge.objects.get(invoice__ref=theirs).ref, desk.erin.credits.get().ref
    books = every_row()
    for write, ref in zip(writes, (theirs, charge, credit, "sub-9", "card-9"), strict=True):
        for door in (desk.show, desk.act):
            told = [refusal(lambda each=each, door=door, write=write: door(write(each))) for each in (ref, "never")]
            assert told[0].kind is FailureKind.NOT_FOUND
            assert told[0].in_full == told[1].in_full
    assert every_row() == books


@pytest.mark.parametrize("name", READS)
def test_reading_takes_as_many_queries_for_thirty_as_for_one(name: str) -> None:
    desk = make_desk()
    desk.act(RefundCharge(desk.charge().ref, usd(1), "Late"))
    desk.act(ApplyCredit(usd(5), "Late"))
    make_dispute(desk.charge(), 100, "dp-0")
    with CaptureQueriesContext(connection) as few:
        READS[name](desk.context())
    for number in range(30):
        desk.act(bill(100, f"More {number}"), f"bill-{number}")
        desk.act(ApplyCredit(usd(5), "Late"), f"credit-{number}")
        make_card(desk.dana, f"more-{number}")
        make_subscription(desk.dana, make_plan(desk.tenant, f"p-{number}", "More", 100), f"more-{number}")
        make_dispute(desk.charge(), 1, f"dp-more-{number}")
    with CaptureQueriesContext(connection) as many:
        READS[name](desk.context())
    assert len(many) == len(few)


def test_the_owner_of_a_record_is_found_by_its_kind() -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(5), "Late"))
    desk.act(WriteMail("thanks", (("name", "Dana"),), send=False))
    known: list[tuple[str, Any]] = [
        ("invoice", "INV-000001"),
        ("invoice", desk.invoice("INV-000001").ref),
        ("charge", desk.charge().ref),
        ("subscription", "sub-1"),
        ("credit", desk.dana.credits.get().ref),
        ("method", "card-1"),
        ("mail", desk.dana.mails.get().ref),
        ("case", "case-1"),
    ]
    for kind, ref in known:
        assert owner_of(desk.tenant.id, kind, ref) == "dana"
        assert owner_of(desk.tenant.id, kind, "never") is None
        assert owner_of(make_tenant(f"{kind}-{ref}".lower()[:40]).id, kind, ref) is None
    assert owner_of(desk.tenant.id, "invoice", "INV-000003") == "erin"
    with pytest.raises(ValueError, match="no records of kind 'plan'"):
        owner_of(desk.tenant.id, "plan", "team")


def test_a_dispute_names_the_call_that_made_the_charge() -> None:
    desk = make_desk()
    charge = desk.charge()
    make_dispute(charge, 5500)
    [found] = disputed(NOW, 5)
    assert (found.tenant_id, found.key, found.words) == (desk.tenant.pk, charge.operation_key, "fraudulent")
    assert disputed(NOW + timedelta(seconds=1), 5) == []
    models.Charge.objects.update(operation_key="")
    assert disputed(NOW, 5) == []
