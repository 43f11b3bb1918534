"""Reads and writes a shop as JSON: users, orders and products in the form of the tau-bench retail files.

Amounts are decimal numbers in that form and whole minor units in the tables; ``in_minor`` makes two
records comparable. The files name no currency.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from agentops.kernel.errors import AgentOpsError
from agentops.kernel.money import BadMoney, Money
from agentops.tenancy.models import Tenant
from support_agent import models

Json = Mapping[str, Any]
_AMOUNTS = frozenset({"amount", "price", "balance", "exchange_price_difference"})
_TOLERANCE = Decimal("0.000001")


class BadShop(AgentOpsError):
    """A file that does not describe a shop."""

    code = "BAD_SHOP"
    next_step = "Give users, orders and products in the form of the tau-bench retail files."


def load_shop(tenant: Tenant, *, users: Json, orders: Json, products: Json, currency: str = "USD") -> None:
    """Add customers, orders and products, each a JSON object by id, to the tenant; all of it or nothing.

    Raises BadShop for a missing field, an amount finer than a minor unit, an id that leads nowhere or one that
    the tenant has already.
    """
    try:
        with transaction.atomic():
            _load_products(tenant, products.values(), currency)
            _load_customers(tenant, users, currency)
            _load_orders(tenant, users, orders, currency)
    except (KeyError, TypeError, AttributeError) as error:
        raise BadShop(f"a record is incomplete: {error!r}") from error
    except IntegrityError as error:
        raise BadShop("the tenant has a record of the same id already") from error


def _load_products(tenant: Tenant, products: Iterable[Json], currency: str) -> None:
    for item in products:
        product = models.Product.objects.create(tenant=tenant, ref=item["product_id"], name=item["name"])
        models.Variant.objects.bulk_create(
            models.Variant(
                tenant=tenant,
                product=product,
                ref=variant["item_id"],
                options=variant["options"],
                price_minor=_minor(variant["price"], currency),
                currency=currency,
                available=variant["available"],
            )
            for variant in item["variants"].values()
        )


def _load_customers(tenant: Tenant, users: Json, currency: str) -> None:
    rows = {
        ref: models.Customer(tenant=tenant, ref=ref, email=user["email"], **user["name"], **user["address"])
        for ref, user in users.items()
    }
    models.Customer.objects.bulk_create(rows.values())
    models.PaymentMethod.objects.bulk_create(
        models.PaymentMethod(
            tenant=tenant,
            customer=rows[ref],
            ref=method["id"],
            kind=method["source"],
            brand=method.get("brand", ""),
            last_four=method.get("last_four", ""),
            balance_minor=_minor(method["balance"], currency) if "balance" in method else None,
            currency=currency if "balance" in method else "",
        )
        for ref, user in users.items()
        for method in user["payment_methods"].values()
    )


def _load_orders(tenant: Tenant, users: Json, orders: Json, currency: str) -> None:
    customers = {row.ref: row for row in models.Customer.objects.filter(tenant=tenant, ref__in=list(users))}
    listed = [ref for user in users.values() for ref in user["orders"]]
    sequence = list(dict.fromkeys([*listed, *orders]))
    for ref in sequence:
        if ref not in orders or orders[ref]["user_id"] not in customers:
            raise BadShop(f"order {ref!r} has no record or no customer")
    rows = {ref: _order(tenant, customers[orders[ref]["user_id"]], orders[ref], currency) for ref in sequence}
    # The order of creation is the order in which a customer's orders are listed.
    models.Order.objects.bulk_create(rows.values())
    models.OrderLine.objects.bulk_create(
        line for ref, row in rows.items() for line in _lines(row, orders[ref]["items"], currency)
    )
    models.Fulfilment.objects.bulk_create(
        models.Fulfilment(tenant=tenant, order=row, tracking_ids=parcel["tracking_id"], variant_refs=parcel["item_ids"])
        for ref, row in rows.items()
        for parcel in orders[ref]["fulfillments"]
    )
    models.Payment.objects.bulk_create(
        payment for ref, row in rows.items() for payment in _payments(row, orders[ref]["payment_history"], currency)
    )


def _order(tenant: Tenant, customer: models.Customer, record: Json, currency: str) -> models.Order:
    difference = record.get("exchange_price_difference")
    return models.Order(
        tenant=tenant,
        customer=customer,
        ref=record["order_id"],
        status=record["status"],
        currency=currency,
        cancel_reason=record.get("cancel_reason", ""),
        return_items=record.get("return_items"),
        return_payment_method_ref=record.get("return_payment_method_id", ""),
        exchange_items=record.get("exchange_items"),
        exchange_new_items=record.get("exchange_new_items"),
        exchange_payment_method_ref=record.get("exchange_payment_method_id", ""),
        exchange_difference_minor=None if difference is None else _minor(difference, currency),
        **record["address"],
    )


def _lines(row: models.Order, items: Iterable[Json], currency: str) -> Iterable[models.OrderLine]:
    for number, item in enumerate(items, start=1):
        yield models.OrderLine(
            tenant_id=row.tenant_id,
            order=row,
            number=number,
            variant_ref=item["item_id"],
            product_ref=item["product_id"],
            name=item["name"],
            price_minor=_minor(item["price"], currency),
            options=item["options"],
        )


def _payments(row: models.Order, history: Iterable[Json], currency: str) -> Iterable[models.Payment]:
    for number, entry in enumerate(history, start=1):
        yield models.Payment(
            tenant_id=row.tenant_id,
            order=row,
            number=number,
            kind=entry["transaction_type"],
            amount_minor=_minor(entry["amount"], currency),
            payment_method_ref=entry["payment_method_id"],
        )


def _minor(amount: object, currency: str) -> int:
    """Read a JSON number as minor units; the files carry binary noise far below one."""
    try:
        exact = Decimal(str(amount))
        rounded = exact.quantize(Money(1, currency).decimal)
        if abs(exact - rounded) > _TOLERANCE:
            raise BadShop(f"{amount!r} is finer than the smallest unit of {currency}")
        return Money.parse(str(rounded), currency).minor
    except (InvalidOperation, BadMoney) as error:
        raise BadShop(f"{amount!r} is not an amount of {currency}") from error


def in_minor(record: Any, currency: str = "USD") -> Any:
    """Return a user's or order's JSON with every amount as whole minor units, so that equal means equal."""
    if isinstance(record, Mapping):
        return {
            key: _minor(value, currency) if key in _AMOUNTS else in_minor(value, currency)
            for key, value in record.items()
        }
    if isinstance(record, list):
        return [in_minor(value, currency) for value in record]
    return record


def dump_customer(tenant: Tenant, ref: str) -> dict[str, Any]:
    """Return a customer in the form of ``users.json``. Raises Customer.DoesNotExist."""
    return _customer_json(_customers(tenant).get(ref=ref))


def dump_customers(tenant: Tenant) -> dict[str, dict[str, Any]]:
    """Return every customer of the tenant, by id."""
    return {row.ref: _customer_json(row) for row in _customers(tenant)}


def _customers(tenant: Tenant) -> QuerySet[models.Customer]:
    return models.Customer.objects.filter(tenant=tenant).prefetch_related("methods", "orders")


def _customer_json(row: models.Customer) -> dict[str, Any]:
    return {
        "name": {"first_name": row.first_name, "last_name": row.last_name},
        "address": _address(row),
        "email": row.email,
        "payment_methods": {method.ref: _method(method) for method in row.methods.all()},
        "orders": [order.ref for order in row.orders.all()],
    }


def _method(row: models.PaymentMethod) -> dict[str, Any]:
    shown: dict[str, Any] = {"source": row.kind, "id": row.ref}
    if row.brand or row.last_four:
        shown |= {"brand": row.brand, "last_four": row.last_four}
    if row.balance_minor is not None:
        shown["balance"] = _number(row.balance_minor, row.currency)
    return shown


def dump_order(tenant: Tenant, ref: str) -> dict[str, Any]:
    """Return an order in the form of ``orders.json``. Raises Order.DoesNotExist."""
    return _order_json(_orders(tenant).get(ref=ref))


def dump_orders(tenant: Tenant) -> dict[str, dict[str, Any]]:
    """Return every order of the tenant, by id."""
    return {row.ref: _order_json(row) for row in _orders(tenant)}


def _orders(tenant: Tenant) -> QuerySet[models.Order]:
    rows = models.Order.objects.filter(tenant=tenant).select_related("customer")
    return rows.prefetch_related("lines", "fulfilments", "payments")


def _order_json(row: models.Order) -> dict[str, Any]:
    return {
        "order_id": row.ref,
        "user_id": row.customer.ref,
        "address": _address(row),
        "items": [
            {
                "name": line.name,
                "product_id": line.product_ref,
                "item_id": line.variant_ref,
                "price": _number(line.price_minor, row.currency),
                "options": line.options,
            }
            for line in row.lines.all()
        ],
        "fulfillments": [
            {"tracking_id": parcel.tracking_ids, "item_ids": parcel.variant_refs} for parcel in row.fulfilments.all()
        ],
        "status": row.status,
        "payment_history": [
            {
                "transaction_type": entry.kind,
                "amount": _number(entry.amount_minor, row.currency),
                "payment_method_id": entry.payment_method_ref,
            }
            for entry in row.payments.all()
        ],
        **_requests(row),
    }


def _requests(row: models.Order) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if row.cancel_reason:
        shown["cancel_reason"] = row.cancel_reason
    if row.return_items is not None:
        shown |= {"return_items": row.return_items, "return_payment_method_id": row.return_payment_method_ref}
    if row.exchange_items is not None and row.exchange_difference_minor is not None:
        shown |= {
            "exchange_items": row.exchange_items,
            "exchange_new_items": row.exchange_new_items,
            "exchange_payment_method_id": row.exchange_payment_method_ref,
            "exchange_price_difference": _number(row.exchange_difference_minor, row.currency),
        }
    return shown


def _address(row: models.Addressed) -> dict[str, str]:
    return {field: getattr(row, field) for field in ("address1", "address2", "city", "state", "country", "zip")}


def _number(minor: int, currency: str) -> float:
    """Return an amount as that form writes it. Nothing is computed from it again."""
    return float(Money(minor, currency).decimal)
