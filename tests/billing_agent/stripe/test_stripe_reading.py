"""What Stripe tells as records of the desk."""

from billing_agent.connectors import billing, owner_of
from billing_agent.connectors.records import ChargeStatus, InvoiceStatus, SubscriptionStatus
from tests.billing_agent.stripe.account import Desk


def test_account_with_all_that_is_open(desk: Desk) -> None:
    account = billing().account(desk.context())
    customer = account.customer
    assert (customer.ref, customer.name, customer.currency, customer.tax_bp) == (desk.dana, "Dana Ruiz", "USD", 1000)
    assert [method.words for method in sorted(customer.methods, key=lambda each: each.last_four)] == [
        "Visa ending 4242",
        "Visa ending 9995",
    ]
    assert customer.default_method is not None
    assert customer.default_method.ref == desk.card
    (subscription,) = account.subscriptions
    assert (subscription.ref, subscription.plan.name, subscription.status) == (
        desk.subscription,
        "Team",
        SubscriptionStatus.ACTIVE,
    )
    assert [invoice.ref for invoice in account.open_invoices] == [desk.open]
    assert (account.owed_minor, account.credit_minor, account.paid_minor) == (2200, 0, 2200 + 5500)


def test_invoice_by_id_and_number_with_its_charges(desk: Desk) -> None:
    invoice, charges = billing().invoice(desk.context(), desk.paid)
    assert (invoice.status, invoice.subtotal_minor, invoice.tax_minor, invoice.total_minor, invoice.paid_minor) == (
        InvoiceStatus.PAID,
        5000,
        500,
        5500,
        5500,
    )
    assert [line.description for line in invoice.lines] == ["Training"]
    assert [(charge.status, charge.amount.minor, charge.invoice_ref) for charge in charges] == [
        (ChargeStatus.SUCCEEDED, 5500, desk.paid)
    ]
    assert billing().invoice(desk.context(), invoice.number) == (invoice, charges)


def test_plans_the_cheapest_first(desk: Desk) -> None:
    found = billing().plans(desk.context())
    assert [(plan.ref, plan.name, plan.price.minor) for plan in found] == [
        (desk.team, "Team", 2000),
        (desk.business, "Business", 5000),
        (desk.yearly, "Team", 24000),
    ]


def test_owner_is_known_of_what_was_looked_up(desk: Desk) -> None:
    assert owner_of(desk.tenant.id, "invoice", desk.open) is None
    invoice, _ = billing().invoice(desk.context(), desk.open)
    assert owner_of(desk.tenant.id, "invoice", desk.open) == desk.dana
    assert owner_of(desk.tenant.id, "invoice", invoice.number) == desk.dana
    assert owner_of(desk.tenant.id, "invoice", desk.erins) is None
