"""What is done by the calendar: the estate moves, alerts become incidents, nothing is left lying."""

from collections.abc import Iterable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache

from agentops.registry.secret import Secret
from agentops.registry.tool import CallContext
from agentops.tenancy.models import Tenant
from sre_agent import keeping, schedules
from sre_agent.connectors.moving import found_estate
from sre_agent.connectors.records import Service
from sre_agent.dependencies import Known, known_services
from sre_agent.estate.company import company, trouble
from sre_agent.estate.values import Trouble
from sre_agent.models import Alert, Incident, Landscape, LogLine, Note, Sample
from sre_agent.schedules import LEARN, TIDY, WATCH
from sre_agent.tiers import Tier
from tests.factories.sre import make_service
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def later(minutes: int) -> datetime:
    return NOW + timedelta(minutes=minutes)


def test_the_estate_moves_and_its_alerts_become_incidents(tenant: Tenant) -> None:
    estate = company(4, trouble(Trouble.EXPIRED_CERTIFICATE, "mailer", 6, 4))
    found_estate(tenant_id=tenant.pk, estate=estate, now=NOW)
    runs = [WATCH.run(tenant.pk, later(minute), 100) for minute in range(1, 6)]
    incident = Incident.objects.get()
    assert [run.done for run in runs if run.done] == [[f"Incident {incident.ref} was opened."]]
    assert (incident.service, incident.source, incident.taken_at) == ("mailer", "estate", None)
    assert incident.notes.values_list("actor", flat=True).distinct().get() == "schedule:watch"
    assert Landscape.objects.get().tick == 30


def test_an_estate_that_stands_still_keeps_its_own_time(tenant: Tenant) -> None:
    found_estate(tenant_id=tenant.pk, estate=company(4), now=NOW, seconds_a_tick=0)
    _alert(tenant, began_at=NOW)
    WATCH.run(tenant.pk, later(600), 100)
    assert (Landscape.objects.get().tick, Incident.objects.get().opened_at) == (0, NOW)


def test_without_an_estate_alerts_are_grouped_all_the_same_once_their_silence_is_over(tenant: Tenant) -> None:
    _alert(tenant, began_at=NOW, silenced_until=later(30))
    assert WATCH.run(tenant.pk, later(29), 100).done == []
    assert len(WATCH.run(tenant.pk, later(30), 100).done) == 1
    assert WATCH.run(tenant.pk, later(31), 100).done == []


def test_a_mitigated_incident_that_is_quiet_is_told_of_once(tenant: Tenant) -> None:
    quiet, loud, fresh = (_mitigated(tenant, f"INC-{n}", at) for n, at in enumerate((NOW, NOW, later(55)), 1))
    _alert(tenant, incident=quiet, began_at=NOW - HOUR, ended_at=NOW)
    _alert(tenant, incident=loud, began_at=NOW - HOUR)
    _alert(tenant, incident=fresh, began_at=NOW - HOUR, ended_at=NOW)
    runs = [TIDY.run(tenant.pk, later(60), 100), TIDY.run(tenant.pk, later(64), 100)]
    assert [run.done for run in runs] == [["Incident INC-1 is mitigated, and quiet."], []]
    note = Note.objects.get()
    assert (note.incident, note.kind, note.actor, note.at) == (quiet, "found", "schedule:tidy", later(60))
    assert TIDY.run(tenant.pk, later(65), 100).done == ["Incident INC-3 is mitigated, and quiet."]
    Incident.objects.filter(pk=quiet.pk).update(mitigated_at=later(66))
    assert TIDY.run(tenant.pk, later(120), 100).done == ["Incident INC-1 is mitigated, and quiet."]


def test_samples_and_lines_older_than_two_weeks_are_deleted_in_bounded_batches(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "BATCH", 10)
    other = make_tenant("south", "South")
    for owner in (tenant, other):
        for service in ("checkout", "mailer"):
            _seen(owner, service, range(-15, 5))
    first = TIDY.run(tenant.pk, later(0), 3)
    assert first.done == [
        "10 old samples of checkout were deleted.",
        "5 old samples of checkout were deleted.",
        "10 old samples of mailer were deleted.",
    ]
    rest = TIDY.run(tenant.pk, later(0), 100)
    assert (len(rest.done), TIDY.run(tenant.pk, later(0), 100).done) == (5, [])
    for model in (Sample, LogLine):
        assert model.objects.filter(tenant=tenant).count() == 10
        assert not model.objects.filter(tenant=tenant, at__lt=NOW - timedelta(days=14)).exists()
        assert model.objects.filter(tenant=other).count() == 40


def test_what_another_platform_knows_of_its_services_is_asked_for_and_remembered(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    asked: list[CallContext] = []

    class Elsewhere:
        def services(self, context: CallContext) -> list[Service]:
            asked.append(context)
            return [make_service("web", Tier.P1, "db")]

    monkeypatch.setattr(schedules, "platform", Elsewhere)
    monkeypatch.setattr(schedules, "lent", lambda tenant_id, name: nullcontext(Secret(name, "a-token")))
    assert LEARN.run(tenant.pk, NOW, 100).done == ["1 services are known."]
    assert known_services(tenant.pk) == {"web": Known(1, ("db",))}
    assert [context.secret.reveal() for context in asked if context.secret] == ["a-token"]


def test_only_another_platform_is_asked() -> None:
    assert schedules.SCHEDULES == (WATCH, TIDY)
    assert schedules.schedules(embedded=False) == (WATCH, TIDY, LEARN)


def _alert(tenant: Tenant, **fields: Any) -> Alert:
    given = {"rule": "ErrorsHigh", "service": "checkout", "words": "", "priority": 1, **fields}
    number = Alert.objects.count()
    return Alert.objects.create(tenant=tenant, ref=f"AL-{number}", fingerprint=f"{number}", **given)


def _mitigated(tenant: Tenant, ref: str, at: datetime) -> Incident:
    return Incident.objects.create(
        tenant=tenant, ref=ref, title=ref, text="", priority=1, source="estate", source_key=ref, status="mitigated",
        opened_at=NOW - HOUR, mitigated_at=at,
    )  # fmt: skip


def _seen(tenant: Tenant, service: str, ticks: Iterable[int]) -> None:
    for tick in ticks:
        at = NOW - timedelta(days=14) + timedelta(seconds=10 * tick)
        figures = dict.fromkeys(("requests", "errors_pm", "latency_ms", "processor_pm"), 1)
        figures |= dict.fromkeys(("memory_pm", "disk_pm", "ready"), 1)
        Sample.objects.create(tenant=tenant, service=service, tick=tick + 15, at=at, **figures)
        LogLine.objects.create(tenant=tenant, service=service, tick=tick + 15, at=at, level="info", text="x")
