"""What the handlers share: whom an object is about, and a case with what to say of it."""

from uuid import UUID

from agentops.kernel.money import Money
from agentops.registry.incoming import is_email
from agentops.registry.tool import ToolFailure
from agentops.registry.webhook import BadEvent, Received, WebhookEvent
from billing_agent.connectors.opening import Opened, Opening, open_case
from billing_agent.connectors.stripe.amounts import from_stripe
from billing_agent.connectors.stripe.objects import Obj
from billing_agent.hooks.reading import text_of, whole_of
from billing_agent.models import Case, Customer


def thing_of(event: WebhookEvent) -> Obj:
    """Return the object that the event is about."""
    thing: Obj = event.data["object"]
    return thing


def customer_of(tenant_id: UUID, ref: object) -> Customer | None:
    """Return the customer whom Stripe knows by ``ref``, None for one without a row here."""
    return Customer.objects.filter(tenant_id=tenant_id, ref=ref).first() if isinstance(ref, str) else None


def address_of(value: object) -> str:
    """Return an address of Stripe's, empty when it is none."""
    return value if isinstance(value, str) and is_email(value) else ""


def money_of(obj: Obj, name: str) -> Money:
    """Return an amount of the object. Raises BadEvent."""
    try:
        return from_stripe(whole_of(obj, name), text_of(obj, "currency"))
    except ToolFailure as failure:
        raise BadEvent(failure.message) from failure


def case_of(
    tenant_id: UUID,
    event: WebhookEvent,
    key: str,
    *,
    customer: Customer | None,
    sender: str = "",
    subject: str,
    lines: list[str],
) -> Opened:
    """Open the case of ``key``, once."""
    told = [*lines, f"Told by Stripe: {event.type}, {event.id}."]
    opening = Opening(Case.Source.WEBHOOK, f"stripe:{key}", customer, sender, subject, told, event.at)
    return open_case(tenant_id, opening)


def received(opened: Opened, words: str) -> Received:
    """Return what to say of a case: a new one waits for a session, another one's session goes on."""
    ref = opened.case.ref
    if opened.is_new:
        return Received(opened=(ref,), words=f"{words} Case {ref} was opened.")
    return Received(wakes=(ref,), words=f"{words} It belongs to case {ref}.")
