"""The embedded estate in the database: it moves when somebody looks, in whatever steps, to the same end."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction

from agentops.tenancy.models import Tenant
from sre_agent.connectors import moving
from sre_agent.connectors.moving import NoEstate, found_estate, keep, move, to_present
from sre_agent.estate import actions
from sre_agent.estate.company import company, trouble
from sre_agent.estate.stepping import run
from sre_agent.estate.storing import as_json, from_json
from sre_agent.estate.values import Estate, Trouble
from sre_agent.models import Alert, Landscape, LogLine, Sample

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def _troubled() -> Estate:
    return company(4, trouble(Trouble.BAD_DEPLOY, "checkout", 5, 4), trouble(Trouble.FULL_DISK, "mailer", 2, 4))


@pytest.fixture
def tenant() -> Tenant:
    tenant = Tenant.objects.create(slug="estate", name="Estate")
    found_estate(tenant_id=tenant.pk, estate=_troubled(), now=NOW)
    return tenant


def _looked(tenant: Tenant, seconds: int) -> Estate:
    with transaction.atomic():
        return to_present(tenant.pk, NOW + timedelta(seconds=seconds))


def test_an_estate_is_the_same_after_it_was_stored() -> None:
    estate = run(_troubled(), 30)[-1].estate

    assert from_json(as_json(estate)) == estate


@pytest.mark.parametrize("looks", [(600,), (10, 20, 30, 600), (9, 19, 101, 333, 600), (600, 600)])
def test_it_comes_to_the_same_however_often_somebody_looks(tenant: Tenant, looks: tuple[int, ...]) -> None:
    for seconds in looks:
        estate = _looked(tenant, seconds)

    assert estate == run(_troubled(), 60)[-1].estate
    assert Sample.objects.filter(tenant=tenant).count() == 60 * len(estate.services)
    assert Sample.objects.get(tenant=tenant, service="checkout", tick=60).at == NOW + timedelta(seconds=600)
    alert = Alert.objects.get(tenant=tenant, rule="ErrorsHigh", service="checkout", ended_at=None)
    assert alert.priority == 0


def test_a_clock_that_runs_behind_moves_nothing(tenant: Tenant) -> None:
    _looked(tenant, 300)

    assert _looked(tenant, -300).tick == 30
    assert _looked(tenant, 309).tick == 30


def test_an_estate_that_nobody_looked_at_has_slept(tenant: Tenant) -> None:
    assert _looked(tenant, 86_400).tick == moving.MOST_TICKS
    assert Landscape.objects.get(tenant=tenant).ticked_at == NOW + timedelta(days=1)


def test_one_that_stands_still_is_moved_by_hand(tenant: Tenant) -> None:
    Landscape.objects.filter(tenant=tenant).update(seconds_a_tick=0)

    assert _looked(tenant, 5_000).tick == 0
    assert move(tenant.pk, 12, NOW).tick == 12
    assert Sample.objects.filter(tenant=tenant, service="search").latest("tick").at == NOW


def test_an_alert_begins_once_and_ends_when_its_cause_is_over(tenant: Tenant) -> None:
    with transaction.atomic():
        estate = to_present(tenant.pk, NOW + timedelta(seconds=400))
        began = Alert.objects.get(tenant=tenant, rule="ErrorsHigh", service="checkout")
        generation = estate.services["checkout"].generation
        keep(tenant.pk, actions.roll_back(estate, "checkout", generation, "1.9.0"))
    _looked(tenant, 420)
    _looked(tenant, 800)

    ended = Alert.objects.get(tenant=tenant, rule="ErrorsHigh", service="checkout")
    assert (ended.pk, ended.version) == (began.pk, 2)
    assert ended.ended_at is not None
    assert ended.ended_at > began.began_at
    errors = LogLine.objects.filter(tenant=tenant, service="checkout", level="error")
    assert errors.exists()
    assert not errors.filter(tick__gt=70).exists()


def test_an_estate_is_founded_once(tenant: Tenant) -> None:
    _looked(tenant, 100)
    found_estate(tenant_id=tenant.pk, estate=company(9), now=NOW)

    assert Landscape.objects.get(tenant=tenant).tick == 10


def test_a_tenant_without_an_estate_is_told_so() -> None:
    other = Tenant.objects.create(slug="other", name="Other")
    with pytest.raises(NoEstate):
        _looked(other, 0)


def test_an_alert_of_a_service_fires_once_at_a_time(tenant: Tenant) -> None:
    _looked(tenant, 400)
    row = Alert.objects.filter(tenant=tenant, ended_at=None).first()
    assert row is not None
    row.pk, row.ref = None, "AL-OTHER"
    with pytest.raises(IntegrityError, match="an_alert_fires_once"), transaction.atomic():
        row.save()
