"""The pages of incidents: what is read, by whom, and what people publish, throw away and acknowledge."""

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Role, Tenant
from sre_agent import timeline
from sre_agent.connectors.moving import found_estate, move
from sre_agent.connectors.records import Figures
from sre_agent.estate.company import company, trouble
from sre_agent.estate.values import Trouble
from sre_agent.models import Incident, Note, Page, StatusUpdate
from sre_agent.pages.status import _row
from tests.factories.observatory import WELL
from tests.factories.reading import read, reader_of, words_of
from tests.factories.sre import HOUR, make_alert, make_freeze, make_incident, make_service, make_shift, make_tenant
from tests.sre_agent.test_timeline import ROLL_BACK, Record, call

pytestmark = pytest.mark.django_db

LIST, STATUS = "/sre/", "/sre/status/"
HOSTILE = "<script>alert(1)</script>\u202egnp.exe"


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def incident(tenant: Tenant) -> Incident:
    now = timezone.now()
    return make_incident(tenant, opened_at=now - 2 * HOUR, summary="Version 1.10.0 fails.")


def make_update(incident: Incident, ref: str = "SU-1", **fields: Any) -> StatusUpdate:
    given = {"text": "We look into it.", "drafted_by": "agent:sre", "drafted_at": timezone.now(), **fields}
    return StatusUpdate.objects.create(tenant=incident.tenant, incident=incident, ref=ref, **given)


def make_page(incident: Incident, ref: str = "PG-1", **fields: Any) -> Page:
    given = {"person": "dana", "contact": "dana@example.com", "words": "Checkout fails.", "paged_at": timezone.now()}
    return Page.objects.create(tenant=incident.tenant, incident=incident, ref=ref, **{**given, **fields})


def refs(client: Client, **params: str) -> list[str]:
    return [row.ref for row in client.get(LIST, params).context["page"].rows]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, ["INC-4", "INC-2", "INC-1"]),
        ({"bucket": "person"}, ["INC-4"]),
        ({"bucket": "resolved"}, ["INC-3"]),
        ({"bucket": "all"}, ["INC-4", "INC-3", "INC-2", "INC-1"]),
        ({"bucket": "whatever"}, ["INC-4", "INC-2", "INC-1"]),
        ({"q": "inc-2"}, ["INC-2"]),
        ({"q": "MAILER"}, ["INC-2"]),
        ({"q": "out fails"}, ["INC-1"]),
        ({"q": "%' OR 1=1 \x00"}, []),
        ({"before": "x"}, ["INC-4", "INC-2", "INC-1"]),
        ({"before": "9" * 25}, ["INC-4", "INC-2", "INC-1"]),
    ],
)
def test_incidents_are_found(tenant: Tenant, incident: Incident, params: dict[str, str], expected: list[str]) -> None:
    make_incident(tenant, "INC-2", title="Disk full", service="mailer", status="mitigated")
    make_incident(tenant, "INC-3", title="Over", status="resolved", resolved_at=timezone.now())
    make_incident(tenant, "INC-4", title="Odd", service="", status="escalated")
    make_incident(make_tenant("other"), "INC-9")
    assert refs(reader_of(tenant), **params) == expected


def test_the_list_is_walked_in_pages_at_the_same_cost(tenant: Tenant, incident: Incident) -> None:
    client = reader_of(tenant)
    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get(LIST)
    for number in range(2, 71):
        make_alert(tenant, make_incident(tenant, f"INC-{number}"))
    with CaptureQueriesContext(connection) as many:
        first = client.get(LIST)
    assert len(many) <= len(few) + 1
    found, url = [row.ref for row in first.context["page"].rows], first.context["page"].next_url
    while url:
        page = client.get(LIST + url).context["page"]
        found, url = found + [row.ref for row in page.rows], page.next_url
    assert found == [f"INC-{number}" for number in range(70, 0, -1)]


def test_empty_lists_say_what_they_are(tenant: Tenant) -> None:
    client = reader_of(tenant)
    assert "Nothing is going on." in read(client, LIST)
    assert "No incident matches." in read(client, LIST, q="nothing like it")


