"""What the fake Stripe sends over HTTP, in any order and more than once, comes to the same work and knowledge."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import stripe
from django.core.cache import cache

from agentops.api.models import WebhookDelivery
from agentops.kernel.clock import utcnow
from agentops.tenancy.models import Tenant
from billing_agent.models import Case, Customer
from tests.factories.fake_stripe import API_VERSION, SECRET_TEST, WEBHOOK_SECRET, FakeStripe, fake_stripe
from tests.factories.hooks import make_endpoint, put_secrets
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Tenant:
    cache.clear()
    tenant = make_tenant()
    put_secrets(monkeypatch, tenant, stripe_webhook=WEBHOOK_SECRET)
    return tenant


@pytest.fixture
def fake() -> Iterator[FakeStripe]:
    """A shop whose customer was charged in vain, got another card, disputes what it paid, and was renamed."""
    with fake_stripe(utcnow()) as fake:
        addresses: Any = {"api": fake.url}
        api = stripe.StripeClient(
            SECRET_TEST, stripe_version=API_VERSION, base_addresses=addresses, max_network_retries=0
        ).v1
        told = {"name": "Dana", "email": "dana@example.com", "metadata": {"currency": "usd"}}
        dana = api.customers.create(told).id  # type: ignore[arg-type]
        poor = fake.card(dana, "insufficient_funds", default=True)
        draft = api.invoices.create({"customer": dana, "auto_advance": False, "currency": "usd"})
        item = {"customer": dana, "invoice": draft.id, "amount": 5000, "currency": "usd"}
        api.invoice_items.create(item)  # type: ignore[arg-type]
        invoice = api.invoices.finalize_invoice(str(draft.id)).id
        with pytest.raises(stripe.CardError):
            api.invoices.pay(str(invoice))
        fake.pass_time(5)
        fake.issuer(poor, "")
        api.invoices.pay(str(invoice))
        fake.pass_time(5)
        [charge] = [each for each in fake.objects("charge") if each["status"] == "succeeded"]
        dispute = fake.dispute(charge["id"])
        fake.pass_time(5)
        fake.settle(dispute["id"], won=False)
        api.customers.update(dana, {"name": "Dana Ruiz"})
        yield fake


@pytest.fixture
def deliver(tenant: Tenant, site: str, fake: FakeStripe) -> Callable[..., int]:
    endpoint = make_endpoint(tenant)
    url = f"{site}/hooks/{endpoint.public_id}/"

    def send(event: Any, **how: Any) -> int:
        status, _ = fake.deliver(url, event, **{"at": int(utcnow().timestamp()), **how})
        return status

    return send


def test_messages_in_their_order_are_all_taken(deliver: Callable[..., int], fake: FakeStripe) -> None:
    events = fake.events()
    assert {event["type"] for event in events} >= {
        "customer.created",
        "customer.updated",
        "invoice.payment_failed",
        "invoice.paid",
        "charge.dispute.created",
        "charge.dispute.closed",
    }
    assert [deliver(event) for event in events] == [200] * len(events)
    assert WebhookDelivery.objects.count() == len(events)
    assert not WebhookDelivery.objects.filter(state="failed").exists()
    assert Customer.objects.values_list("name", "email", "currency").get() == ("Dana Ruiz", "dana@example.com", "USD")
    kinds = [case.source_key.split(":")[1] for case in Case.objects.order_by("id")]
    assert kinds == ["invoice", "dispute"]


@pytest.mark.parametrize("seed", range(3))
def test_another_order_and_repetitions_leave_the_same_knowledge(
    deliver: Callable[..., int], fake: FakeStripe, seed: int
) -> None:
    events = fake.events() * 2
    random.Random(seed).shuffle(events)
    assert {deliver(event) for event in events} == {200}
    assert WebhookDelivery.objects.count() == len(events) // 2
    assert Customer.objects.values_list("name", "email").get() == ("Dana Ruiz", "dana@example.com")
    disputes = Case.objects.filter(source_key__startswith="stripe:dispute:")
    assert disputes.count() == 1
    # A failed payment that is told of after the invoice was paid is no work any more.
    assert Case.objects.filter(source_key__startswith="stripe:invoice:").count() <= 1


def test_what_was_changed_on_the_way_or_signed_by_somebody_else_is_turned_away(
    deliver: Callable[..., int], fake: FakeStripe
) -> None:
    event = fake.events(["customer.created"])[0]
    assert deliver(event, corrupt=True) == 401
    assert deliver(event, secret="whsec_of_somebody_else") == 401
    assert deliver(event, at=int(utcnow().timestamp()) - 400) == 401
    assert not WebhookDelivery.objects.exists()
    assert deliver(event) == 200
