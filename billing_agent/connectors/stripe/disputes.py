"""Disputes about what our calls charged, as Stripe tells of them: in a list that is synced, or in a message.

Nothing here asks Stripe.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from agentops.registry.role import Disputed
from billing_agent.connectors.records import DisputeStatus
from billing_agent.connectors.stripe.objects import Obj, known_moment, ref_of
from billing_agent.models import Operation, StripeDispute

MOVES_MONEY = {status.value: status for status in DisputeStatus}
"""Stripe's statuses of a dispute for which the bank took money. An early inquiry (``warning_…``) takes none."""
_LONGEST_REASON = 60


def keep(tenant_id: UUID, dispute: Obj, key: str) -> bool:
    """Keep a dispute about what the call of ``key`` charged; True when it is new. An inquiry is none yet.

    Telling of it again changes nothing, and messages may come in any order.
    """
    if dispute["status"] not in MOVES_MONEY:
        return False
    told = {
        "charge_ref": ref_of(dispute["charge"]),
        "operation_key": key,
        "reason": dispute["reason"][:_LONGEST_REASON],
        "opened_at": known_moment(dispute["created"]),
    }
    _, made = StripeDispute.objects.get_or_create(tenant_id=tenant_id, ref=dispute["id"], defaults=told)
    return made


def not_kept(tenant_id: UUID, disputes: Iterable[Obj]) -> list[Obj]:
    """Return those that moved money and are not kept."""
    moved = [each for each in disputes if each["status"] in MOVES_MONEY]
    rows = StripeDispute.objects.filter(tenant_id=tenant_id, ref__in=[each["id"] for each in moved])
    kept = set(rows.values_list("ref", flat=True))
    return [each for each in moved if each["id"] not in kept]


def charged_by(tenant_id: UUID, dispute: Obj) -> str:
    """Return the key of the call that made the charge by trying an invoice, empty for none."""
    charge = ref_of(dispute.get("charge"))
    if not charge:
        return ""
    made = Operation.objects.filter(tenant_id=tenant_id, action="RetryCharge")
    return made.filter(result__charge_id=charge).values_list("key", flat=True).first() or ""


def changed_by(tenant_id: UUID, invoice: str) -> str:
    """Return the key of the call that changed a plan, by the invoice that Stripe made of it, empty for none."""
    made = Operation.objects.filter(tenant_id=tenant_id, action="ChangePlan")
    return made.filter(result__invoice_id=invoice).values_list("key", flat=True).first() or ""


def disputed(since: datetime, limit: int) -> list[Disputed]:
    """Return the calls that made a charge about which a dispute was opened since a moment, the latest first."""
    rows = StripeDispute.objects.filter(opened_at__gte=since).order_by("-opened_at", "-id")[:limit]
    return [Disputed(row.tenant_id, row.operation_key, row.opened_at, row.reason) for row in rows]
