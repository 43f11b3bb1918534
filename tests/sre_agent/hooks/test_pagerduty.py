"""PagerDuty tells of incidents: each is one alert here, from when it was triggered until it is resolved."""

import json
from datetime import timedelta
from typing import Any

import pytest

from agentops.api.models import WebhookDelivery
from agentops.tenancy.models import Tenant
from sre_agent.models import Alert, Incident, Note
from tests.factories.monitoring import Watcher, ago, incident_event, install, make_watcher, signed, stamp
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant(monkeypatch: pytest.MonkeyPatch) -> Tenant:
    tenant = make_tenant()
    install(monkeypatch, tenant)
    return tenant


@pytest.fixture
def watcher(tenant: Tenant) -> Watcher:
    return make_watcher(tenant, "pagerduty")


def rows(*names: str) -> list[tuple[Any, ...]]:
    return list(Alert.objects.order_by("began_at", "id").values_list(*names))


def test_an_incident_there_is_an_alert_and_an_incident_here(watcher: Watcher) -> None:
    at = ago(minutes=2)
    watcher.tell(incident_event(at=at))
    assert rows("source", "fingerprint", "rule", "service", "priority", "began_at") == [
        ("pagerduty", "PT4KHLK", "The checkout is down", "checkout", 1, at)
    ]
    incident = Incident.objects.get()
    assert (incident.title, incident.source, incident.service) == (
        "The checkout is down: checkout",
        "pagerduty",
        "checkout",
    )


def test_it_ends_when_it_is_resolved_and_fires_anew_when_it_is_reopened(watcher: Watcher) -> None:
    at, ended, again = ago(minutes=30), ago(minutes=20), ago(minutes=5)
    watcher.tell(incident_event(at=at))
    watcher.tell(incident_event("incident.resolved", at=ended, created_at=stamp(at)))
    watcher.tell(incident_event("incident.reopened", at=again, created_at=stamp(at)))
    assert rows("began_at", "ended_at") == [(at, ended), (again, None)]
    last = ago(minutes=1)
    watcher.tell(incident_event("incident.resolved", at=last, created_at=stamp(at)))
    assert rows("began_at", "ended_at") == [(at, ended), (again, last)]


def test_news_that_come_late_change_nothing(watcher: Watcher) -> None:
    at = ago(minutes=30)
    watcher.tell(incident_event("incident.resolved", at=ago(minutes=20), created_at=stamp(at)))
    late = watcher.tell(incident_event(at=at))
    assert (late.state, late.words) == ("ignored", "Something newer about it is known.")
    old = watcher.tell(incident_event(at=ago(days=4), id="PSTALE"))
    assert (old.state, old.words) == ("ignored", "It is too old to be news.")
    assert [ended is None for (ended,) in rows("ended_at")] == [False]
    assert not Incident.objects.exists()


def test_more_urgency_raises_the_incident_and_less_does_not(watcher: Watcher) -> None:
    at = ago(minutes=9)
    watcher.tell(incident_event(at=at, urgency="low"))
    assert Incident.objects.get().priority == 3
    for minutes, name in ((8, "P0"), (7, "P4")):
        told = {"created_at": stamp(at), "priority": {"summary": name}}
        watcher.tell(incident_event("incident.priority_updated", at=ago(minutes=minutes), **told))
    assert (Incident.objects.get().priority, rows("priority", "times")) == (0, [(0, 3)])
    assert Note.objects.get(kind="changed").text == "Priority P3 → P0: one of its alerts is more urgent."


def test_what_is_of_no_use_or_our_own_is_ignored(watcher: Watcher) -> None:
    at = ago(minutes=2)
    noted = watcher.tell(incident_event("incident.annotated", at=at))
    ping = watcher.tell(
        {"event": {"id": "01", "event_type": "pagey.ping", "occurred_at": stamp(at), "data": {"message": "Hello"}}}
    )
    ours = watcher.tell(incident_event(at=at, incident_key="agentops/0198/PG-1"))
    assert [one.state for one in (noted, ping, ours)] == ["ignored"] * 3
    assert ours.words == "It was opened from here, to call somebody."
    assert not Alert.objects.exists()


def test_while_the_secret_is_changed_one_right_signature_is_enough(watcher: Watcher) -> None:
    body = json.dumps(incident_event(at=ago(minutes=2))).encode()
    header = f"v1={signed(body, 'the next one')}, v1={signed(body)}"
    assert watcher.post(body, **{"x-pagerduty-signature": header}).status_code == 200


def test_what_is_not_signed_is_turned_away(watcher: Watcher) -> None:
    body = json.dumps(incident_event(at=ago(minutes=2))).encode()
    right = signed(body)
    wrong = [
        "", "v1=", right, f"v0={right}", f"v1={right[:-1]}", f"v1={right.upper()}x", "v1=\xe9", "," * 3_000,
        "v1=" + "0" * 5_000, f"v1={signed(body, 'another')}", ",".join(["v1=00"] * 10 + [f"v1={right}"]),
    ]  # fmt: skip
    answers = [watcher.post(body, **{"x-pagerduty-signature": header}) for header in wrong]
    answers.append(watcher.post(body + b" ", **{"x-pagerduty-signature": f"v1={right}"}))
    assert {(answer.status_code, answer.json()["error"]["code"]) for answer in answers} == {(401, "UNVERIFIED")}
    assert not WebhookDelivery.objects.exists()


def bad(**changes: Any) -> dict[str, Any]:
    told = incident_event(at=ago(minutes=2))["event"]
    return {"event": {**told, **changes}}


@pytest.mark.parametrize(
    "told",
    [
        [],
        {"messages": []},
        {"event": []},
        bad(id=7),
        bad(id="with blank"),
        bad(event_type=None),
        bad(event_type="a\u0000b"),
        bad(occurred_at="noon"),
        bad(data=None),
        bad(data={"id": 7}),
        bad(data={"id": "P" * 300, "created_at": stamp(ago(minutes=2))}),
        bad(data={"id": "PT", "created_at": 7}),
        bad(data={"id": "PT", "title": ["x"], "created_at": stamp(ago(minutes=2))}),
    ],
)
def test_a_message_that_is_no_event_is_refused(watcher: Watcher, told: Any) -> None:
    answer = watcher.post(told)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")
    assert not WebhookDelivery.objects.exists()


def test_odd_fields_are_not_guessed_from(watcher: Watcher) -> None:
    at = ago(minutes=2)
    watcher.tell(incident_event(at=at, service="checkout", priority=["P0"], urgency={}, title="\u0000" + "t" * 900))
    row = Alert.objects.get()
    assert (row.service, row.priority, len(row.rule)) == ("", 2, 200)
    assert row.began_at - at < timedelta(microseconds=1)
