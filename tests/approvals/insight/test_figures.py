"""The figures: who may read them, what they count, and how they leave the house."""

import csv
import io
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from guardian.shortcuts import assign_perm
from hypothesis import given
from hypothesis import strategies as st

from agentops.tenancy.models import Role
from agentops.tenancy.spans import read_span
from approvals.acts import record_act
from approvals.insight.figures import COLUMNS
from approvals.insight.metrics import Figures, report_of
from approvals.models import ActKind, Regret
from tests.approvals.conftest import Stage, client_of
from tests.factories.past import past
from tests.factories.people import make_person, make_queue

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 11, tzinfo=UTC)


@pytest.fixture
def boss(stage: Stage) -> Client:
    """A browser of somebody who manages the queue."""
    person = make_person("boss", stage.cast.tenant, Role.APPROVER)
    assign_perm("approvals.manage_queue", person, stage.cast.queue)
    return client_of(person)


def filled(stage: Stage) -> Any:
    model, alice = stage.ask(), stage.cast.alice
    for minutes in (10, 20, 30):
        past(model, "approved", alice, took=timedelta(minutes=minutes))
    regretted = past(model, "approved", alice, took=timedelta(minutes=40), rung=1)
    Regret.objects.create(request=regretted, kind=Regret.Kind.UNDONE, by="sweep", at=timezone.now())
    past(model, "rejected", alice, took=timedelta(minutes=50), tool="note")
    edited = past(model, "voided", took=timedelta(minutes=60))
    record_act(edited, ActKind.EDITED, person=alice, at=edited.closed_at)
    past(model, "expired")
    past(model, "voided")
    past(model, "approved", alice, ago=timedelta(days=100))
    past(model, "approved", alice, tenant_id=stage.cast.other.pk)
    return model


def test_what_ended_in_the_time_is_counted_in_two_queries(stage: Stage) -> None:
    filled(stage)
    span = read_span(QueryDict("days=7"), timezone.now())
    with CaptureQueriesContext(connection) as queries:
        report = report_of(stage.cast.tenant.pk, [stage.cast.queue.pk], span)
    assert len([q for q in queries if "approvals_approvalrequest" in q["sql"]]) == 2
    assert len(queries) <= 8
    total = report.total
    assert total == Figures("", 8, 4, 1, 1, 1, 1, 2100.0, 3300.0, 1, 1)
    assert (total.override, total.regret) == (2 / 6, 1 / 4)
    assert [(f.name, f.asked) for f in report.parts["tool"]] == [("pay", 7), ("note", 1)]
    assert [(f.name, f.asked) for f in report.parts["rule"]] == [("threshold.pay.1", 8)]
    assert [(f.name, f.asked) for f in report.parts["queue"]] == [("Payments", 8)]
    assert report.parts["approver"] == [Figures("alice", 6, 4, 1, 1, 0, 0, 2100.0, 3300.0, 1, 1)]
    assert [f.asked for f in report.parts["agent"]] == [8]


def test_other_queues_are_not_counted(stage: Stage) -> None:
    filled(stage)
    other = make_queue(stage.cast.tenant, "orders")
    report = report_of(stage.cast.tenant.pk, [other.pk], read_span(QueryDict(""), timezone.now()))
    assert (report.total.asked, report.total.median, report.total.override, report.total.regret) == (
        0,
        None,
        None,
        None,
    )


@pytest.mark.parametrize("name", ["approval_metrics", "approval_metrics_export"])
def test_figures_are_for_those_who_manage_a_queue_and_admins(
    stage: Stage, boss: Client, alice: Client, bob: Client, charlie: Client, name: str
) -> None:
    filled(stage)
    admin = client_of(make_person("ada", stage.cast.tenant, Role.ADMIN))
    got = [client.get(reverse(name)).status_code for client in (boss, admin, alice, bob, charlie)]
    assert got == [200, 200, 404, 404, 404]


def test_the_page_divides_by_what_is_asked_for(stage: Stage, boss: Client) -> None:
    filled(stage)
    page = boss.get(reverse("approval_metrics"), {"days": "7", "by": "tool"}).content.decode()
    assert '<span class="mono"><bdi>pay</bdi></span>' in page
    assert boss.get(reverse("approval_metrics"), {"by": "nonsense", "days": "8"}).status_code == 200
    assert "no such time" in boss.get(reverse("approval_metrics"), {"days": "8"}).content.decode()
    assert (
        "Nothing ended in this time."
        in boss.get(reverse("approval_metrics"), {"from": "2020-01-01", "to": "2020-01-02"}).content.decode()
    )


def test_the_export_has_all_parts_and_no_formula(stage: Stage, boss: Client) -> None:
    model = filled(stage)
    past(model, "approved", stage.cast.alice, agent='=HYPERLINK("http://evil")')
    answer = boss.get(reverse("approval_metrics_export"), {"days": "7"})
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    lines = list(csv.reader(io.StringIO(answer.content.decode())))
    assert tuple(lines[0]) == COLUMNS
    assert {line[0] for line in lines[1:]} == {"all", "rule", "tool", "agent", "approver", "queue"}
    assert '\'=HYPERLINK("http://evil")' in {line[1] for line in lines}


def test_spans_are_days_of_the_readers_zone() -> None:
    with timezone.override(ZoneInfo("Europe/Vienna")):
        span = read_span(QueryDict("from=2026-10-24&to=2026-10-25"), NOW)
        assert (span.begins.astimezone(UTC), span.ends.astimezone(UTC)) == (
            datetime(2026, 10, 23, 22, tzinfo=UTC),
            datetime(2026, 10, 25, 23, tzinfo=UTC),
        )
        assert read_span(QueryDict("days=7"), NOW).first == date(2026, 11, 24)


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("from=nonsense", "2026-11-01"),
        ("from=2026-11-20&to=2026-11-10", "2026-11-01"),
        ("from=9999-12-31&to=9999-12-31", "2026-11-01"),
        ("from=0001-01-01", "2026-11-01"),
        ("from=2027-01-01&to=2027-01-02", "2026-11-01"),
        ("days=-1", "2026-11-01"),
        ("days=%D9%A7", "2026-11-01"),
        ("from=2000-01-01&to=2026-11-30", "2025-11-30"),
    ],
)
def test_spans_that_cannot_be_are_said_and_bounded(asked: str, first: str) -> None:
    span = read_span(QueryDict(asked), NOW)
    assert (span.first.isoformat(), bool(span.note)) == (first, True)


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=5))
def test_no_address_breaks_a_span(first: str, last: str, days: str) -> None:
    parameters = QueryDict(mutable=True)
    parameters.update({"from": first, "to": last, "days": days})
    span = read_span(parameters, NOW)
    assert span.begins < span.ends
    assert (span.last - span.first).days < 366
