"""Invoices that were not paid: a case for dunning, once for each invoice and cause."""

from uuid import UUID

from agentops.registry.webhook import Received, WebhookEvent
from billing_agent.connectors.stripe.objects import moment
from billing_agent.hooks.parts import address_of, case_of, customer_of, money_of, received, thing_of
from billing_agent.hooks.reading import text_of
from billing_agent.models import Case


def failed(tenant_id: UUID, event: WebhookEvent) -> Received:
    """An attempt to charge an invoice failed."""
    return _dunning(tenant_id, event, "payment_failed", "could not be charged")


def uncollectible(tenant_id: UUID, event: WebhookEvent) -> Received:
    """An invoice is not expected to be paid any more."""
    return _dunning(tenant_id, event, "uncollectible", "was marked uncollectible")


def settled(tenant_id: UUID, event: WebhookEvent) -> Received:
    """An invoice is owed no more: sessions on its cases go on and find that out."""
    ref = text_of(thing_of(event), "id")
    cases = Case.objects.filter(
        tenant_id=tenant_id, source_key__startswith=f"stripe:invoice:{ref}:", status=Case.Status.OPEN
    )
    refs = tuple(cases.order_by("id").values_list("ref", flat=True))
    return Received(wakes=refs, words=f"Invoice {ref} is owed no more.", ignored=not refs)


def _dunning(tenant_id: UUID, event: WebhookEvent, cause: str, what: str) -> Received:
    invoice = thing_of(event)
    ref, owner = text_of(invoice, "id"), invoice.get("customer")
    number, attempts = invoice.get("number"), invoice.get("attempt_count")
    called = number if isinstance(number, str) and number else ref
    upcoming = invoice.get("next_payment_attempt")
    again = moment(upcoming) if type(upcoming) is int else None
    lines = [
        f"Invoice {called} ({ref}) {what}: {money_of(invoice, 'amount_remaining')} are left to pay.",
        f"Customer at Stripe: {owner if isinstance(owner, str) else 'none'}.",
        *([f"Attempts so far: {attempts}."] if type(attempts) is int else []),
        f"The next attempt is on {again:%Y-%m-%d}." if again else "No further attempt is planned.",
    ]
    opened = case_of(
        tenant_id,
        event,
        f"invoice:{ref}:{cause}",
        customer=customer_of(tenant_id, owner),
        sender=address_of(invoice.get("customer_email")),
        subject=f"Invoice {called} {what}",
        lines=lines,
    )
    return received(opened, f"Invoice {called} {what}.")
