"""What the port tells of a customer is what the system has, and only of them."""

from collections.abc import Callable

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import ToolFailure
from billing_agent.connectors.port import ApplyCredit, Billing, RetryCharge
from billing_agent.connectors.records import ChargeStatus, InvoiceStatus, SubscriptionStatus
from tests.billing_agent.contract.cast import Cast, usd
from tests.billing_agent.contract.harness import System
from tests.factories.support import make_tenant


def test_an_account_has_all_that_a_desk_asks_first(cast: Cast) -> None:
    cast.act(ApplyCredit(usd(300), "Late reply"))
    books = cast.system.books(cast.dana)
    account = cast.system.billing.account(cast.system.context(cast.dana))
    assert (account.customer.name, account.customer.currency, account.customer.tax_bp) == ("Dana", "USD", 1000)
    assert {method.ref for method in account.customer.methods} == {cast.card, cast.broke}
    assert account.customer.default_method is not None
    assert account.customer.default_method.ref == cast.card
    (sold,) = account.subscriptions
    assert (sold.ref, sold.plan.ref, sold.plan.price, sold.quantity, sold.status) == (
        cast.subscription,
        cast.team,
        usd(2000),
        1,
        SubscriptionStatus.ACTIVE,
    )
    assert [(invoice.ref, invoice.left) for invoice in account.open_invoices] == [(cast.open, usd(2200))]
    assert (account.owed_minor, account.credit_minor) == (books.owed, books.credit) == (2200, 300)
    assert account.paid_minor == books.charged - books.refunded
    assert account.disputes == ()


def test_an_invoice_is_told_with_its_lines_and_the_attempts_to_charge_it(cast: Cast) -> None:
    cast.act(RetryCharge(cast.open, cast.broke, usd(2200)))
    cast.act(RetryCharge(cast.open, cast.card, usd(2200)))
    invoice, charges = cast.system.billing.invoice(cast.system.context(cast.dana), cast.open)
    assert (invoice.subtotal_minor, invoice.tax_minor, invoice.total_minor, invoice.paid_minor) == (
        2000,
        200,
        2200,
        2200,
    )
    assert [(line.description, line.amount_minor, line.tax_minor) for line in invoice.lines] == [("Set-up", 2000, 200)]
    assert (invoice.status, invoice.left) == (InvoiceStatus.PAID, usd(0))
    assert {(each.status, each.decline_code, each.amount, each.method_ref) for each in charges} == {
        (ChargeStatus.FAILED, "insufficient_funds", usd(2200), cast.broke),
        (ChargeStatus.SUCCEEDED, "", usd(2200), cast.card),
    }
    by_number, _ = cast.system.billing.invoice(cast.system.context(cast.dana), invoice.number)
    assert by_number == invoice


def test_invoices_come_newest_first_and_no_more_than_asked(cast: Cast) -> None:
    latest = cast.system.bill(cast.dana, 700)
    listed = cast.system.billing.invoices(cast.system.context(cast.dana), limit=2)
    assert [invoice.ref for invoice in listed] == [latest, cast.open]


def test_plans_are_those_sold_in_the_customers_currency_the_cheapest_first(cast: Cast) -> None:
    cast.system.plan("Old", 1000, sold=False)
    cast.system.plan("Euro", 900, currency="EUR")
    yearly = cast.system.plan("Yearly", 20000, interval="year")
    plans = cast.system.billing.plans(cast.system.context(cast.dana))
    assert [(plan.ref, plan.interval) for plan in plans] == [
        (cast.team, "month"),
        (cast.business, "month"),
        (yearly, "year"),
    ]


READS: dict[str, Callable[[Billing, System, str | None], object]] = {
    "account": lambda billing, system, who: billing.account(system.context(who)),
    "invoices": lambda billing, system, who: billing.invoices(system.context(who), limit=5),
    "invoice": lambda billing, system, who: billing.invoice(system.context(who), "INV-000001"),
    "plans": lambda billing, system, who: billing.plans(system.context(who)),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("who", [None, "cus_nobody"])
def test_nobody_is_not_found(system: System, name: str, who: str | None) -> None:
    with pytest.raises(ToolFailure) as failure:
        READS[name](system.billing, system, who)
    assert failure.value.kind is FailureKind.NOT_FOUND


@pytest.mark.parametrize("name", READS)
def test_a_system_that_does_not_answer_is_tried_again_later(cast: Cast, name: str) -> None:
    with cast.system.silent(), pytest.raises(ToolFailure) as failure:
        READS[name](cast.system.billing, cast.system, cast.dana)
    assert failure.value.kind is FailureKind.UNAVAILABLE


def test_a_customer_of_another_tenant_is_not_found(cast: Cast) -> None:
    elsewhere = cast.system.context(cast.dana, tenant_id=make_tenant("south").id)
    with pytest.raises(ToolFailure) as failure:
        cast.system.billing.account(elsewhere)
    assert failure.value.kind is FailureKind.NOT_FOUND
