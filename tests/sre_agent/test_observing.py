"""What can be seen of the embedded estate: its log and its figures, of one tenant, within bounds, through indexes."""

from datetime import timedelta
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection

from agentops.kernel.errors import FailureKind
from sre_agent.connectors.observing import FARTHEST, EmbeddedObservatory
from sre_agent.connectors.records import Point
from sre_agent.estate.company import trouble
from sre_agent.estate.values import Trouble
from sre_agent.models import Landscape, LogLine, Sample
from tests.factories.estates import BEGAN, Site, make_site, refused

pytestmark = pytest.mark.django_db
OBSERVATORY = EmbeddedObservatory()


@pytest.fixture
def site() -> Site:
    return make_site(trouble(Trouble.BAD_DEPLOY, "checkout", 5, 4))


def _logs(site: Site, ref: str, seconds: int, back: int, containing: str = "", limit: int = 100) -> Any:
    since = BEGAN + timedelta(seconds=seconds - back)
    return OBSERVATORY.logs(site.at(seconds), ref, since, containing=containing, limit=limit)


def _metrics(site: Site, ref: str, seconds: int, back: int, points: int = 24) -> tuple[Point, ...]:
    since = BEGAN + timedelta(seconds=seconds - back)
    return OBSERVATORY.metrics(site.at(seconds), ref, since, points=points)


def test_the_latest_lines_come_first_and_no_more_than_asked_for(site: Site) -> None:
    lines = _logs(site, "checkout", 600, 300)

    assert [line.at for line in lines] == sorted((line.at for line in lines), reverse=True)
    assert {line.level for line in lines} == {"error"}
    assert min(line.at for line in lines) >= BEGAN + timedelta(seconds=300)
    assert _logs(site, "checkout", 600, 300, limit=3) == lines[:3]
    assert _logs(site, "checkout", 600, 300, limit=0) == _logs(site, "checkout", 600, 300, limit=-1) == ()


def test_a_text_is_looked_for_as_it_stands(site: Site) -> None:
    site.estate(600)
    LogLine.objects.create(
        tenant=site.tenant, service="search", tick=60, at=BEGAN + timedelta(seconds=600), level="warn",
        text=r"Disk 100%_full at C:\temp",
    )  # fmt: skip
    found = {text: len(_logs(site, "search", 600, 60, text)) for text in ("100%_FULL", r"c:\temp", "1%", "0__f", "")}

    assert found == {"100%_FULL": 1, r"c:\temp": 1, "1%": 0, "0__f": 0, "": found[""]}
    assert found[""] >= 1
    assert all("panic" in line.text or "version 1.10.0" in line.text for line in _logs(site, "checkout", 600, 60))


def test_figures_are_medians_of_equal_pieces_and_the_fewest_that_were_ready(site: Site) -> None:
    points = _metrics(site, "checkout", 600, 600, points=10)
    rows = list(Sample.objects.filter(tenant=site.tenant, service="checkout").order_by("tick"))

    assert [point.at for point in points] == [BEGAN + timedelta(minutes=n) for n in range(10)]
    assert points[3] == Point(
        at=BEGAN + timedelta(minutes=3),
        ready=min(row.ready for row in rows[18:24]),
        **{
            name: (sorted(values)[2] + sorted(values)[3]) // 2
            for name in ("requests", "errors_pm", "latency_ms", "processor_pm", "memory_pm", "disk_pm")
            for values in [[getattr(row, name) for row in rows[18:24]]]
        },
    )
    assert (points[0].ready, points[9].ready) == (3, 4)


@pytest.mark.parametrize(
    ("back", "points"), [(600, 24), (590, 7), (600, 1), (333, 24), (10, 24), (5, 3), (0, 1), (-60, 5)]
)
def test_there_are_never_more_points_than_asked_for(site: Site, back: int, points: int) -> None:
    found = _metrics(site, "checkout", 600, back, points)
    apart = {later.at - earlier.at for earlier, later in pairwise(found)}

    assert len(found) <= points
    assert len(apart) <= 1
    assert bool(found) == (back > 0)


