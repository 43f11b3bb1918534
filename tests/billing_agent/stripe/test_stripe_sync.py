"""Customers and disputes of Stripe in the house."""

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from agentops.gateway.models import SecretConsent
from agentops.kernel.clock import utcnow
from agentops.kernel.money import Money
from billing_agent.connectors import STRIPE_KEY, disputed
from billing_agent.connectors.port import ChangePlan, RetryCharge
from billing_agent.intake import customer_ids
from billing_agent.models import Customer
from tests.billing_agent.stripe.account import NOW, Desk
from tests.factories.fake_stripe import SECRET_TEST


def allow(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"TOOL_SECRET_SANDBOX_{desk.tenant.pk.hex.upper()}_{STRIPE_KEY.upper()}", SECRET_TEST)
    SecretConsent.objects.create(
        tenant=desk.tenant, capability=STRIPE_KEY, environment="sandbox", given_by="user:root", given_at=utcnow()
    )


def sync(desk: Desk, capsys: pytest.CaptureFixture[str]) -> str:
    call_command("billing_sync", "--tenant", desk.tenant.slug)
    return capsys.readouterr().out.partition(": ")[2].strip()


def test_customers_are_brought_up_to_date(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    allow(desk, monkeypatch)
    new = desk.post("/v1/customers", name="Finn Moe", email="Finn@example.com", metadata={"currency": "eur"})["id"]
    desk.post("/v1/customers", name="Never billed", email="none@example.com")
    desk.post(f"/v1/customers/{desk.dana}", email="dana@new.example.com")
    desk.api.raw_request("delete", f"/v1/customers/{desk.erin}")
    told = sync(desk, capsys)
    assert told == "1 new, 1 changed, 1 deleted, 1 never billed and left out, 0 new disputes"
    assert customer_ids(desk.tenant.id, ["finn@example.com", "dana@new.example.com", "none@example.com"]) == {
        "finn@example.com": Customer.objects.get(ref=new).id,
        "dana@new.example.com": Customer.objects.get(ref=desk.dana).id,
    }
    assert Customer.objects.get(ref=desk.erin).deleted_at is not None
    assert sync(desk, capsys) == "0 new, 0 changed, 0 deleted, 1 never billed and left out, 0 new disputes"


def test_disputes_name_the_call_that_charged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    allow(desk, monkeypatch)
    charged = desk.act(RetryCharge(desk.open, desk.card, Money(2200, "USD")), "retry")
    desk.act(ChangePlan(desk.subscription, desk.business, 1, now=True), "change")
    of_change = desk.get("/v1/charges", customer=desk.dana)["data"][0]["id"]
    for charge in (charged["charge_id"], of_change, desk.charge()):
        desk.stripe.dispute(charge)
    assert sync(desk, capsys).endswith("2 new disputes")
    found = disputed(NOW, 10)
    assert sorted(each.key for each in found) == ["change", "retry"]
    assert sync(desk, capsys).endswith("0 new disputes")


def test_tenant_without_consent_is_told(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="Could not be synced: 1"):
        call_command("billing_sync", "--tenant", desk.tenant.slug)
    assert "Nobody has allowed" in capsys.readouterr().err


def test_embedded_system_has_nothing_to_sync(db: None) -> None:
    with override_settings(BILLING_SYSTEM="embedded"), pytest.raises(CommandError, match="embedded system"):
        call_command("billing_sync")
