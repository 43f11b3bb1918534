"""An incident from the first alert to its post-mortem, through the doors that monitoring, workers and people use.

Nothing is stood in for: the installed role with its offline playbook, the estate, the queue in the browser, the ledger.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.agents.models import Agent
from agentops.kernel.clock import utcnow
from agentops.ledger.queries import events_of
from agentops.registry.roles import get_role
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import employ_agent
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalQueue, ApprovalRequest
from sre_agent.connectors.moving import found_estate, move
from sre_agent.estate.company import company, trouble
from sre_agent.estate.values import TICK_S, Trouble
from sre_agent.models import Alert, Incident, Landscape, Operation
from sre_agent.scenarios.stage import passes, until_alert
from tests.factories.hooks import put_secrets
from tests.factories.monitoring import TOKEN, Watcher, alert, make_watcher
from tests.factories.people import Cast, make_cast
from tests.factories.reading import words_of
from tests.factories.sre import make_shift

pytestmark = pytest.mark.django_db

SERVICE, SEED = "search", 3
BAD, GOOD = "1.10.0", "1.9.0"
HOSTILE = "<img src=x onerror=alert(1)> | **resolved** [here](http://evil.example) \u202eexe ``` approved by admin"
MOST_TURNS = 30


@dataclass
class House:
    """A tenant whose search fails since its latest release, its people's browsers, and its monitoring."""

    cast: Cast
    alice: Client
    bob: Client
    monitoring: Watcher

    @property
    def session(self) -> Session:
        return Session.objects.get()

    @property
    def agent(self) -> Agent:
        return Agent.objects.get()

    def release(self) -> str:
        """The release of the service that the estate runs."""
        return str(Landscape.objects.get().state["services"][SERVICE]["releases"][-1]["version"])

    def work(self) -> Session:
        """Let the sweep and the workers do what can be done until people are asked or it is over."""
        for _ in range(MOST_TURNS):
            sweep_once()
            work_until_quiet()
            session = self.session
            if session.status != "sleeping":
                return session
            assert session.wake_at is not None
            passes(session.tenant_id, max(int((session.wake_at - utcnow()).total_seconds()), TICK_S))
            Session.objects.filter(pk=session.pk).update(wake_at=utcnow())
        raise AssertionError(f"the session is {self.session.status} after {MOST_TURNS} turns")

    def decide(self, verb: str = "approve", **fields: str) -> ApprovalRequest:
        """Alice opens what waits for her and sends the form of its page."""
        request = ApprovalRequest.objects.get(state="pending")
        page = self.alice.get(f"/approvals/{request.pk}/")
        assert page.status_code == 200
        assert "onerror=alert" not in page.content.decode().replace("&lt;img src=x onerror=alert", "")
        read = re.findall(r'name="opened" value="([^"]+)"', page.content.decode())
        said = {"verb": verb, "digest": request.digest, "checked": "The release and its errors."}
        data = {**said, "opened": read, **fields}
        answer = self.alice.post(f"/approvals/{request.pk}/decide/", data)
        assert answer.status_code == 302, words_of(answer.content.decode())
        request.refresh_from_db()
        return request


def browser(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=name)
    return client


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> House:
    cast = make_cast(queue="sre-changes")
    employ_agent(tenant_id=cast.tenant.pk, role=get_role("sre"), name="SRE", actor="user:bob")
    for queue in ApprovalQueue.objects.filter(tenant=cast.tenant):
        assign_perm("approvals.decide_queue", cast.alice, queue)
    cache.clear()
    put_secrets(monkeypatch, cast.tenant, alertmanager_token=TOKEN)
    estate, now = company(SEED, trouble(Trouble.BAD_DEPLOY, SERVICE, 20, SEED)), timezone.now()
    ticks = until_alert(estate) + 1
    began = now - timedelta(seconds=ticks * TICK_S)
    found_estate(tenant_id=cast.tenant.pk, estate=estate, now=began, seconds_a_tick=0)
    move(cast.tenant.pk, ticks, now)
    make_shift(cast.tenant, starts_at=now - timedelta(hours=1), ends_at=now + timedelta(hours=8))
    return House(cast, browser("alice"), browser("bob"), make_watcher(cast.tenant))


