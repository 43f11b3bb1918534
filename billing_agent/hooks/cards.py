"""A customer has a new card: what waits for one goes on."""

from uuid import UUID

from django.db.models import Q

from agentops.registry.webhook import Received, WebhookEvent
from billing_agent.hooks.parts import case_of, customer_of, thing_of
from billing_agent.hooks.reading import part_of, text_of
from billing_agent.models import Case, Customer, Invoice

_DUNNING = Q(source_key__startswith="stripe:invoice:") | Q(source_key__startswith="due:dunning:")


def attached(tenant_id: UUID, event: WebhookEvent) -> Received:
    """A payment method was added."""
    method = thing_of(event)
    customer = customer_of(tenant_id, method.get("customer"))
    if customer is None:
        return Received(ignored=True, words="The card is nobody's who is a customer here.")
    card = part_of(method, "card")
    told = f"{card.get('brand', 'a payment method')} ending in {card.get('last4', 'an unknown number')}"
    return new_card(tenant_id, event, customer, text_of(method, "id"), told[:80])


def new_card(tenant_id: UUID, event: WebhookEvent, customer: Customer, key: str, told: str) -> Received:
    """Go on with the customer's cases of dunning; open one when all of them are done with and something is unpaid."""
    dunning = Case.objects.filter(_DUNNING, tenant_id=tenant_id, customer=customer)
    at_work = tuple(dunning.filter(status=Case.Status.OPEN).order_by("id").values_list("ref", flat=True))
    if at_work:
        return Received(wakes=at_work, words=f"{customer.name} has a new card.")
    answered = list(dunning.filter(status=Case.Status.ANSWERED).order_by("id").values_list("ref", flat=True)[:10])
    unpaid = Invoice.objects.filter(customer=customer, status=Invoice.Status.OPEN, attempts__gt=0)
    numbers = list(unpaid.order_by("id").values_list("number", flat=True)[:10])
    if not answered and not numbers:
        return Received(ignored=True, words=f"Nothing of {customer.name} waits for a card.")
    lines = [
        f"{customer.name} has a new card: {told}.",
        *([f"They were written to in {', '.join(answered)}."] if answered else []),
        *([f"Tried in vain and open: {', '.join(map(str, numbers))}."] if numbers else []),
    ]
    opened = case_of(
        tenant_id, event, f"card:{key}", customer=customer, subject=f"New card of {customer.name}", lines=lines
    )
    refs = (opened.case.ref,)
    return Received(
        opened=refs if opened.is_new else (),
        wakes=() if opened.is_new else refs,
        words=f"{customer.name} has a new card: case {opened.case.ref}.",
    )
