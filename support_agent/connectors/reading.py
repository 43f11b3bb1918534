"""Reads the desk's tables into records, always within one tenant and one customer."""

from collections.abc import Iterable
from typing import TypeVar
from uuid import UUID

from django.db.models import QuerySet

from agentops.kernel.money import Money
from support_agent import models
from support_agent.connectors.records import (
    Address,
    Customer,
    Entry,
    Line,
    Method,
    Order,
    Parcel,
    Payout,
    Product,
    StatusChange,
    Ticket,
    Variant,
    Written,
)

Row = TypeVar("Row", bound=models.Owned)


def address_of(row: models.Addressed) -> Address:
    """Return the address columns of a row."""
    return Address(row.address1, row.address2, row.city, row.state, row.country, row.zip)


def customer_row(tenant_id: UUID, ref: str | None, *, lock: bool = False) -> models.Customer | None:
    """Return the customer of that ref, locked for this transaction when asked, or None."""
    if ref is None:
        return None
    return _locked(models.Customer.objects.filter(tenant_id=tenant_id, ref=ref), lock).first()


def customer_record(row: models.Customer, *, lock: bool = False) -> Customer:
    """Return the customer with methods (locked in the order of their ref when asked) and order ids."""
    methods = list(_locked(row.methods.order_by("ref"), lock))
    return Customer(
        ref=row.ref,
        first_name=row.first_name,
        last_name=row.last_name,
        email=row.email,
        address=address_of(row),
        methods=tuple(_method(method) for method in sorted(methods, key=lambda method: method.pk)),
        order_refs=tuple(row.orders.order_by("id").values_list("ref", flat=True)),
        version=row.version,
    )


def _method(row: models.PaymentMethod) -> Method:
    balance = None if row.balance_minor is None else Money(row.balance_minor, row.currency)
    return Method(row.ref, row.kind, row.brand, row.last_four, balance, row.version)


def order_row(customer: models.Customer, ref: str, *, lock: bool = False) -> models.Order | None:
    """Return an order of that customer, locked when asked, or None."""
    return _locked(customer.orders.filter(ref=ref), lock).first()


def order_record(row: models.Order, customer_ref: str) -> Order:
    """Return the order with its lines, payment history and parcels."""
    return Order(
        ref=row.ref,
        customer_ref=customer_ref,
        status=row.status,
        currency=row.currency,
        address=address_of(row),
        lines=tuple(_line(line) for line in row.lines.all()),
        entries=tuple(_entry(entry) for entry in row.payments.all()),
        parcels=tuple(Parcel(tuple(one.tracking_ids), tuple(one.variant_refs)) for one in row.fulfilments.all()),
        cancel_reason=row.cancel_reason,
        return_items=_refs(row.return_items),
        return_method_ref=row.return_payment_method_ref,
        exchange_items=_refs(row.exchange_items),
        exchange_new_items=_refs(row.exchange_new_items),
        exchange_method_ref=row.exchange_payment_method_ref,
        exchange_difference_minor=row.exchange_difference_minor,
        version=row.version,
    )


def _line(row: models.OrderLine) -> Line:
    return Line(row.number, row.variant_ref, row.product_ref, row.name, row.price_minor, row.options)


def _entry(row: models.Payment) -> Entry:
    return Entry(row.kind, row.amount_minor, row.payment_method_ref, row.reverses_id is not None)


def _refs(items: list[str] | None) -> tuple[str, ...] | None:
    return None if items is None else tuple(items)


def variants(tenant_id: UUID, refs: Iterable[str]) -> dict[str, Variant]:
    """Return the variants of those ids, by id, as far as they exist."""
    rows = models.Variant.objects.filter(tenant_id=tenant_id, ref__in=list(refs)).select_related("product")
    return {row.ref: _variant(row, row.product) for row in rows}


def _variant(row: models.Variant, product: models.Product) -> Variant:
    price = Money(row.price_minor, row.currency)
    return Variant(row.ref, product.ref, product.name, row.options, price, row.available)


def product_record(tenant_id: UUID, ref: str) -> Product | None:
    """Return the product with all its variants, or None."""
    row = models.Product.objects.filter(tenant_id=tenant_id, ref=ref).first()
    if row is None:
        return None
    return Product(row.ref, row.name, tuple(_variant(variant, row) for variant in row.variants.all()))


def product_records(tenant_id: UUID, query: str) -> list[Product]:
    """Return the products whose name holds ``query``, by name, without variants."""
    rows = models.Product.objects.filter(tenant_id=tenant_id, name__icontains=query)
    return [Product(row.ref, row.name) for row in rows]


def ticket_row(tenant_id: UUID, ref: str, *, lock: bool = False) -> models.Ticket | None:
    """Return the ticket, locked when asked, or None."""
    return _locked(models.Ticket.objects.filter(tenant_id=tenant_id, ref=ref), lock).first()


def ticket_record(row: models.Ticket) -> Ticket:
    """Return the ticket as a record."""
    return Ticket(row.ref, row.sender, row.subject, row.status, row.status_key, row.taken_back)


def written_row(ticket: models.Ticket, key: str) -> models.TicketMessage | None:
    """Return the draft or reply that the operation of that key wrote on the ticket, or None."""
    return ticket.messages.filter(operation_key=key).exclude(kind=models.MessageKind.NOTE).first()


def written_record(row: models.TicketMessage) -> Written:
    """Return the draft or reply as a record."""
    return Written(row.operation_key or "", row.kind, row.body, row.release_at, row.recalled_at)


def status_change(ticket: models.Ticket, key: str) -> StatusChange | None:
    """Return the change of the ticket's status that the operation of that key made, or None."""
    operations = models.DeskOperation.objects.filter(tenant_id=ticket.tenant_id, key=key, ticket_ref=ticket.ref)
    told = operations.values_list("result", flat=True).first()
    if not told or "former_status" not in told:
        return None
    return StatusChange(key, told["former_status"], told["status"])


def payout_row(tenant_id: UUID, key: str, *, lock: bool = False) -> models.DeskOperation | None:
    """Return the operation of that key that gave money, locked when asked, or None."""
    rows = models.DeskOperation.objects.filter(tenant_id=tenant_id, key=key, settles_at__isnull=False)
    return _locked(rows, lock).first()


def payout_record(row: models.DeskOperation) -> Payout:
    """Return the refund or credit that an operation with ``settles_at`` made."""
    told = row.result
    if row.settles_at is None:
        raise ValueError(f"operation {row.pk} gave no money")
    return Payout(
        ref=row.key,
        amount=Money(told["amount_minor"], told["currency"]),
        method_ref=told["payment_method_id"],
        order_ref=told.get("order_id", ""),
        ticket_ref=row.ticket_ref,
        settles_at=row.settles_at,
        stopped_at=row.stopped_at,
    )


def _locked(rows: QuerySet[Row], lock: bool) -> QuerySet[Row]:
    return rows.select_for_update(of=("self",)) if lock else rows