def test_an_incident_shows_alerts_updates_and_who_was_called(tenant: Tenant, incident: Incident) -> None:
    make_alert(tenant, incident, words=HOSTILE, times=7)
    make_alert(tenant, incident, rule="DiskHigh", ended_at=timezone.now())
    make_update(incident)
    make_page(incident)
    response = reader_of(tenant).get("/sre/incidents/INC-1/")
    page, words = response.content.decode(), words_of(response.content.decode())
    assert "<script>alert" not in page
    assert "\u202e" not in page
    for told in (
        "Checkout fails",
        "P1",
        "Version 1.10.0 fails.",
        "ErrorsHigh",
        "fires",
        "DiskHigh",
        "ended",
        "7×",
        "dana",
    ):
        assert told in words
    assert "2 h" in words
    assert "We look into it." in words


def test_what_belongs_to_others_does_not_exist(tenant: Tenant, incident: Incident) -> None:
    make_update(incident)
    make_page(incident)
    stranger = reader_of(make_tenant("other"), name="eve")
    assert stranger.get("/sre/incidents/INC-1/").status_code == 404
    for url in (
        "incidents/INC-1/post-mortem/",
        "updates/SU-1/publish/",
        "updates/SU-1/discard/",
        "updates/SU-1/post-again/",
        "pages/PG-1/acknowledge/",
    ):
        assert stranger.post(LIST + url, {"text": "Mine."}).status_code == 404
    assert StatusUpdate.objects.get().state == "draft"


def test_a_person_publishes_in_their_own_words_once(tenant: Tenant, incident: Incident) -> None:
    make_update(incident)
    client = reader_of(tenant)
    assert client.post("/sre/updates/SU-1/publish/", {"text": " "}).status_code == 422
    assert client.post("/sre/updates/SU-1/publish/", {"text": "x" * 1_001}).status_code == 422
    assert StatusUpdate.objects.get().state == "draft"
    assert client.post("/sre/updates/SU-1/publish/", {"text": "Paying is slow; we are on it."}).status_code == 302
    update = StatusUpdate.objects.get()
    assert (update.state, update.text, update.published_by) == (
        "published",
        "Paying is slow; we are on it.",
        "user:bob",
    )
    again = client.post("/sre/updates/SU-1/publish/", {"text": "Something else."})
    assert again.status_code == 409
    assert StatusUpdate.objects.get().text == "Paying is slow; we are on it."
    assert "Paying is slow" in read(client, STATUS)
    assert Note.objects.filter(incident=incident, actor="user:bob").exists()


def test_a_draft_is_thrown_away(tenant: Tenant, incident: Incident) -> None:
    make_update(incident)
    client = reader_of(tenant)
    assert client.post("/sre/updates/SU-1/discard/").status_code == 302
    assert StatusUpdate.objects.get().state == "discarded"
    assert "No update was drafted." in read(client, "/sre/incidents/INC-1/")


def test_who_only_approves_reads_and_tells_nobody(tenant: Tenant, incident: Incident) -> None:
    make_update(incident)
    make_page(incident)
    client = reader_of(tenant, Role.APPROVER, "alice")
    words = read(client, "/sre/incidents/INC-1/")
    assert "We look into it." in words
    assert "Publish" not in words
    for url in ("updates/SU-1/publish/", "updates/SU-1/discard/", "pages/PG-1/acknowledge/"):
        assert client.post(LIST + url, {"text": "Mine."}).status_code == 404


def test_a_page_is_acknowledged(tenant: Tenant, incident: Incident) -> None:
    make_page(incident)
    client = reader_of(tenant)
    assert client.post("/sre/pages/PG-1/acknowledge/").status_code == 302
    assert Page.objects.get().acknowledged_at is not None
    assert "acknowledged" in read(client, "/sre/incidents/INC-1/")


def test_the_post_mortem_is_taken_and_that_is_on_record(tenant: Tenant, incident: Incident) -> None:
    make_alert(tenant, incident)
    response = reader_of(tenant).post("/sre/incidents/INC-1/post-mortem/")
    assert response["Content-Disposition"] == 'attachment; filename="post-mortem-INC-1.md"'
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert "Checkout fails" in response.content.decode()
    assert LedgerEvent.objects.get(facts__incident="INC-1").actor == "user:bob"


