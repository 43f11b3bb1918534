"""The billing system that the tools work on, and who owns a record of it."""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from agentops.registry.role import Disputed
from billing_agent import models
from billing_agent.connectors.effects import EffectLog
from billing_agent.connectors.embedded import EmbeddedBilling
from billing_agent.connectors.embedded_log import EmbeddedLog
from billing_agent.connectors.port import Billing
from billing_agent.connectors.reading import by_id_or_number
from billing_agent.connectors.stripe import disputes, owners

STRIPE = "stripe"
STRIPE_KEY = "stripe_api"
"""The capability whose credential is a tenant's key at Stripe."""
_EMBEDDED = EmbeddedBilling()
_LOG = EmbeddedLog()
_Owned = (
    QuerySet[models.Invoice]
    | QuerySet[models.Charge]
    | QuerySet[models.Subscription]
    | QuerySet[models.Credit]
    | QuerySet[models.PaymentMethod]
    | QuerySet[models.Mail]
    | QuerySet[models.Case]
)


def uses_stripe() -> bool:
    """Return whether Stripe is the system of record, and not the embedded one."""
    return bool(settings.BILLING_SYSTEM == STRIPE)


def billing() -> Billing:
    """Return the system of record that ``BILLING_SYSTEM`` names."""
    if not uses_stripe():
        return _EMBEDDED
    from billing_agent.connectors.stripe.billing import StripeBilling  # noqa: PLC0415 - its SDK is an optional extra

    return StripeBilling()


def effect_log() -> EffectLog:
    """Return the log of the system of record: what took effect there, for reconciliation."""
    if not uses_stripe():
        return _LOG
    from billing_agent.connectors.stripe.log import StripeLog  # noqa: PLC0415 - its SDK is an optional extra

    return StripeLog(STRIPE_KEY)


def owner_of(tenant_id: UUID, kind: str, record_id: str) -> str | None:
    """Return the customer whom a record belongs to, None when there is no such record of somebody in the tenant.

    ``kind`` is ``invoice`` (by id or number), ``charge``, ``subscription``, ``credit``, ``method``, ``mail`` or
    ``case``. Raises ValueError for any other. At Stripe a record is somebody's once it was looked up.
    """
    if uses_stripe() and kind in owners.KINDS:
        return owners.owner_of(tenant_id, kind, record_id)
    return _rows(tenant_id, kind, record_id).values_list("customer__ref", flat=True).first()


def disputed(since: datetime, limit: int) -> list[Disputed]:
    """Return the calls that made a charge about which a dispute was opened since a moment, the latest first."""
    if uses_stripe():
        return disputes.disputed(since, limit)
    rows = models.Dispute.objects.filter(opened_at__gte=since).exclude(charge__operation_key="")
    found = rows.select_related("charge").order_by("-opened_at", "-id")[:limit]
    return [Disputed(row.tenant_id, row.charge.operation_key, row.opened_at, row.reason) for row in found]


def _rows(tenant_id: UUID, kind: str, record_id: str) -> _Owned:
    match kind:
        case "invoice":
            return by_id_or_number(models.Invoice.objects.filter(tenant_id=tenant_id), record_id)
        case "charge":
            return models.Charge.objects.filter(tenant_id=tenant_id, ref=record_id)
        case "subscription":
            return models.Subscription.objects.filter(tenant_id=tenant_id, ref=record_id)
        case "credit":
            return models.Credit.objects.filter(tenant_id=tenant_id, ref=record_id)
        case "method":
            return models.PaymentMethod.objects.filter(tenant_id=tenant_id, ref=record_id)
        case "mail":
            return models.Mail.objects.filter(tenant_id=tenant_id, ref=record_id)
        case "case":
            return models.Case.objects.filter(tenant_id=tenant_id, ref=record_id)
        case _:
            raise ValueError(f"the billing system has no records of kind {kind!r} that somebody owns")
