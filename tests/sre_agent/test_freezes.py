"""A change freeze covers what it says, at the hours that people there read on their clocks."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sre_agent.connectors.freezing import covers, is_frozen
from tests.factories.sre import HOUR, NOW, make_freeze, make_tenant

BERLIN = ZoneInfo("Europe/Berlin")


@dataclass(frozen=True)
class Freeze:
    service: str
    starts_at: datetime
    ends_at: datetime
    weekly: bool = True


def local(month: int, day: int, hour: int, minute: int = 0, fold: int = 0) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=BERLIN, fold=fold).astimezone(UTC)


def edges(freeze: Freeze, first: datetime, last: datetime) -> list[datetime]:
    """The quarters of an hour at which a freeze begins or ends, from ``first`` to ``last``."""
    found, covered = [], covers(freeze, "cart", first, BERLIN)
    moment = first
    while moment < last:
        moment += timedelta(minutes=15)
        if covers(freeze, "cart", moment, BERLIN) != covered:
            covered = not covered
            found.append(moment)
    return found


def test_a_freeze_begins_on_time_and_is_over_when_it_ends() -> None:
    freeze = Freeze("cart", NOW, NOW + HOUR, weekly=False)
    moments = [
        NOW - timedelta(microseconds=1),
        NOW,
        NOW + HOUR - timedelta(microseconds=1),
        NOW + HOUR,
        NOW + 168 * HOUR,
    ]
    assert [covers(freeze, "cart", moment, BERLIN) for moment in moments] == [False, True, True, False, False]
    assert not covers(freeze, "checkout", NOW, BERLIN)
    assert covers(Freeze("", NOW, NOW + HOUR), "checkout", NOW, BERLIN)


def test_a_weekly_freeze_keeps_its_hour_when_clocks_are_set_forward() -> None:
    freeze = Freeze("", local(3, 20, 18), local(3, 23, 8))  # Friday evening until Monday morning
    assert edges(freeze, local(3, 16, 0), local(4, 7, 0)) == [
        local(3, 20, 18), local(3, 23, 8), local(3, 27, 18), local(3, 30, 8), local(4, 3, 18), local(4, 6, 8),
    ]  # fmt: skip
    assert local(3, 27, 18) - local(3, 20, 18) == timedelta(days=7)
    assert local(4, 3, 18) - local(3, 27, 18) == timedelta(days=7, hours=-1)


def test_a_weekly_freeze_keeps_its_hour_when_clocks_are_set_back() -> None:
    freeze = Freeze("", local(10, 16, 18), local(10, 19, 8))
    assert edges(freeze, local(10, 19, 12), local(11, 3, 0)) == [
        local(10, 23, 18), local(10, 26, 8), local(10, 30, 18), local(11, 2, 8),
    ]  # fmt: skip
    assert local(10, 30, 18) - local(10, 23, 18) == timedelta(days=7, hours=1)


def test_the_hour_that_a_day_skips_is_an_hour_later() -> None:
    freeze = Freeze("", local(3, 22, 2, 15), local(3, 22, 2, 45))
    assert edges(freeze, local(3, 29, 0), local(3, 29, 12)) == [local(3, 29, 3, 15), local(3, 29, 3, 45)]


def test_the_hour_that_a_day_has_twice_is_covered_both_times() -> None:
    freeze = Freeze("", local(10, 18, 2, 15), local(10, 18, 2, 45))
    assert edges(freeze, local(10, 25, 0), local(10, 25, 12)) == [local(10, 25, 2, 15), local(10, 25, 2, 45, fold=1)]


def test_a_freeze_of_a_week_and_more_that_comes_again_is_never_over() -> None:
    freeze = Freeze("", NOW, NOW + timedelta(days=8))
    assert covers(freeze, "cart", NOW + timedelta(days=1_000), BERLIN)
    assert not covers(freeze, "cart", NOW - timedelta(seconds=1), BERLIN)


@pytest.mark.django_db
def test_one_frozen_service_of_several_is_enough() -> None:
    tenant = make_tenant()
    make_freeze(tenant, service="cart")
    assert is_frozen(tenant.pk, ["checkout", "cart"], NOW)
    assert not is_frozen(tenant.pk, ["checkout"], NOW)
    assert not is_frozen(tenant.pk, [], NOW)
    assert not is_frozen(tenant.pk, ["cart"], NOW + 2 * HOUR)
    make_freeze(tenant)
    assert is_frozen(tenant.pk, [], NOW)


@pytest.mark.django_db
def test_another_tenants_freeze_covers_nothing() -> None:
    make_freeze(make_tenant("south"))
    assert not is_frozen(make_tenant().pk, ["cart"], NOW)


@pytest.mark.django_db
def test_a_weekly_freeze_is_told_by_the_tenants_own_clock() -> None:
    berlin, nowhere = make_tenant("berlin", "Europe/Berlin"), make_tenant("nowhere", "Not/AZone")
    for tenant in (berlin, nowhere):
        make_freeze(tenant, starts_at=local(3, 20, 18), ends_at=local(3, 20, 19), weekly=True)
    moments = [local(4, 3, 18, 30), local(4, 3, 19, 30)]
    assert [is_frozen(berlin.pk, ["cart"], moment) for moment in moments] == [True, False]
    assert [is_frozen(nowhere.pk, ["cart"], moment) for moment in moments] == [False, True]


@pytest.mark.django_db
def test_many_freezes_are_one_query() -> None:
    tenant = make_tenant()
    for number in range(30):
        make_freeze(tenant, name=f"Sale {number}", service="cart")
    with CaptureQueriesContext(connection) as queries:
        assert is_frozen(tenant.pk, ["cart", "checkout"], NOW)
    assert len(queries) == 1
