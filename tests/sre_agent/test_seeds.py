"""The demo's estate: troubles in several states, invented, and the same after seeding twice."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentops.tenancy.models import Tenant
from sre_agent import seeds
from sre_agent.models import Alert, ChangeFreeze, Claim, Incident, Landscape, LogLine, Note, Sample, Shift, StatusUpdate
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 4, 12, 0, tzinfo=UTC)
TABLES = (Alert, ChangeFreeze, Claim, Incident, Landscape, Note, Shift, StatusUpdate)


def rows() -> list[list[Any]]:
    return [list(model.objects.order_by("pk").values_list()) for model in TABLES]


def test_seeding_twice_changes_nothing() -> None:
    tenant = seeds.seed_demo()
    before = rows()
    assert (seeds.seed_demo(), tenant.slug) == (tenant, "larkspur")
    assert rows() == before


def test_the_demo_shows_at_once_what_the_role_is_for() -> None:
    tenant = make_tenant()
    seeds.seed(tenant.pk, NOW)
    the_queue_has_troubles_in_several_states()
    the_resolved_incident_has_its_record()
    the_estate_stands_at_the_present_and_runs_on_the_walls_clock(tenant)
    somebody_is_on_call_at_both_levels_for_weeks_and_nobody_deploys_at_weekends(tenant)


def the_queue_has_troubles_in_several_states() -> None:
    told = Incident.objects.order_by("opened_at")
    found = [(each.service, each.priority, each.status, each.taken_at is None) for each in told]
    assert found == [
        ("storefront", 1, "resolved", False),
        ("recommendations", 3, "open", True),
        ("mailer", 3, "open", True),
        ("catalogue", 1, "escalated", False),
        ("search", 2, "open", True),
        ("checkout", 0, "open", True),
    ]
    assert not Alert.objects.filter(incident=None).exists()
    assert not Claim.objects.exists()


def the_resolved_incident_has_its_record() -> None:
    incident = Incident.objects.get(status="resolved")
    kinds = list(incident.notes.values_list("kind", flat=True))
    assert (kinds[:2], kinds[-1]) == (["opened", "grouped"], "resolved")
    assert incident.cause == "Release 1.10.0 of storefront fails while it formats prices."
    assert incident.mitigated_at is not None
    assert incident.resolved_at is not None
    assert incident.opened_at < incident.mitigated_at < incident.resolved_at < NOW
    assert not incident.alerts.filter(ended_at=None).exists()
    update = incident.updates.get()
    assert (update.state, update.published_by) == ("published", "admin")


def the_estate_stands_at_the_present_and_runs_on_the_walls_clock(tenant: Tenant) -> None:
    estate = Landscape.objects.get(tenant=tenant)
    assert (estate.tick, estate.ticked_at, estate.seconds_a_tick) == (720, NOW, 10)
    assert Sample.objects.filter(tenant=tenant).count() == 720 * 9
    assert LogLine.objects.filter(service="checkout", text__contains="ignore all previous instructions").count() == 1


def somebody_is_on_call_at_both_levels_for_weeks_and_nobody_deploys_at_weekends(tenant: Tenant) -> None:
    for day in range(35):
        moment = NOW + timedelta(days=day)
        found = Shift.objects.filter(tenant=tenant, starts_at__lte=moment, ends_at__gt=moment)
        assert sorted(found.values_list("level", flat=True)) == [1, 2]
    assert set(Shift.objects.values_list("contact", flat=True)) == {
        "robin.vale@example.com", "sam.ortiz@example.com", "kim.adler@example.com", "noor.haddad@example.com",
    }  # fmt: skip
    freeze = ChangeFreeze.objects.get()
    assert (freeze.weekly, freeze.service, freeze.starts_at.weekday(), freeze.ends_at.weekday()) == (True, "", 4, 0)