def fires(house: House, **fields: Any) -> None:
    """Alertmanager tells of the service's errors, as many times as it likes."""
    began = utcnow() - timedelta(seconds=30)
    told = alert(service=SERVICE, began=began, ANNOTATIONS={"summary": HOSTILE}, **fields)
    house.monitoring.alerts(told)
    house.monitoring.alerts(told)


def is_over(house: House) -> None:
    """Alertmanager says that the errors have stopped."""
    row = Alert.objects.get(source="alertmanager")
    told = alert(service=SERVICE, began=row.began_at, ended=utcnow(), ANNOTATIONS={"summary": HOSTILE})
    house.monitoring.alerts(
        told | {"fingerprint": row.fingerprint, "startsAt": f"{row.began_at:%Y-%m-%dT%H:%M:%S.%fZ}"}
    )


def post_mortem(client: Client, incident: Incident) -> str:
    """Download the draft as the button on the page does."""
    answer = client.post(f"/sre/incidents/{incident.ref}/post-mortem/")
    assert answer["Content-Disposition"] == f'attachment; filename="post-mortem-{incident.ref}.md"'
    return answer.content.decode()


def unescaped(text: str) -> list[str]:
    """What Markdown would take for more than words: marks of the hostile text without a backslash before them."""
    return re.findall(r"(?<!\\)(?:<img|\*\*|\[here|\]\(http://evil)|\u202e", text)


def rows_of(answer: HttpResponse) -> list[str]:
    """The rows of the timeline on the page, as a reader sees them."""
    table = re.findall(r'<table class="table cards log">.*?</table>', answer.content.decode(), re.S)[0]
    return [words_of(f"<main>{row}</main>") for row in re.findall(r"<tr data-row>.*?</tr>", table, re.S)]


def section(text: str, name: str) -> str:
    return text.split(f"\n## {name}\n")[1].split("\n## ", maxsplit=1)[0]


def test_from_an_alert_to_the_post_mortem(house: House, settings: LazySettings) -> None:
    settings.SITE_URL = "https://control.example/"
    fires(house)
    incident = Incident.objects.get()
    session = house.work()
    assert (session.subject_id, session.status, session.planner) == (
        incident.ref,
        "waiting_approval",
        "offline playbook",
    )
    assert (house.release(), list(Operation.objects.exclude(target=""))) == (BAD, [])

    request = house.decide()
    assert (request.tool, request.arguments["release"], request.state) == ("roll_back", GOOD, "approved")
    work_until_quiet()
    assert house.release() == GOOD
    assert house.session.status == "sleeping"
    is_over(house)
    session = house.work()
    assert (session.status, session.outcome) == ("finished", "resolved")
    incident.refresh_from_db()
    assert (incident.status, Alert.objects.filter(ended_at=None).count()) == ("resolved", 0)
    reads = [event.facts["tool"] for event in events_of(session.pk) if event.type == "call.read"]
    assert "verify_change" in reads

    page_tells(house.bob, incident, session, request)
    post_mortem_tells(house.bob, incident, session, request)


def step_of(session: Session, request: ApprovalRequest) -> str:
    return f"/sessions/{session.pk}/?at={request.position}#step-{request.position}"


def page_tells(bob: Client, incident: Incident, session: Session, request: ApprovalRequest) -> None:
    """The incident's page has the change with its command, answer, who made it who let it, and a link to its step."""
    page = bob.get(f"/sre/incidents/{incident.ref}/")
    assert "onerror=alert(1)>" not in page.content.decode()
    assert "\u202e" not in page.content.decode()
    rows = rows_of(page)
    (rolled,) = [row for row in rows if f"from {BAD} to {GOOD} (done)" in row]
    assert "kubectl" in rolled
    assert f'"release": "{GOOD}"' in rolled or GOOD in rolled
    assert rolled.endswith(f"{events_actor(session)} allowed by user:alice")
    assert any(f"service:{SERVICE} is sound." in row for row in rows)
    assert any("ErrorsHigh of search has stopped." in row for row in rows)
    step = step_of(session, request)
    assert f'href="{step}"' in page.content.decode()
    assert f'id="step-{request.position}"' in bob.get(step.split("#", maxsplit=1)[0]).content.decode()


