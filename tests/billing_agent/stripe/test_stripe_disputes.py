"""Disputes at Stripe, told through the webhook's door and by the sync: one record, whoever comes first."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache

from agentops.kernel.clock import utcnow
from agentops.kernel.money import Money
from billing_agent.connectors import disputed
from billing_agent.connectors.port import ChangePlan, RetryCharge
from billing_agent.models import Case, Dispute, StripeDispute
from billing_agent.schedules import schedules
from tests.billing_agent.stripe.account import NOW, Desk
from tests.billing_agent.stripe.test_stripe_sync import allow
from tests.factories.fake_stripe import SECRET_TEST
from tests.factories.hooks import SECRET, Sender, event, make_endpoint, put_secrets


@dataclass
class Bank:
    """Whoever disputes charges, and Stripe, which tells of it."""

    desk: Desk
    sender: Sender

    def tell(self, kind: str, dispute: dict[str, Any], **fields: Any) -> Any:
        return self.sender.tell(f"charge.dispute.{kind}", dict(dispute), **fields)

    def sync(self) -> list[str]:
        (spec,) = schedules(at_stripe=True)
        return spec.run(self.desk.tenant.pk, NOW, 100).done

    def keys(self) -> list[str]:
        return [each.key for each in disputed(NOW - timedelta(days=1), 9)]


@pytest.fixture
def bank(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Bank:
    cache.clear()
    put_secrets(monkeypatch, desk.tenant, stripe_webhook=SECRET, stripe_api=SECRET_TEST)
    allow(desk, monkeypatch)
    return Bank(desk, Sender(make_endpoint(desk.tenant)))


def charged(desk: Desk) -> str:
    return str(desk.act(RetryCharge(desk.open, desk.card, Money(2200, "USD")), "retry")["charge_id"])


def test_dispute_that_a_webhook_tells_of_is_the_one_that_the_sync_would_find(desk: Desk, bank: Bank) -> None:
    dispute = desk.stripe.dispute(charged(desk))
    bank.tell("created", dispute)
    told = StripeDispute.objects.values("ref", "charge_ref", "operation_key", "reason", "opened_at").get()
    assert bank.keys() == ["retry"]
    assert not Dispute.objects.exists()
    case = Case.objects.get(source="webhook")
    assert case.customer is not None
    assert case.customer.ref == desk.dana
    assert "The charge was made by call retry." in case.body
    assert bank.sync() == []
    StripeDispute.objects.all().delete()
    assert bank.sync() == [f"Dispute {dispute['id']} is about a charge that a call made."]
    assert StripeDispute.objects.values(*told).get() == told


def test_dispute_that_is_told_of_again_and_in_any_order_is_one(desk: Desk, bank: Bank) -> None:
    dispute, now = desk.stripe.dispute(charged(desk)), utcnow()
    bank.tell("closed", {**dispute, "status": "lost"}, at=now)
    bank.tell("created", dispute, at=now - timedelta(minutes=3))
    bank.tell("closed", {**dispute, "status": "lost"}, at=now + timedelta(minutes=1))
    assert bank.keys() == ["retry"]
    assert StripeDispute.objects.count() == 1


def test_inquiry_counts_once_it_takes_money(desk: Desk, bank: Bank) -> None:
    dispute = desk.stripe.dispute(charged(desk))
    bank.tell("created", {**dispute, "status": "warning_needs_response"}, at=utcnow() - timedelta(minutes=1))
    assert bank.keys() == []
    bank.tell("updated", dispute)
    assert bank.keys() == ["retry"]


def test_dispute_about_a_change_of_plans_waits_for_the_sync(desk: Desk, bank: Bank) -> None:
    """Stripe is not asked while a message is taken, and the message does not name the invoice."""
    desk.act(ChangePlan(desk.subscription, desk.business, 1, now=True), "change")
    dispute = desk.stripe.dispute(desk.get("/v1/charges", customer=desk.dana)["data"][0]["id"])
    bank.tell("created", dispute)
    assert bank.keys() == []
    assert len(bank.sync()) == 1
    assert bank.keys() == ["change"]


def test_dispute_about_what_no_call_charged_is_a_case_only(desk: Desk, bank: Bank) -> None:
    bank.tell("created", desk.stripe.dispute(desk.charge()))
    assert bank.sync() == []
    assert bank.keys() == []
    assert Case.objects.filter(source="webhook").count() == 1
    assert not StripeDispute.objects.exists()


def test_dispute_without_a_time_is_refused(desk: Desk, bank: Bank) -> None:
    dispute = dict(desk.stripe.dispute(charged(desk)))
    dispute.pop("created")
    answer = bank.sender.post(event("charge.dispute.created", dispute))
    assert answer.status_code != 200
    assert not StripeDispute.objects.exists()
