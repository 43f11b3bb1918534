"""The desk that the tools work on, and who owns a record of it."""

from uuid import UUID

from django.db.models import QuerySet

from support_agent import models
from support_agent.connectors.embedded import EmbeddedDesk
from support_agent.connectors.port import Desk
from support_agent.connectors.reading import payout_record, payout_row

_DESK = EmbeddedDesk()


def desk() -> Desk:
    """Return the system of record."""
    return _DESK


def owner_of(tenant_id: UUID, kind: str, record_id: str) -> str | None:
    """Return the customer whom a record belongs to, None when there is no such record in the tenant.

    ``kind`` is ``order``, ``payment_method``, ``ticket`` or ``payout``. Raises ValueError for any other.
    """
    rows: QuerySet[models.Order] | QuerySet[models.PaymentMethod] | QuerySet[models.Ticket]
    match kind:
        case "order":
            rows = models.Order.objects.filter(tenant_id=tenant_id, ref=record_id)
        case "payment_method":
            rows = models.PaymentMethod.objects.filter(tenant_id=tenant_id, ref=record_id)
        case "ticket":
            rows = models.Ticket.objects.filter(tenant_id=tenant_id, ref=record_id)
        case "payout":
            payout = payout_row(tenant_id, record_id)
            method = payout_record(payout).method_ref if payout is not None else ""
            rows = models.PaymentMethod.objects.filter(tenant_id=tenant_id, ref=method)
        case _:
            raise ValueError(f"the desk has no records of kind {kind!r}")
    return rows.values_list("customer__ref", flat=True).first()