def post_mortem_tells(bob: Client, incident: Incident, session: Session, request: ApprovalRequest) -> None:
    """The draft has impact, times, actions and evidence, and nothing that anybody wrote is more than words in it."""
    when = Operation.objects.get(target=f"service:{SERVICE}")
    text = post_mortem(bob, incident)
    (action,) = [part for part in section(text, "Actions").split("\n### ") if "Roll" in part]
    assert "allowed by: user\\:alice" in action
    assert f"by {events_actor(session).replace(':', chr(92) + ':')}" in action
    assert "kubectl" in action.split("Command:")[1].split("Output:")[0]
    assert '"version"' in action.split("Output:")[1]
    assert '"release": "1.10.0"' in action.split("Taken back by:")[1]
    impact = section(text, "Impact")
    assert f"| Services | {SERVICE} |" in impact
    assert f"| Began | {incident.opened_at:%Y-%m-%d %H:%M:%S} +0000 |" in impact
    assert incident.resolved_at is not None
    assert f"| Ended | {incident.resolved_at:%Y-%m-%d %H:%M:%S} +0000 |" in impact
    failed = re.search(r"\| Failed requests \| ([\d,]+) \|", impact)
    assert failed is not None
    assert int(failed[1].replace(",", "")) > 0
    assert f"[step](https://control.example{step_of(session, request)})" in section(text, "Evidence")
    assert f"service:{SERVICE} is sound." in section(text, "Verification").replace("\\", "")
    assert f"{when.at:%Y-%m-%d %H:%M}" in section(text, "Timeline")
    assert unescaped(text) == []
    assert "approved by admin" in text
    assert section(text, "Cause").strip() != "It is not known."


def events_actor(session: Session) -> str:
    """Whom the ledger names as the one who proposed."""
    return next(event.actor for event in events_of(session.pk) if event.type == "approval.requested")


def test_what_somebody_typed_in_and_alice_rejected_changes_nothing_and_is_told(house: House) -> None:
    typed = {"subject": f"{HOSTILE} fails", "body": f"service: {SERVICE}\nIt fails.", "sender": "bob@example.com"}
    answer = house.bob.post("/sessions/new/", {"role": str(house.agent.pk), "ticket": "", **typed})
    assert answer.status_code == 302, words_of(answer.content.decode())
    session = house.work()
    assert session.status == "waiting_approval"
    house.decide("reject", why="The release is needed.")
    session = house.work()
    assert (session.status, session.outcome) == ("finished", "escalated")
    assert (house.release(), list(Operation.objects.exclude(target=""))) == (BAD, [])
    incident = Incident.objects.get(ref=session.subject_id)
    assert (incident.status, incident.source) == ("escalated", "form")
    rows = rows_of(house.bob.get(f"/sre/incidents/{incident.ref}/"))
    (rejected,) = [row for row in rows if "(refused)" in row]
    assert "The release is needed." in rejected
    assert "user:alice" in rejected
    assert "allowed by" not in rejected
    # Bob mends it himself, on the page.
    seen = {"version": incident.version, "reason": "I know the release."}
    assert house.bob.post(f"/sre/incidents/{incident.ref}/take-over/", seen).status_code == 302
    rows = rows_of(house.bob.get(f"/sre/incidents/{incident.ref}/"))
    assert any(row.endswith("Taken over: I know the release. user:bob") for row in rows)
    text = post_mortem(house.bob, incident)
    assert "allowed by: nobody was asked" in text
    assert "http://testserver/sessions/" in section(text, "Evidence")
    assert unescaped(text) == []
