"""Endpoints and deliveries in the admin: shaped on record, of the own tenants, and failed events processed again."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from agentops.api.models import WebhookDelivery, WebhookEndpoint
from agentops.kernel.clock import utcnow
from agentops.kernel.ids import new_id
from agentops.ledger.models import LedgerEvent
from agentops.registry import roles
from agentops.runtime.schedule_models import RoleSchedule
from billing_agent import hooks
from billing_agent.models import Customer
from billing_agent.role import ROLE
from tests.console.conftest import Stage, signed_in
from tests.console.operators import read, superuser_of, words_of
from tests.console.test_admin import form_of, recorded, save
from tests.factories.hooks import SECRET, Sender, event, make_endpoint, put_secrets

ADD = "/admin/agentops/webhookendpoint/add/"
LIST = "/admin/agentops/webhookdelivery/"
CUSTOMER = {"id": "cus_1", "object": "customer", "currency": "usd", "name": "Dana", "created": 1}


@pytest.fixture
def root(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Client:
    known = roles.all_roles()
    monkeypatch.setattr(roles, "all_roles", lambda: (*known, ROLE))
    monkeypatch.setattr("agentops.console.admin.webhooks.all_roles", lambda: (*known, ROLE))
    return superuser_of(stage)


def values(stage: Stage, **changes: str) -> dict[str, str]:
    good = {"sender": "billing:stripe", "name": "Stripe, test", "secret": "stripe_webhook", "per_minute": "600"}
    return {"tenant": str(stage.cast.tenant.pk), **good, **changes}


def test_an_endpoint_is_added_and_changed_on_record_and_shows_its_address(stage: Stage, root: Client) -> None:
    save(root, ADD, **values(stage))
    endpoint = WebhookEndpoint.objects.get()
    assert (endpoint.role, endpoint.source, endpoint.live, endpoint.is_active) == ("billing", "stripe", False, True)
    assert re.fullmatch(r"[\w-]{43}", endpoint.public_id)
    tenant, stream = endpoint.audited_in()
    [(model, added)] = recorded(tenant, stream, "config.added")
    assert (model, added["secret"]) == ("WebhookEndpoint", ["", "stripe_webhook"])
    url = f"/admin/agentops/webhookendpoint/{endpoint.pk}/change/"
    assert f"/hooks/{endpoint.public_id}/" in root.get(url).content.decode()
    root.post(url, form_of(root, url, is_active=False))
    endpoint.refresh_from_db()
    assert endpoint.is_active is False
    assert recorded(tenant, stream, "config.changed") == [("WebhookEndpoint", {"is_active": ["True", "False"]})]
    assert root.post(url.replace("change", "delete"), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sender": "billing:pigeon"}, "sender"),
        ({"secret": "whsec_4eC39HqLyjWDarjtT1zdp7dc"}, "secret"),
        ({"secret": ""}, "secret"),
        ({"live": "on"}, "live"),
        ({"former_secret": "stripe_webhook_old"}, "former_until"),
        ({"former_until_0": "2026-01-01", "former_until_1": "00:00"}, "former_until"),
        (
            {"former_secret": "stripe_webhook", "former_until_0": "2026-01-01", "former_until_1": "00:00"},
            "former_secret",
        ),
        ({"former_secret": "old", "former_until_0": "2999-01-01", "former_until_1": "00:00"}, "former_until"),
        ({"per_minute": "0"}, "__all__"),
    ],
)
def test_what_would_not_hold_is_refused(stage: Stage, root: Client, changes: dict[str, str], field: str) -> None:
    answer = root.post(ADD, values(stage, **changes))
    assert answer.status_code == 200
    assert field in answer.context["adminform"].errors
    assert not WebhookEndpoint.objects.exists()


def failed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> WebhookDelivery:
    put_secrets(monkeypatch, stage.cast.tenant, stripe_webhook=SECRET)
    sender = Sender(make_endpoint(stage.cast.tenant))

    def broken(*args: Any) -> Any:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setitem(hooks.HANDLERS, "customer.created", broken)
        assert sender.post(event("customer.created", CUSTOMER)).status_code == 503
    return WebhookDelivery.objects.get()


def test_an_event_that_failed_is_seen_and_processed_again_on_record(
    stage: Stage, root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = failed(stage, monkeypatch)
    page = root.get(LIST).content.decode()
    assert "ZeroDivisionError, see the log." in page
    assert "Dana" not in root.get(f"{LIST}{delivery.pk}/change/").content.decode()
    again = {"action": "again", "_selected_action": str(delivery.pk)}
    root.post(LIST, again)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, Customer.objects.get().ref) == ("taken", 2, "cus_1")
    assert LedgerEvent.objects.get(type="webhook.received").actor == "user:root"
    answer = root.post(LIST, again, follow=True)
    assert "It was taken already." in answer.content.decode()
    assert LedgerEvent.objects.filter(type="webhook.received").count() == 1


def test_what_belongs_to_another_tenant_is_not_there(stage: Stage, root: Client) -> None:
    endpoint = make_endpoint(stage.cast.other)
    delivery = WebhookDelivery.objects.create(
        tenant=stage.cast.other,
        endpoint=endpoint,
        event_id="evt_1",
        type="x",
        happened_at=utcnow() - timedelta(minutes=1),
        received_at=utcnow(),
        digest="",
        body=b"{}",
    )
    for url in (f"/admin/agentops/webhookendpoint/{endpoint.pk}/change/", f"{LIST}{delivery.pk}/change/"):
        assert root.get(url).status_code == 302
    root.post(LIST, {"action": "again", "_selected_action": str(delivery.pk)})
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("failed", 0)
    assert root.post(ADD, values(stage, tenant=str(stage.cast.other.pk))).status_code == 200


def test_schedules_are_there_to_be_read(stage: Stage, root: Client) -> None:
    assert root.get("/admin/agentops/roleschedule/").status_code == 200
    assert root.get("/admin/agentops/roleschedule/add/").status_code == 403


def test_what_failed_stands_on_the_first_page(stage: Stage, root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "could not be taken" not in read(root, "/")
    failed(stage, monkeypatch)
    tenant = stage.cast.tenant
    RoleSchedule.objects.create(
        id=new_id(), tenant=tenant, role="billing", name="due", due_at=utcnow(), failed_since=utcnow(), words="Why."
    )
    page = read(root, "/")
    assert "1 webhook could not be taken" in page
    assert "1 schedule needs a look" in page
    assert 'href="/admin/agentops/webhookdelivery/"' in root.get("/").content.decode()
    others = signed_in(stage.cast.bob).get("/").content.decode()
    assert "1 webhook could not be taken" in words_of(others)
    assert "/admin/agentops/" not in others


def test_a_schedule_that_no_role_has_any_more_troubles_nobody(stage: Stage, root: Client) -> None:
    """As after a change of the system of record: what stood in the row cannot be put right any more."""
    row = RoleSchedule.objects.create(
        id=new_id(), tenant=stage.cast.tenant, role="billing", name="due", due_at=utcnow(), refused=1, words="Why."
    )
    assert "1 schedule needs a look" in read(root, "/")
    RoleSchedule.objects.filter(pk=row.pk).update(name="of-another-system")
    assert "needs a look" not in read(root, "/")
