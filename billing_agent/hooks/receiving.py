"""What follows from an event of Stripe. Whatever is of no use here is taken and said to be ignored."""

from collections.abc import Callable, Mapping
from uuid import UUID

from agentops.registry.webhook import Received, WebhookEvent
from billing_agent.hooks import cards, customers, disputes, invoices

Handler = Callable[[UUID, WebhookEvent], Received]

HANDLERS: Mapping[str, Handler] = {
    "charge.dispute.created": disputes.told,
    "charge.dispute.updated": disputes.told,
    "charge.dispute.closed": disputes.told,
    "invoice.payment_failed": invoices.failed,
    "invoice.marked_uncollectible": invoices.uncollectible,
    "invoice.paid": invoices.settled,
    "invoice.voided": invoices.settled,
    "customer.created": customers.changed,
    "customer.updated": customers.changed,
    "customer.deleted": customers.deleted,
    "payment_method.attached": cards.attached,
}


def receive(tenant_id: UUID, event: WebhookEvent) -> Received:
    """Record what follows from an event, in the caller's transaction. Raises BadEvent for an object without a field."""
    handler = HANDLERS.get(event.type)
    if handler is None:
        return Received(ignored=True, words="Events of this type are of no use here.")
    return handler(tenant_id, event)
