"""A small shop: Dana buys, Erin buys too and is nobody Dana's tickets may touch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agentops.registry import schemas
from agentops.registry.tool import CallContext, Preview, ToolSpec
from agentops.tenancy.models import Tenant
from support_agent import models
from support_agent.tools import TOOLS

NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
SESSION = UUID("01890000-0000-7000-8000-000000000001")
HOME = {
    "address1": "1 Elm Street",
    "address2": "",
    "city": "Denver",
    "state": "CO",
    "country": "USA",
    "zip": "80279",
}
ELSEWHERE = {
    "address1": "9 Oak Lane",
    "address2": "Suite 4",
    "city": "Boise",
    "state": "ID",
    "country": "USA",
    "zip": "83701",
}


def make_tenant(slug: str = "north", name: str = "North Goods") -> Tenant:
    """Make a tenant."""
    return Tenant.objects.create(slug=slug, name=name)


def make_customer(tenant: Tenant, ref: str, first_name: str, last_name: str, **fields: Any) -> models.Customer:
    """Make a customer who lives at HOME and has no payment methods."""
    email = f"{first_name}.{last_name}@example.com".lower()
    given = {"email": email, **HOME, **fields}
    return models.Customer.objects.create(tenant=tenant, ref=ref, first_name=first_name, last_name=last_name, **given)


def make_card(customer: models.Customer, ref: str, last_four: str = "9917") -> models.PaymentMethod:
    """Make a credit card."""
    return models.PaymentMethod.objects.create(
        tenant=customer.tenant, customer=customer, ref=ref, kind="credit_card", brand="visa", last_four=last_four
    )


def make_paypal(customer: models.Customer, ref: str) -> models.PaymentMethod:
    """Make a PayPal account."""
    return models.PaymentMethod.objects.create(tenant=customer.tenant, customer=customer, ref=ref, kind="paypal")


def make_gift_card(
    customer: models.Customer, ref: str, balance_minor: int, currency: str = "USD"
) -> models.PaymentMethod:
    """Make a gift card."""
    return models.PaymentMethod.objects.create(
        tenant=customer.tenant,
        customer=customer,
        ref=ref,
        kind="gift_card",
        balance_minor=balance_minor,
        currency=currency,
    )


def make_product(
    tenant: Tenant, ref: str, name: str, variants: Mapping[str, tuple[int, Mapping[str, str]]], currency: str = "USD"
) -> models.Product:
    """Make a product; ``variants`` maps item id to price (minor units) and options. All are available."""
    product = models.Product.objects.create(tenant=tenant, ref=ref, name=name)
    for item, (price, options) in variants.items():
        models.Variant.objects.create(
            tenant=tenant, product=product, ref=item, price_minor=price, currency=currency, options=dict(options)
        )
    return product


def make_order(
    customer: models.Customer,
    ref: str,
    items: Sequence[str],
    paid_with: models.PaymentMethod,
    status: str = "pending",
    currency: str = "USD",
) -> models.Order:
    """Make an order of ``items`` at today's prices, sent to HOME and paid in one payment."""
    order = models.Order.objects.create(
        tenant=customer.tenant, customer=customer, ref=ref, status=status, currency=currency, placed_at=NOW, **HOME
    )
    total = 0
    for number, item in enumerate(items, start=1):
        variant = models.Variant.objects.select_related("product").get(tenant=customer.tenant, ref=item)
        models.OrderLine.objects.create(
            tenant=customer.tenant,
            order=order,
            number=number,
            variant_ref=item,
            product_ref=variant.product.ref,
            name=variant.product.name,
            price_minor=variant.price_minor,
            options=variant.options,
        )
        total += variant.price_minor
    add_payment(order, "payment", total, paid_with.ref)
    return order


def add_payment(order: models.Order, kind: str, amount_minor: int, method_ref: str) -> models.Payment:
    """Append an entry to an order's payment history."""
    return models.Payment.objects.create(
        tenant=order.tenant,
        order=order,
        number=order.payments.count() + 1,
        kind=kind,
        amount_minor=amount_minor,
        payment_method_ref=method_ref,
    )


def make_ticket(
    tenant: Tenant, ref: str = "T-1", customer: models.Customer | None = None, **fields: Any
) -> models.Ticket:
    """Make an open ticket that Dana's address sent, unless ``sender`` says otherwise."""
    given: dict[str, Any] = {
        "sender": customer.email if customer else "dana.ruiz@example.com",
        "subject": "About my order",
        "body": "Please help.",
        "received_at": NOW,
        "source_key": f"test:{ref}",
    }
    return models.Ticket.objects.create(tenant=tenant, ref=ref, customer=customer, **(given | fields))


