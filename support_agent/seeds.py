"""The demo shop: customers, products, orders, knowledge base and tickets, from ``seed_data/``.

Everything is invented. Ids are fixed; times count back from the moment of seeding.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction

from agentops.kernel.clock import utcnow
from agentops.tenancy.models import Tenant
from support_agent.intake import customer_ids
from support_agent.models import (
    Article,
    Customer,
    Fulfilment,
    Order,
    OrderLine,
    OrderStatus,
    Payment,
    PaymentKind,
    PaymentMethod,
    Product,
    Ticket,
    Variant,
)

CURRENCY = "USD"
SLUG, NAME, TIMEZONE = "larkspur", "Larkspur Goods", "America/Chicago"
_ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
_DATA = Path(__file__).parent / "seed_data"

Record = Mapping[str, Any]


@transaction.atomic
def seed_demo() -> Tenant:
    """Make the demo tenant and its desk, unless they are there, and return it. Changes nothing that is there."""
    Tenant.objects.get_or_create(slug=SLUG, defaults={"name": NAME, "timezone": TIMEZONE})
    tenant = Tenant.objects.select_for_update().get(slug=SLUG)
    if not Article.objects.filter(tenant=tenant).exists():
        seed_desk(tenant)
    return tenant


def seed_desk(tenant: Tenant) -> None:
    """Make the shop and its tickets in a tenant that has none, in the caller's transaction."""
    now = utcnow()
    customers = _seed_customers(tenant)
    _seed_orders(tenant, customers, _seed_products(tenant), now)
    Article.objects.bulk_create(Article(tenant=tenant, **record) for record in _read("articles"))
    _seed_tickets(tenant, now)


def _read(name: str) -> list[Record]:
    found: list[Record] = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _seed_customers(tenant: Tenant) -> dict[str, Customer]:
    records = _read("customers")
    rows = Customer.objects.bulk_create(
        Customer(
            tenant=tenant, **{name: record[name] for name in ("ref", "first_name", "last_name", "email", *_ADDRESS)}
        )
        for record in records
    )
    customers = {customer.ref: customer for customer in rows}
    PaymentMethod.objects.bulk_create(
        PaymentMethod(
            tenant=tenant,
            customer=customers[record["ref"]],
            currency=CURRENCY if "balance_minor" in method else "",
            **method,
        )
        for record in records
        for method in record["methods"]
    )
    return customers


def _seed_products(tenant: Tenant) -> dict[str, Variant]:
    records = _read("products")
    products = Product.objects.bulk_create(
        Product(tenant=tenant, ref=record["ref"], name=record["name"]) for record in records
    )
    variants = Variant.objects.bulk_create(
        Variant(tenant=tenant, product=product, currency=CURRENCY, **row)
        for product, record in zip(products, records, strict=True)
        for row in record["variants"]
    )
    return {variant.ref: variant for variant in variants}


def _seed_orders(
    tenant: Tenant, customers: Mapping[str, Customer], variants: Mapping[str, Variant], now: datetime
) -> None:
    records = _read("orders")
    orders = Order.objects.bulk_create(
        _order(tenant, record, customers[record["customer"]], variants, now) for record in records
    )
    pairs = list(zip(orders, records, strict=True))
    OrderLine.objects.bulk_create(
        _line(order, number, variants[ref])
        for order, record in pairs
        for number, ref in enumerate(record["items"], start=1)
    )
    Fulfilment.objects.bulk_create(
        Fulfilment(tenant=tenant, order=order, tracking_ids=record["tracking"], variant_refs=record["items"])
        for order, record in pairs
        if "tracking" in record
    )
    Payment.objects.bulk_create(
        Payment(tenant=tenant, order=order, number=number, payment_method_ref=record["method"], **entry)
        for order, record in pairs
        for number, entry in enumerate(_entries(record, variants), start=1)
    )


def _order(tenant: Tenant, record: Record, customer: Customer, variants: Mapping[str, Variant], now: datetime) -> Order:
    return Order(
        tenant=tenant,
        ref=record["ref"],
        customer=customer,
        status=record["status"],
        currency=CURRENCY,
        placed_at=now - timedelta(days=record["placed_days_ago"], hours=5),
        **{name: getattr(customer, name) for name in _ADDRESS},
        **_requests(record, variants),
    )


def _line(order: Order, number: int, variant: Variant) -> OrderLine:
    return OrderLine(
        tenant=order.tenant,
        order=order,
        number=number,
        variant_ref=variant.ref,
        product_ref=variant.product.ref,
        name=variant.product.name,
        price_minor=variant.price_minor,
        options=variant.options,
    )


def _requests(record: Record, variants: Mapping[str, Variant]) -> dict[str, Any]:
    """Return the columns that tell of a cancellation, a return or an exchange."""
    columns: dict[str, Any] = {"cancel_reason": record.get("cancel_reason", "")}
    if "return_items" in record:
        columns |= {"return_items": record["return_items"], "return_payment_method_ref": record["method"]}
    if "exchange_items" in record:
        old, new = record["exchange_items"], record["exchange_new_items"]
        columns |= {
            "exchange_items": old,
            "exchange_new_items": new,
            "exchange_payment_method_ref": record["method"],
            "exchange_difference_minor": sum(variants[ref].price_minor for ref in new)
            - sum(variants[ref].price_minor for ref in old),
        }
    return columns


def _entries(record: Record, variants: Mapping[str, Variant]) -> list[dict[str, Any]]:
    paid = sum(variants[ref].price_minor for ref in record["items"])
    entries = [{"kind": PaymentKind.PAYMENT, "amount_minor": paid}, *record.get("extra_payments", ())]
    if record["status"] == OrderStatus.CANCELLED:
        entries.append({"kind": PaymentKind.REFUND, "amount_minor": paid})
    return entries


def _seed_tickets(tenant: Tenant, now: datetime) -> None:
    records = _read("tickets")
    known = customer_ids(tenant.id, (record["sender"] for record in records))
    Ticket.objects.bulk_create(
        Ticket(
            tenant=tenant,
            ref=record["ref"],
            customer_id=known.get(record["sender"]),
            sender=record["sender"],
            subject=record["subject"],
            body=record["body"],
            received_at=now - timedelta(minutes=record["minutes_ago"]),
            source_key=f"seed:{record['ref']}",
        )
        for record in records
    )
