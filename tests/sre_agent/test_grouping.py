"""Alerts become incidents: the operation, and a storm that comes through the door for webhooks."""

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import Count, Q

from agentops.tenancy.models import Tenant
from sre_agent.connectors.moving import found_estate, move
from sre_agent.dependencies import remember
from sre_agent.estate.company import company, trouble
from sre_agent.estate.values import Trouble
from sre_agent.grouping import group
from sre_agent.models import Alert, Incident, Landscape, Note, Source
from sre_agent.tiers import Tier
from tests.factories.monitoring import Watcher, ago, alert, install, make_watcher, message
from tests.factories.sre import make_service
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db
ACTOR = "schedule:watch"


@pytest.fixture
def tenant(monkeypatch: pytest.MonkeyPatch) -> Tenant:
    tenant = make_tenant()
    install(monkeypatch, tenant)
    return tenant


@pytest.fixture
def watcher(tenant: Tenant) -> Watcher:
    return make_watcher(tenant)


def place(tenant: Tenant, *troubles: Any) -> None:
    """Give the tenant an estate that stands still, so that its services and what they need are known."""
    found_estate(tenant_id=tenant.pk, estate=company(4, *troubles), now=ago(hours=1), seconds_a_tick=0)


def refs(**fields: Any) -> list[str]:
    return list(Incident.objects.filter(**fields).order_by("pk").values_list("ref", flat=True))


def test_alerts_of_one_service_are_one_incident_with_all_of_them_and_notes(watcher: Watcher) -> None:
    watcher.alerts(alert("ErrorsHigh", began=ago(minutes=5)))
    told = watcher.alerts(alert("LatencyHigh", began=ago(minutes=3)))
    incident = Incident.objects.get()
    assert list(incident.alerts.order_by("began_at").values_list("rule", flat=True)) == ["ErrorsHigh", "LatencyHigh"]
    assert [(note.kind, note.actor) for note in Note.objects.order_by("id")] == [
        ("opened", "webhook:alertmanager"),
        ("grouped", "webhook:alertmanager"),
        ("grouped", "webhook:alertmanager"),
    ]
    assert told.words == "Alerts: 1 new."


def test_an_incident_is_as_urgent_as_its_most_urgent_alert_and_never_less(watcher: Watcher) -> None:
    watcher.alerts(alert("A", began=ago(minutes=5), severity="warning"))
    assert Incident.objects.get().priority == 3
    watcher.alerts(alert("B", began=ago(minutes=4), severity="page"))
    watcher.alerts(alert("C", began=ago(minutes=3), severity="info"))
    incident = Incident.objects.get()
    assert incident.priority == 0
    assert [note.text for note in incident.notes.filter(kind="changed")] == [
        "Priority P3 → P0: one of its alerts is more urgent."
    ]


def test_where_the_services_are_known_their_tiers_count_and_what_they_need(tenant: Tenant, watcher: Watcher) -> None:
    place(tenant)
    Landscape.objects.update(ticked_at=ago())
    watcher.alerts(
        alert(began=ago(minutes=2), service="checkout", severity="info"),
        alert(began=ago(minutes=1), service="ledger-db", severity="info"),
        alert(began=ago(minutes=1), service="mailer", severity="info"),
    )
    assert sorted(Incident.objects.values_list("service", "priority")) == [("ledger-db", 0), ("mailer", 3)]


def test_what_another_platform_told_of_its_services_counts_as_well(tenant: Tenant, watcher: Watcher) -> None:
    remember(tenant.pk, [make_service("web", Tier.P2, "db"), make_service("db", Tier.P1)])
    watcher.alerts(*(alert(began=ago(minutes=1), service=name, severity="info") for name in ("web", "db")))
    assert list(Incident.objects.values_list("service", "priority")) == [("db", 1)]


def test_silenced_alerts_open_nothing_also_when_they_begin_again(tenant: Tenant, watcher: Watcher) -> None:
    began = ago(minutes=5)
    Alert.objects.create(
        tenant=tenant, ref="AL-1", source="alertmanager", fingerprint=alert(began=began)["fingerprint"], rule="R",
        words="", priority=1, began_at=ago(hours=2), ended_at=ago(hours=1), silenced_until=ago(minutes=-30),
    )  # fmt: skip
    watcher.alerts(alert(began=began))
    assert (Alert.objects.count(), Incident.objects.count()) == (2, 0)
    assert len(group(tenant.pk, ago(minutes=-31), actor=ACTOR).opened) == 1


def test_what_fires_again_after_its_incident_was_resolved_opens_another_that_names_it(watcher: Watcher) -> None:
    watcher.alerts(alert(began=ago(minutes=30)))
    watcher.alerts(alert(began=ago(minutes=30), ended=ago(minutes=12)))
    former = Incident.objects.get()
    Incident.objects.update(status="resolved", opened_at=ago(minutes=30), resolved_at=ago(minutes=5))
    watcher.alerts(alert(began=ago(minutes=1)))
    again = Incident.objects.exclude(pk=former.pk).get()
    assert f"one of {former.ref}, which was resolved at" in again.text
    former.refresh_from_db()
    assert (former.status, former.alerts.count()) == ("resolved", 1)


def test_long_after_it_was_resolved_nothing_is_said_of_it(watcher: Watcher) -> None:
    watcher.alerts(alert(began=ago(hours=3)))
    watcher.alerts(alert(began=ago(hours=3), ended=ago(hours=2)))
    Incident.objects.update(status="resolved", opened_at=ago(hours=3), resolved_at=ago(minutes=11))
    watcher.alerts(alert(began=ago(minutes=1)))
    assert [("resolved at" in text) for text in Incident.objects.order_by("pk").values_list("text", flat=True)] == [
        False,
        False,
    ]


