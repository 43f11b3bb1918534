"""The local row of a customer follows Stripe's, because cases are matched to customers by it."""

from typing import Any
from uuid import UUID

from agentops.kernel.canonical import storable
from agentops.kernel.money import CURRENCIES
from agentops.registry.webhook import Received, WebhookEvent
from billing_agent.connectors.stripe.customers import currency_of
from billing_agent.connectors.stripe.objects import Obj, known_moment
from billing_agent.hooks.cards import new_card
from billing_agent.hooks.parts import address_of, thing_of
from billing_agent.hooks.reading import part_of, text_of, whole_of
from billing_agent.models import REF_LENGTH, Customer

_CARDS = ("default_source", "invoice_settings")


def changed(tenant_id: UUID, event: WebhookEvent) -> Received:
    """A customer was made or changed. The currency is kept as it was when they were made: what was billed is in it."""
    obj = thing_of(event)
    ref = text_of(obj, "id")[:REF_LENGTH]
    row = Customer.objects.select_for_update().filter(tenant_id=tenant_id, ref=ref).first()
    if row is None:
        return _made(tenant_id, obj, ref)
    if row.deleted_at is not None:
        return Received(ignored=True, words=f"{row.name} is deleted.")
    fields = _fields(obj)
    news = {name: value for name, value in fields.items() if getattr(row, name) != value}
    if news:
        for name, value in news.items():
            setattr(row, name, value)
        row.version += 1
        row.save(update_fields=[*news, "version"])
    told = f"Of {row.name}: {', '.join(sorted(news)) or 'nothing that is kept here'} changed."
    if not any(name in part_of(event.data, "previous_attributes") for name in _CARDS):
        return Received(words=told, ignored=not news)
    about_card = new_card(tenant_id, event, row, event.id, "another default payment method")
    return Received(
        about_card.opened, about_card.wakes, f"{told} {about_card.words}", ignored=about_card.ignored and not news
    )


def _made(tenant_id: UUID, obj: Obj, ref: str) -> Received:
    currency = currency_of(obj)
    if currency not in CURRENCIES:
        return Received(ignored=True, words=f"{ref} has no currency yet: nobody was billed.")
    since = known_moment(whole_of(obj, "created"))
    row = Customer.objects.create(tenant_id=tenant_id, ref=ref, currency=currency, created_at=since, **_fields(obj))
    return Received(words=f"{row.name} is a customer.")


def deleted(tenant_id: UUID, event: WebhookEvent) -> Received:
    """A customer was deleted. What was billed stays, and nothing new is begun for them."""
    ref = text_of(thing_of(event), "id")
    row = Customer.objects.select_for_update().filter(tenant_id=tenant_id, ref=ref, deleted_at=None).first()
    if row is None:
        return Received(ignored=True, words=f"{ref} is no customer here, or was deleted before.")
    row.deleted_at, row.version = event.at, row.version + 1
    row.save(update_fields=["deleted_at", "version"])
    return Received(words=f"{row.name} is deleted.")


def _fields(obj: Obj) -> dict[str, Any]:
    email = address_of(obj.get("email"))
    name, country = obj.get("name"), part_of(obj, "address").get("country")
    shown = name if isinstance(name, str) and name.strip() else email or text_of(obj, "id")
    return {
        "name": storable(" ".join(shown.split())[:200], most=200),
        "email": email,
        "country": country if isinstance(country, str) and len(country) == 2 else "",
        "tax_exempt": obj.get("tax_exempt") in ("exempt", "reverse"),
    }