def test_status_shows_services_freezes_and_who_is_on_call(tenant: Tenant) -> None:
    now = timezone.now()
    found_estate(
        tenant_id=tenant.pk,
        estate=company(7, trouble(Trouble.BAD_DEPLOY, "checkout", 5, 7)),
        now=now,
        seconds_a_tick=0,
    )
    move(tenant.pk, 60, now)
    make_incident(tenant, opened_at=now)
    make_shift(tenant, starts_at=now - HOUR, ends_at=now + HOUR)
    make_shift(tenant, "erik", starts_at=now + HOUR, ends_at=now + 2 * HOUR)
    make_freeze(tenant, starts_at=now - HOUR, ends_at=now + HOUR)
    make_freeze(tenant, "Last year", starts_at=now - timedelta(days=400), ends_at=now - timedelta(days=399))
    words = read(reader_of(tenant), STATUS)
    assert "something fails" in words
    for told in ("checkout", "payments", "P0", "dana", "Sale", "holds now"):
        assert told in words
    assert "erik" not in words
    assert "Last year" not in words


def test_status_does_not_say_that_all_is_well_when_nobody_knows(tenant: Tenant) -> None:
    found_estate(tenant_id=tenant.pk, estate=company(7), now=timezone.now(), seconds_a_tick=0)
    reader = reader_of(tenant)
    words = read(reader, STATUS)
    assert "nothing is known" in words
    assert "no figures" in words
    assert "all well" not in words

    move(tenant.pk, 60, timezone.now())
    words = read(reader, STATUS)
    assert "all well" in words
    assert "nothing is known" not in words


@pytest.mark.parametrize(
    ("fields", "word", "shown"),
    [
        ({}, ("ok", "well"), ("0.2 %", "120 ms")),
        ({"errors_pm": -1}, ("gone", "no figures"), ("–", "120 ms")),
        ({"latency_ms": -1}, ("gone", "no figures"), ("0.2 %", "–")),
        ({"latency_ms": -1, "errors_pm": 400}, ("stop", "fails"), ("40 %", "–")),
    ],
)
def test_a_figure_that_nobody_knows_is_no_good_one(
    fields: dict[str, int], word: tuple[str, str], shown: tuple[str, str]
) -> None:
    row = _row(make_service("web", figures=Figures(**{**WELL, **fields})), {})
    assert ((row.status.kind, row.status.word), (row.errors, row.latency)) == (word, shown)


def test_the_timeline_says_line_by_line_what_ran_and_who_allowed_it_under_its_day(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant.timezone = "Asia/Tokyo"
    tenant.save()
    make_incident(tenant)
    noon = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
    # Midnight in Tokyo lies between the last two.
    moments = [noon, noon + timedelta(hours=11, minutes=59), noon + timedelta(hours=12, minutes=1)]
    calls = [
        call("roll_back", moments[0], preview=ROLL_BACK, approvers=("user:alice", f"user:{HOSTILE}")),
        call("verify_change", moments[1], arguments={"target": "service:checkout"}),
        call("scale_service", moments[2], arguments={"service": "checkout"}),
    ]
    monkeypatch.setattr(timeline, "call_record", lambda: Record(calls))
    page = reader_of(tenant).get("/sre/incidents/INC-1/").content.decode()
    table = page[page.index('id="timeline"') :]

    lines = re.findall(r'<span class="sub mono"><bdi>(.*?)</bdi></span>', table)
    assert [html.unescape(line) for line in lines[:5]] == [
        "# embedded/shop",
        "kubectl -n shop rollout undo 'deploy/check out'",
        "# embedded/shop",
        "PATCH /apis/apps/v1/x",
        '{"spec": {}}',
    ]
    assert table.count("allowed by <bdi>user:alice</bdi>, <bdi>user:") == table.count("allowed by") == 1
    assert "<script>" not in table
    assert re.findall(r'<tr class="day">.*?<time datetime="(.*?)">(.*?)</time>', table) == [
        ("2026-03-02", "Monday 2 March 2026"),
        ("2026-03-03", "Tuesday 3 March 2026"),
    ]
    marks = ("Monday 2 March", "Roll checkout back", "Tuesday 3 March", "scale_service (done)")
    assert sorted(marks, key=table.index) == list(marks)


def test_status_without_an_estate_says_so(tenant: Tenant) -> None:
    words = read(reader_of(tenant), STATUS)
    assert "No services to show." in words
    assert "There is no estate." in words
    assert "Nobody is on call." in words