def make_article(tenant: Tenant, ref: str, title: str, body: str) -> models.Article:
    """Make a page of the knowledge base."""
    return models.Article.objects.create(tenant=tenant, ref=ref, title=title, body=body)


@dataclass(frozen=True)
class Shop:
    """The shop and how its parts are called.

    Dana has card-1, paypal-1 and gift-1 ($10.00). ``#W1`` is pending: two lamps L-RED ($20.00 each) and a mug
    M-S ($5.00), paid with card-1. ``#W2`` is delivered: a lamp L-RED and a mug M-S, paid with paypal-1. ``#W3``
    is pending: a mug M-L ($8.20), paid with gift-1. Erin has card-9 and the pending ``#W9``. M-XL is out of stock.
    """

    tenant: Tenant
    dana: models.Customer
    erin: models.Customer
    ticket: models.Ticket

    def context(self, key: str = "", customer_id: str | None = "dana", subject_id: str = "T-1") -> CallContext:
        """Return the context of a session on Dana's ticket."""
        return CallContext(self.tenant.id, SESSION, subject_id, customer_id, NOW, idempotency_key=key)

    def order(self, ref: str) -> models.Order:
        """Return the order as it is now."""
        return models.Order.objects.get(tenant=self.tenant, ref=ref)

    def history(self, ref: str) -> list[tuple[str, int, str]]:
        """Return kind, amount and method of each entry of an order's payment history."""
        rows = self.order(ref).payments.all()
        return [(row.kind, row.amount_minor, row.payment_method_ref) for row in rows]

    def balance(self, ref: str) -> int | None:
        """Return the balance of a payment method as it is now."""
        return models.PaymentMethod.objects.get(tenant=self.tenant, ref=ref).balance_minor


def make_shop(tenant: Tenant | None = None) -> Shop:
    """Make the shop, in its own tenant unless one is given."""
    tenant = tenant or make_tenant()
    make_product(
        tenant,
        "P-LAMP",
        "Desk Lamp",
        {
            "L-RED": (2000, {"color": "red"}),
            "L-BLUE": (2350, {"color": "blue"}),
            "L-GREY": (1500, {"color": "grey"}),
        },
    )
    make_product(
        tenant,
        "P-MUG",
        "Mug",
        {"M-S": (500, {"size": "S"}), "M-L": (820, {"size": "L"}), "M-XL": (900, {"size": "XL"})},
    )
    models.Variant.objects.filter(tenant=tenant, ref="M-XL").update(available=False)
    dana = make_customer(tenant, "dana", "Dana", "Ruiz")
    card, paypal, gift = make_card(dana, "card-1"), make_paypal(dana, "paypal-1"), make_gift_card(dana, "gift-1", 1000)
    make_order(dana, "#W1", ["L-RED", "M-S", "L-RED"], card)
    delivered = make_order(dana, "#W2", ["L-RED", "M-S"], paypal, status="delivered")
    models.Fulfilment.objects.create(
        tenant=tenant, order=delivered, tracking_ids=["1Z-1"], variant_refs=["L-RED", "M-S"]
    )
    make_order(dana, "#W3", ["M-L"], gift)
    erin = make_customer(tenant, "erin", "Erin", "Cole", zip="10001")
    make_order(erin, "#W9", ["M-S"], make_card(erin, "card-9", "1111"))
    return Shop(tenant, dana, erin, make_ticket(tenant, customer=dana))


def tool_named(name: str) -> ToolSpec:
    """Return the tool of that name."""
    return next(tool for tool in TOOLS if tool.name == name)


def look(context: CallContext, name: str, **arguments: Any) -> dict[str, Any]:
    """Run a read with arguments that fit its schema, and check that its answer fits too."""
    tool = tool_named(name)
    _require_valid(tool.input_schema, arguments)
    result = tool.run(context, arguments)
    _require_valid(tool.output_schema, result)
    return result


def show(context: CallContext, name: str, **arguments: Any) -> Preview:
    """Return a write's preview for arguments that fit its schema."""
    tool = tool_named(name)
    _require_valid(tool.input_schema, arguments)
    assert tool.preview is not None
    return tool.preview(context, arguments)


def act(context: CallContext, name: str, **arguments: Any) -> dict[str, Any]:
    """Preview a write and carry out what was previewed, as the gateway does; needs a context with a key."""
    tool = tool_named(name)
    preview = show(context, name, **arguments)
    result = tool.run(replace(context, expected_versions=preview.versions), arguments)
    _require_valid(tool.output_schema, result)
    return result


def _require_valid(schema: Mapping[str, Any], value: Any) -> None:
    found = schemas.violations(schemas.validator(schema), value)
    assert found == [], found
