"""A process dies while it takes what a sender tells, or while it does what is due: nothing is lost or done twice."""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from agentops.api import deliveries
from agentops.api.deliveries import take
from agentops.api.models import WebhookDelivery, WebhookEndpoint, WebhookLatest
from agentops.api.receiving import Admitted, source_of
from agentops.kernel.clock import utcnow
from agentops.ledger.models import LedgerEvent
from agentops.runtime.operations import employ_agent
from agentops.runtime.schedule_models import RoleSchedule
from agentops.runtime.schedules import run_schedules
from billing_agent import models
from billing_agent.books import imbalances
from billing_agent.connectors import renewing
from billing_agent.role import ROLE
from tests.factories.billing import make_desk, make_subscription
from tests.factories.hooks import SECRET, Sender, event, make_endpoint, put_secrets

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 60
INVOICE = {
    "id": "in_1",
    "object": "invoice",
    "customer": "dana",
    "amount_remaining": 2200,
    "currency": "usd",
    "created": 1,
}


def die(*args: Any, **named: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def take_and_die(endpoint_id: UUID, body: bytes, *, committed: bool) -> None:
    """Run in a process of its own: take an event and die before the commit, or after it and before the answer."""
    endpoint = WebhookEndpoint.objects.get(pk=endpoint_id)
    source = source_of(endpoint)
    assert source is not None
    if not committed:
        deliveries.append_to = die  # type: ignore[assignment]
    take(Admitted(endpoint, source), source.read(body), body, now=utcnow())
    die()


def sweep_and_die(after: int, *, committed: bool) -> None:
    """Run in a process of its own: do what is due and die in, or after, the transaction of one thing."""
    place = "_carry_out" if committed else "record_result"
    real: Callable[..., Any] = getattr(renewing, place)
    done = 0

    def counted(*args: Any, **named: Any) -> Any:
        nonlocal done
        found = real(*args, **named)
        done += 1
        if done == after:
            die()
        return found

    setattr(renewing, place, counted)
    run_schedules()


def killed(target: Callable[..., None], *args: Any, **named: Any) -> None:
    """Run ``target`` in another process until it kills itself."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.warm"])
    process = context.Process(target=target, args=args, kwargs=named, daemon=True)
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("committed", [False, True])
def test_a_process_that_dies_while_it_takes_an_event_leaves_all_of_it_or_nothing(
    committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk()
    put_secrets(monkeypatch, desk.tenant, stripe_webhook=SECRET)
    sender = Sender(make_endpoint(desk.tenant))
    told = event("invoice.payment_failed", INVOICE)
    body = json.dumps(told).encode()
    killed(take_and_die, sender.endpoint.pk, body, committed=committed)
    count = int(committed)

    def standing() -> list[int]:
        cases = models.Case.objects.filter(source="webhook").count()
        events = LedgerEvent.objects.filter(type="webhook.received").count()
        return [cases, events, WebhookDelivery.objects.count(), WebhookLatest.objects.count()]

    assert standing() == [count] * 4
    assert sender.post(body).status_code == 200
    assert standing() == [1] * 4


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_sweep_that_dies_in_between_is_gone_on_with(after: int, committed: bool) -> None:
    desk = make_desk()
    now = utcnow()
    models.Subscription.objects.filter(tenant=desk.tenant).update(
        period_start=now - timedelta(days=31), period_end=now - timedelta(minutes=5)
    )
    plan = models.Plan.objects.get(tenant=desk.tenant, ref="team")
    make_subscription(desk.dana, plan, "sub-x", period_end=now - timedelta(minutes=4))
    employ_agent(tenant_id=desk.tenant.pk, role=ROLE, name="Billing agent", actor="test")
    killed(sweep_and_die, after, committed=committed)
    assert imbalances(desk.tenant.pk) == []
    row = RoleSchedule.objects.get()
    assert row.leased_until is not None
    run_schedules()
    assert RoleSchedule.objects.get().done == 0
    RoleSchedule.objects.update(leased_until=now - timedelta(seconds=1))
    run_schedules()
    renewed = models.Invoice.objects.filter(tenant=desk.tenant, subscription__isnull=False, issued_at__gte=now)
    assert sorted(renewed.values_list("subscription__ref", "status", "attempts")) == [
        ("sub-1", "paid", 1),
        ("sub-9", "paid", 1),
        ("sub-x", "paid", 1),
    ]
    assert models.Charge.objects.filter(tenant=desk.tenant, at__gte=now).count() == 3
    assert imbalances(desk.tenant.pk) == []
    assert RoleSchedule.objects.get().leased_until is None
