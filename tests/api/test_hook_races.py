"""The same event at the same time, and two events about one thing: each counts once."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection

from agentops.api.models import WebhookDelivery
from agentops.kernel.clock import utcnow
from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Tenant
from billing_agent.models import Case, Customer
from tests.factories.hooks import SECRET, Sender, event, make_endpoint, put_secrets
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 8


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Sender:
    cache.clear()
    tenant: Tenant = make_tenant()
    put_secrets(monkeypatch, tenant, stripe_webhook=SECRET)
    return Sender(make_endpoint(tenant))


def at_once(sender: Sender, told: list[dict[str, Any]]) -> list[int]:
    barrier = Barrier(len(told))

    def send(one: dict[str, Any]) -> int:
        try:
            barrier.wait(20)
            return int(sender.post(json.dumps(one).encode()).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(told)) as pool:
        return list(pool.map(send, told))


def test_one_event_that_comes_many_times_at_once_counts_once(sender: Sender) -> None:
    thing = {"id": "in_1", "object": "invoice", "amount_remaining": 2200, "currency": "usd"}
    told = event("invoice.payment_failed", thing)
    assert at_once(sender, [told] * MANY) == [200] * MANY
    assert Case.objects.count() == 1
    assert WebhookDelivery.objects.get().attempts == 1
    assert LedgerEvent.objects.filter(type="webhook.received").count() == 1


def test_of_events_about_one_thing_at_once_the_newest_stands(sender: Sender) -> None:
    thing = {"id": "cus_1", "object": "customer", "currency": "usd", "created": 1}
    sender.tell("customer.created", {**thing, "name": "First"}, at=utcnow() - timedelta(hours=1))
    now = utcnow()
    told = [
        event("customer.updated", {**thing, "name": f"{n:02}"}, at=now - timedelta(seconds=MANY - n))
        for n in range(MANY)
    ]
    assert at_once(sender, told) == [200] * MANY
    assert Customer.objects.get().name == f"{MANY - 1:02}"
    assert WebhookDelivery.objects.count() == MANY + 1
