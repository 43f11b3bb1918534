"""Customers and disputes of Stripe in the house."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from agentops.gateway.models import SecretConsent
from agentops.kernel.clock import utcnow
from agentops.kernel.money import Money
from agentops.registry import roles
from agentops.runtime.operations import employ_agent
from agentops.runtime.schedule_models import RoleSchedule
from agentops.runtime.schedules import run_schedules
from billing_agent.connectors import STRIPE_KEY, disputed
from billing_agent.connectors.port import ChangePlan, RetryCharge
from billing_agent.connectors.stripe import syncing
from billing_agent.connectors.stripe.syncing import Bounds
from billing_agent.intake import customer_ids
from billing_agent.models import Customer, Invoice
from billing_agent.role import ROLE
from billing_agent.schedules import schedules
from tests.billing_agent.stripe.account import NOW, Desk
from tests.factories.billing import make_plan, make_subscription
from tests.factories.fake_stripe import CUT, SECRET_TEST


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


def test_inquiry_is_no_dispute_yet(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    allow(desk, monkeypatch)
    charged = desk.act(RetryCharge(desk.open, desk.card, Money(2200, "USD")), "retry")
    made = desk.stripe.dispute(charged["charge_id"])
    world = desk.stripe.account.world("test")
    world.find("dispute", made["id"])["status"] = "warning_needs_response"
    assert sync(desk, capsys).endswith("0 new disputes")
    world.find("dispute", made["id"])["status"] = "needs_response"
    assert sync(desk, capsys).endswith("1 new disputes")


@pytest.fixture
def at_stripe(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> RoleSchedule:
    """The calendar of an installation that bills at Stripe, with its one schedule."""
    role = replace(ROLE, schedules=schedules(at_stripe=True))
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    employ_agent(tenant_id=desk.tenant.pk, role=role, name="Billing", actor="tests")
    run_schedules()
    return RoleSchedule.objects.get()


def due_again(row: RoleSchedule) -> RoleSchedule:
    RoleSchedule.objects.filter(pk=row.pk).update(due_at=utcnow())
    run_schedules()
    row.refresh_from_db()
    return row


def test_calendar_says_why_stripe_cannot_be_asked_and_goes_on(
    desk: Desk, at_stripe: RoleSchedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert at_stripe.name == "sync"
    assert at_stripe.failed_since is not None
    assert "Nobody has allowed" in at_stripe.words
    allow(desk, monkeypatch)
    new = desk.post("/v1/customers", name="Finn Moe", metadata={"currency": "eur"})["id"]
    row = due_again(at_stripe)
    assert (row.done, row.failed_since, row.words) == (1, None, "")
    assert Customer.objects.filter(ref=new).exists()
    desk.stripe.fault("GET /v1/disputes", CUT)
    row = due_again(row)
    assert row.failed_since is not None
    assert "Stripe" in row.words


def test_calendar_does_only_so_much_and_the_next_run_the_rest(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(desk, monkeypatch)
    for name in ("Finn", "Gail", "Hugo"):
        desk.post("/v1/customers", name=name, metadata={"currency": "eur"})
    desk.api.raw_request("delete", f"/v1/customers/{desk.erin}")
    charged = desk.act(RetryCharge(desk.open, desk.card, Money(2200, "USD")), "retry")
    desk.stripe.dispute(charged["charge_id"])
    (spec,) = schedules(at_stripe=True)
    runs = [spec.run(desk.tenant.pk, NOW, 2) for _ in range(4)]
    assert [len(run.done) for run in runs] == [2, 2, 1, 0]
    assert len(disputed(NOW, 10)) == 1


def test_calendar_looks_at_the_newest_and_takes_nobody_else_to_be_deleted(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(desk, monkeypatch)
    desk.stripe.pass_time(60)
    new = desk.post("/v1/customers", name="Finn Moe", metadata={"currency": "eur"})["id"]
    monkeypatch.setattr(syncing, "OFTEN", Bounds(customers=1, disputes=1))
    (spec,) = schedules(at_stripe=True)
    assert spec.run(desk.tenant.pk, NOW, 10).done == [f"{new} is a customer."]
    assert not Customer.objects.exclude(deleted_at=None).exists()


def test_nothing_of_the_embedded_system_is_due_at_stripe(desk: Desk, at_stripe: RoleSchedule) -> None:
    """What the tables had that is due stays as it is: Stripe renews and collects."""
    plan = make_plan(desk.tenant, "solo", "Solo", 900)
    old = make_subscription(Customer.objects.get(ref=desk.dana), plan, "sub-old", period_end=NOW - timedelta(days=9))
    (due,) = schedules(at_stripe=False)
    RoleSchedule.objects.create(
        id=uuid4(), tenant_id=desk.tenant.pk, role="billing", name=due.name, due_at=NOW - timedelta(days=9)
    )
    due_again(at_stripe)
    assert RoleSchedule.objects.get(name=due.name).ran_at is None
    old.refresh_from_db()
    assert old.period_end == NOW - timedelta(days=9)
    assert not Invoice.objects.exists()
    with pytest.raises(CommandError, match="Billing is done at Stripe"):
        call_command("billing_due", "--tenant", desk.tenant.slug)
