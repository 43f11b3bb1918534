"""Disputes: kept with their entries where the charge is one of ours, and a case for people in any event."""

from uuid import UUID

from agentops.registry.tool import ToolFailure
from agentops.registry.webhook import Received, WebhookEvent
from billing_agent.connectors import owner_of
from billing_agent.connectors.dispute_rules import Told
from billing_agent.connectors.disputing import close_dispute, open_dispute
from billing_agent.connectors.records import OPEN_DISPUTES, DisputeStatus
from billing_agent.connectors.stripe.objects import Obj, known_moment, moment, ref_of
from billing_agent.hooks.parts import case_of, customer_of, money_of, received, thing_of
from billing_agent.hooks.reading import part_of, text_of, whole_of
from billing_agent.models import Case, Charge

_MOVES_MONEY = {status.value: status for status in DisputeStatus}
"""Stripe's statuses of a dispute for which the bank took money. An early inquiry (``warning_…``) takes none."""


def told(tenant_id: UUID, event: WebhookEvent) -> Received:
    """Keep how a dispute stands, open its case once, and go on with it when something is new."""
    dispute = thing_of(event)
    ref, status = text_of(dispute, "id"), text_of(dispute, "status")
    charge_ref = ref_of(dispute.get("charge"))
    customer = customer_of(tenant_id, owner_of(tenant_id, "charge", charge_ref))
    in_books = Charge.objects.filter(tenant_id=tenant_id, ref=charge_ref).exists()
    words = f"Dispute {ref} is {status.replace('_', ' ')}."
    lines = [*_facts(dispute), _kept(tenant_id, event, dispute, status) if in_books else _NOT_OURS]
    is_closed = event.type == "charge.dispute.closed"
    opened = case_of(
        tenant_id, event, f"dispute:{ref}", customer=customer, subject=f"Dispute {ref}: {status}", lines=lines
    )
    if is_closed and not opened.is_new and opened.case.status != Case.Status.OPEN:
        # Whoever was done with it has to learn how it ended.
        opened = case_of(
            tenant_id,
            event,
            f"dispute:{ref}:closed",
            customer=customer,
            subject=f"Dispute {ref} ended: {status}",
            lines=[*lines, f"It was case {opened.case.ref}."],
        )
    return received(opened, words)


_NOT_OURS = "The charge is not in the books that are kept here."


def _facts(dispute: Obj) -> list[str]:
    due = moment(part_of(dispute, "evidence_details").get("due_by"))
    reason = text_of(dispute, "reason").replace("_", " ")
    return [
        f"{money_of(dispute, 'amount')} of charge {ref_of(dispute.get('charge'))} are disputed: {reason}.",
        f"The dispute is {text_of(dispute, 'status').replace('_', ' ')}.",
        *([f"Evidence is due by {due:%Y-%m-%d %H:%M} UTC."] if due else []),
    ]


def _kept(tenant_id: UUID, event: WebhookEvent, dispute: Obj, status: str) -> str:
    """Keep the dispute with its entries, and return what came of it as a sentence."""
    kept_status = _MOVES_MONEY.get(status)
    if kept_status is None:
        return "No money was taken for it so far: the books are as they were."
    message = Told(
        ref=text_of(dispute, "id"),
        charge_ref=ref_of(dispute.get("charge")),
        amount=money_of(dispute, "amount"),
        reason=text_of(dispute, "reason"),
        status=kept_status,
        opened_at=known_moment(whole_of(dispute, "created")),
        told_at=event.at,
        respond_by=moment(part_of(dispute, "evidence_details").get("due_by")),
    )
    keep = open_dispute if kept_status in OPEN_DISPUTES else close_dispute
    try:
        kept = keep(tenant_id, message, event.at)
    except ToolFailure as failure:
        return f"The books do not agree with it, so a person has to look: {failure.message}"
    return "The books have it." if kept.changed else "The books had it already."
