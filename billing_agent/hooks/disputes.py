"""Disputes: kept with their entries where the charge is one of ours, and a case for people in any event."""

from uuid import UUID

from agentops.registry.tool import ToolFailure
from agentops.registry.webhook import Received, WebhookEvent
from billing_agent.connectors import owner_of, uses_stripe
from billing_agent.connectors.dispute_rules import Told
from billing_agent.connectors.disputing import close_dispute, open_dispute
from billing_agent.connectors.records import OPEN_DISPUTES
from billing_agent.connectors.stripe.disputes import MOVES_MONEY, charged_by, keep
from billing_agent.connectors.stripe.objects import Obj, known_moment, moment, ref_of
from billing_agent.hooks.parts import case_of, customer_of, money_of, received, thing_of
from billing_agent.hooks.reading import part_of, text_of, whole_of
from billing_agent.models import Case, Charge


def told(tenant_id: UUID, event: WebhookEvent) -> Received:
    """Keep how a dispute stands, open its case once, and go on with it when something is new."""
    dispute = thing_of(event)
    ref, status = text_of(dispute, "id"), text_of(dispute, "status")
    charge_ref = ref_of(dispute.get("charge"))
    customer = customer_of(tenant_id, owner_of(tenant_id, "charge", charge_ref))
    words = f"Dispute {ref} is {status.replace('_', ' ')}."
    kept = _noted(tenant_id, dispute) if uses_stripe() else _booked(tenant_id, event, dispute)
    lines = [*_facts(dispute), *kept]
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


def _noted(tenant_id: UUID, dispute: Obj) -> list[str]:
    """Note a dispute about what a call charged, as the sync does. Of other charges there is nothing to say.

    Stripe is not asked here, so one about a change of plans waits for the sync.
    """
    key = charged_by(tenant_id, dispute)
    if not key:
        return []
    keep(tenant_id, {**dispute, "reason": text_of(dispute, "reason"), "created": whole_of(dispute, "created")}, key)
    return [f"The charge was made by call {key}."]


def _booked(tenant_id: UUID, event: WebhookEvent, dispute: Obj) -> list[str]:
    """Keep the dispute with its entries where the books have the charge."""
    in_books = Charge.objects.filter(tenant_id=tenant_id, ref=ref_of(dispute.get("charge"))).exists()
    return [_kept(tenant_id, event, dispute) if in_books else "The charge is not in the books that are kept here."]


def _facts(dispute: Obj) -> list[str]:
    due = moment(part_of(dispute, "evidence_details").get("due_by"))
    reason = text_of(dispute, "reason").replace("_", " ")
    return [
        f"{money_of(dispute, 'amount')} of charge {ref_of(dispute.get('charge'))} are disputed: {reason}.",
        f"The dispute is {text_of(dispute, 'status').replace('_', ' ')}.",
        *([f"Evidence is due by {due:%Y-%m-%d %H:%M} UTC."] if due else []),
    ]


def _kept(tenant_id: UUID, event: WebhookEvent, dispute: Obj) -> str:
    """Keep the dispute with its entries, and return what came of it as a sentence."""
    kept_status = MOVES_MONEY.get(text_of(dispute, "status"))
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