@pytest.mark.parametrize(("told", "wakes"), [("new rule", False), ("more urgent", True), ("all over", True)])
def test_who_works_on_it_looks_again_when_that_matters(
    watcher: Watcher, told: str, wakes: bool, monkeypatch: Any
) -> None:
    woken: list[list[str]] = []

    def wake(*, subjects: Any, **fields: Any) -> list[str]:
        woken.append(list(subjects))
        return []

    began = ago(minutes=5)
    watcher.alerts(alert("A", began=began))
    monkeypatch.setattr("agentops.api.deliveries.wake_sessions", wake)
    match told:
        case "new rule":
            watcher.alerts(alert("B", began=ago(minutes=1)))
        case "more urgent":
            watcher.alerts(alert("B", began=ago(minutes=1), severity="page"))
        case _:
            watcher.alerts(alert("A", began=began, ended=ago(minutes=1)))
    assert woken == [refs() if wakes else []]


def test_alerts_of_the_embedded_estate_are_grouped_by_the_same_rule(tenant: Tenant) -> None:
    place(tenant, trouble(Trouble.FULL_DISK, "ledger-db", 2, 4))
    for _ in range(30):
        now = Landscape.objects.get().ticked_at + timedelta(minutes=2)
        move(tenant.pk, 12, now)
        group(tenant.pk, now, actor=ACTOR)
    assert Alert.objects.count() > 3
    assert list(Incident.objects.values_list("service", "priority", "source")) == [("ledger-db", 0, "estate")]
    assert not Alert.objects.filter(incident=None, ended_at=None).exists()


def test_another_tenants_alerts_are_another_matter(tenant: Tenant, watcher: Watcher) -> None:
    watcher.alerts(alert(began=ago(minutes=2)))
    other = make_tenant("south", "South Goods")
    Alert.objects.create(
        tenant=other, ref="AL-1", fingerprint="x", rule="R", service="checkout", words="", priority=1, began_at=ago()
    )
    group(other.pk, ago(), actor=ACTOR)
    assert sorted(Incident.objects.values_list("tenant_id", flat=True)) == sorted([tenant.pk, other.pk])
    assert group(other.pk, ago(), actor=ACTOR).opened == []


# A storm: 5,000 alerts of 50 services begin within a minute, and their end is told of a tenth of them.
SERVICES, EACH = 50, 100


def storm() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the alerts as they fire, and those of them that end."""
    chance = random.Random(7)
    start = ago(minutes=2)

    def began() -> datetime:
        return start + timedelta(milliseconds=chance.randrange(60_000))

    known = ["checkout", "payments", "ledger-db", "search", "mailer"]
    names = known + [f"service-{n:02}" for n in range(SERVICES - len(known))]
    fires = [alert(f"Rule{n}", name, began=began(), pod=f"{name}-{n}") for name in names for n in range(EACH)]
    over = [{**one, "status": "resolved", "endsAt": one["startsAt"]} for one in fires[::10]]
    return fires, over


def messages(fires: list[dict[str, Any]], over: list[dict[str, Any]]) -> list[bytes]:
    """Return messages of 1 to 200 alerts, out of order, every fifth of them sent twice, and some alerts in two."""
    chance = random.Random(8)
    told = fires + over + chance.sample(fires, 300)
    chance.shuffle(told)
    found: list[bytes] = []
    while told:
        size = chance.choice((1, 3, 10, 50, 200))
        part, told = told[:size], told[size:]
        found.append(json.dumps(message(part)).encode())
    found += found[::5]
    chance.shuffle(found)
    return found


def in_threads(bodies: list[bytes], send: Callable[[bytes], int], threads: int = 4) -> list[int]:
    barrier = Barrier(threads)

    def work(mine: list[bytes]) -> list[int]:
        try:
            barrier.wait(30)
            return [send(body) for body in mine]
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        return [status for part in pool.map(work, [bodies[n::threads] for n in range(threads)]) for status in part]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("known", [True, False])
def test_a_storm_of_five_thousand_alerts_is_a_handful_of_incidents(
    tenant: Tenant, watcher: Watcher, known: bool
) -> None:
    if known:
        place(tenant)
        Landscape.objects.update(ticked_at=ago())
    fires, over = storm()
    bodies = messages(fires, over)
    statuses = in_threads(bodies, lambda body: int(watcher.post(body).status_code))
    assert set(statuses) == {200}
    assert len(bodies) > 100
    counts = Alert.objects.aggregate(all=Count("pk"), over=Count("pk", filter=Q(ended_at__isnull=False)))
    assert counts == {"all": SERVICES * EACH, "over": SERVICES * EACH // 10}
    assert Alert.objects.values("fingerprint").distinct().count() == SERVICES * EACH
    assert not Alert.objects.filter(incident=None, ended_at=None).exists()
    assert 1 <= Incident.objects.count() <= 8
    assert Incident.objects.filter(source_key__startswith="storm:").count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_that_group_at_once_open_one_incident(tenant: Tenant) -> None:
    for number in range(8):
        Alert.objects.create(
            tenant=tenant, ref=f"AL-{number}", fingerprint=f"{number}", rule="R", service="checkout", words="",
            priority=1, began_at=ago(minutes=1), source=Source.ALERTMANAGER,
        )  # fmt: skip
    ident: UUID = tenant.pk
    opened = in_threads([b""] * 8, lambda _: len(group(ident, ago(), actor=ACTOR).opened))
    assert (sum(opened), Incident.objects.count(), Incident.objects.get().alerts.count()) == (1, 1, 8)
