"""Staff screens of incidents: shifts and freezes are entered, everything else is read."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentops.tenancy.models import Membership, Role, Tenant
from sre_agent import models
from sre_agent.connectors.claiming import take
from sre_agent.connectors.moving import found_estate, move
from sre_agent.estate.company import company
from tests.factories.sre import make_alert, make_freeze, make_incident, make_shift, make_tenant

pytestmark = pytest.mark.django_db

READ = [
    models.Incident,
    models.Alert,
    models.Shift,
    models.ChangeFreeze,
    models.Claim,
    models.Landscape,
    models.LogLine,
    models.Sample,
]
BY_HAND = {models.Shift, models.ChangeFreeze}


def fill(tenant: Tenant) -> None:
    now = timezone.now()
    found_estate(tenant_id=tenant.pk, estate=company(3), now=now, seconds_a_tick=0)
    move(tenant.pk, 2, now)
    models.LogLine.objects.create(
        tenant=tenant, service="checkout", tick=1, at=now, replica="checkout-0", level="info", text="started"
    )
    incident = make_incident(tenant)
    make_alert(tenant, incident)
    make_shift(tenant)
    make_freeze(tenant)
    take(tenant.pk, "service:checkout", incident.ref, now)


@pytest.fixture
def tenant() -> Tenant:
    made = make_tenant()
    fill(made)
    return made


@pytest.fixture
def bob(tenant: Tenant) -> Client:
    user = User.objects.create_superuser("bob", "bob@example.com", "bob")
    Membership.objects.create(tenant=tenant, user=user, role=Role.ADMIN)
    client = Client()
    client.force_login(user)
    return client


def url(model: Any, page: str = "changelist", *args: object) -> str:
    return reverse(f"admin:sre_agent_{model.__name__.lower()}_{page}", args=args)


@pytest.mark.parametrize("model", READ)
def test_rows_are_listed_found_and_read(bob: Client, model: Any) -> None:
    row = model.objects.first()
    assert bob.get(url(model)).status_code == 200
    assert bob.get(url(model, "change", row.pk)).status_code == 200
    assert bob.get(url(model, "add")).status_code == (200 if model in BY_HAND else 403)
    assert bob.post(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", READ)
def test_rows_of_another_company_do_not_exist(bob: Client, model: Any) -> None:
    south = make_tenant("south")
    fill(south)
    row = model.objects.filter(tenant=south).first()
    answer = bob.get(url(model, "change", row.pk), follow=True)
    assert answer.request["PATH_INFO"] == reverse("admin:index")


def moments(**at: Any) -> dict[str, str]:
    return {
        f"{name}_{part}": value.strftime(form)
        for name, value in at.items()
        for part, form in ((0, "%Y-%m-%d"), (1, "%H:%M:%S"))
    }


def test_a_freeze_is_entered_and_ended(tenant: Tenant, bob: Client) -> None:
    now = timezone.now()
    models.ChangeFreeze.objects.all().delete()
    form = {"tenant": tenant.pk, "name": "Weekend", "service": "", "weekly": "on"}
    backwards = moments(starts_at=now, ends_at=now - timedelta(hours=1))
    assert bob.post(url(models.ChangeFreeze, "add"), {**form, **backwards}).status_code == 200
    assert not models.ChangeFreeze.objects.exists()
    right = moments(starts_at=now, ends_at=now + timedelta(hours=60))
    assert bob.post(url(models.ChangeFreeze, "add"), {**form, **right}).status_code == 302
    freeze = models.ChangeFreeze.objects.get()
    assert (freeze.name, freeze.weekly) == ("Weekend", True)
    ended = moments(starts_at=now, ends_at=now + timedelta(minutes=5))
    assert bob.post(url(models.ChangeFreeze, "change", freeze.pk), {**form, "weekly": "", **ended}).status_code == 302
    freeze.refresh_from_db()
    assert not freeze.weekly


def test_a_claim_can_be_ended_by_hand_and_nothing_else_of_it_changed(tenant: Tenant, bob: Client) -> None:
    claim, now = models.Claim.objects.get(), timezone.now()
    form = {"target": "service:payments", "incident_ref": "INC-9", **moments(until=now)}
    assert bob.post(url(models.Claim, "change", claim.pk), form).status_code == 302
    claim.refresh_from_db()
    assert (claim.target, claim.incident_ref) == ("service:checkout", "INC-1")
    assert claim.until <= now