def test_what_was_seen_before_the_estate_slept_is_at_its_own_time(site: Site) -> None:
    site.estate(600)
    points = _metrics(site, "checkout", 80_000, 86_400)

    assert (points[0].at + timedelta(hours=2), len(points)) > (BEGAN, 2)
    before = OBSERVATORY.metrics(site.at(80_000), "checkout", BEGAN - timedelta(days=9), points=24)
    assert before[0].at >= BEGAN + timedelta(seconds=80_000) - FARTHEST
    assert sum(point.at < BEGAN + timedelta(seconds=600) for point in points) == 1


def test_an_estate_that_stands_still_is_looked_at_in_its_own_time() -> None:
    site = make_site(trouble(Trouble.BAD_DEPLOY, "checkout", 5, 4))
    site.estate(600)
    Landscape.objects.filter(tenant=site.tenant).update(seconds_a_tick=0)
    since = BEGAN + timedelta(seconds=540)

    assert len(OBSERVATORY.metrics(site.at(90_000), "checkout", since, points=24)) == 6


def test_a_service_that_is_not_known_is_not_found(site: Site) -> None:
    assert refused(lambda: _logs(site, "nothing", 60, 60)).kind is FailureKind.NOT_FOUND
    assert refused(lambda: _metrics(site, "nothing", 60, 60)).kind is FailureKind.NOT_FOUND


def test_nobody_sees_another_tenants_estate(site: Site) -> None:
    site.estate(600)
    other = make_site(slug="other", seed=9)

    assert all(line.level == "info" for line in _logs(other, "checkout", 600, 600))
    assert max(point.errors_pm for point in _metrics(other, "checkout", 600, 600)) <= 1
    assert max(point.errors_pm for point in _metrics(site, "checkout", 600, 600)) > 100


def test_a_hundred_thousand_rows_are_looked_at_through_an_index(site: Site) -> None:
    site.estate(600)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sre_agent_logline (tenant_id, service, tick, at, replica, level, text)"
            " SELECT %s, 'search', n, %s + n * interval '10 seconds', '', 'info', 'line ' || n"
            " FROM generate_series(61, 100060) n",
            [site.tenant.pk, BEGAN],
        )
        cursor.execute(
            "INSERT INTO sre_agent_sample (tenant_id, service, tick, at, requests, errors_pm, latency_ms, processor_pm,"
            " memory_pm, disk_pm, ready) SELECT %s, 'search', n, %s + n * interval '10 seconds', 1, 1, 1, 1, 1, 1, 1"
            " FROM generate_series(61, 100060) n",
            [site.tenant.pk, BEGAN],
        )
        cursor.execute("ANALYZE sre_agent_logline, sre_agent_sample")
    Landscape.objects.filter(tenant=site.tenant).update(
        tick=100_060, ticked_at=BEGAN + timedelta(seconds=1_000_600), seconds_a_tick=0, state=_at_tick(site, 100_060)
    )
    asked: list[str] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if 'FROM "sre_agent_logline"' in sql or 'FROM "sre_agent_sample"' in sql:
            with connection.cursor() as cursor, patch.object(connection, "execute_wrappers", []):
                cursor.execute(f"EXPLAIN {sql}", params)
                asked.append("\n".join(row[0] for row in cursor.fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        lines = _logs(site, "search", 1_000_600, 14_400, "99999")
        points = _metrics(site, "search", 1_000_600, 14_400)

    assert ([line.text for line in lines], len(points)) == (["line 99999"], 24)
    assert len(asked) == 2
    for plan, index in zip(asked, ("log_of_a_service", "one_sample_a_service_and_tick"), strict=True):
        assert index in plan
        assert "Seq Scan" not in plan
        assert "tick >= " in next(line for line in plan.splitlines() if "Index Cond" in line)


def _at_tick(site: Site, tick: int) -> dict[str, Any]:
    return {**Landscape.objects.get(tenant=site.tenant).state, "tick": tick}
