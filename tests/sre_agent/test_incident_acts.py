"""People work on an incident on its page: they acknowledge it, take it over, resolve it and open it again."""

from dataclasses import replace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import ToolCall
from agentops.registry.tool import ToolFailure
from agentops.runtime.models import Session
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Role, Tenant
from sre_agent.connectors import claiming
from sre_agent.connectors.act_rules import TakeOver
from sre_agent.connectors.desk import EmbeddedDesk
from sre_agent.connectors.desk_acts import Asked, act_on
from sre_agent.connectors.desk_people import NotPossible
from sre_agent.connectors.port import ReopenIncident
from sre_agent.estate.company import trouble
from sre_agent.estate.values import Trouble
from sre_agent.models import Claim, Incident, Note
from tests.factories.people import Cast, make_cast
from tests.factories.reading import reader_of, words_of
from tests.factories.sre import HOUR, at_once, context_of, make_alert, make_incident, make_tenant
from tests.factories.sre_desk import DONE, Site, make_desk, reads, write

pytestmark = pytest.mark.django_db

CAUSE, REMEDY, WHY = "Release 1.10.0 fails.", "Rolled back by hand.", "I know this service."
RESOLVED = {"cause": CAUSE, "remedy": REMEDY}
HOSTILE = "<script>alert(1)</script>\u202egnp.exe **bold** | cell"
PAGE = "/sre/incidents/INC-1/"


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def incident(tenant: Tenant) -> Incident:
    now = timezone.now()
    return make_incident(tenant, opened_at=now - HOUR, taken_at=now - HOUR)


@pytest.fixture
def bob(tenant: Tenant) -> Client:
    return reader_of(tenant)


def do(client: Client, act: str, seen: int = 1, **fields: str) -> HttpResponse:
    """Send the form of an act on a version of the incident."""
    return client.post(f"{PAGE}{act}/", {"version": seen, **fields})


def said(answer: HttpResponse) -> str:
    return words_of(answer.content.decode())


def notes(incident: Incident) -> list[tuple[str, str, str]]:
    return list(incident.notes.order_by("id").values_list("kind", "actor", "text"))


def on_record() -> list[tuple[str, str, dict[str, Any], dict[str, str]]]:
    """What the ledger has of people's acts: type, actor, facts, and whose work it was."""
    events = LedgerEvent.objects.filter(type__startswith="work.").order_by("position")
    return [(event.type, event.actor, event.facts, event.refs) for event in events]


def fact(act: str, seen: int = 1, **more: str) -> dict[str, Any]:
    return {"role": "sre", "act": act, "incident": "INC-1", "version": seen, **more}


def offered(client: Client) -> list[str]:
    return [act.name for act in client.get(PAGE).context["page"].acts]


def test_an_incident_is_acknowledged_with_a_note_and_goes_on(bob: Client, incident: Incident) -> None:
    assert do(bob, "acknowledge", note="Looking at the release.").status_code == 302
    incident.refresh_from_db()
    assert (incident.status, incident.acknowledged_by, incident.version) == ("open", "user:bob", 2)
    assert notes(incident) == [("changed", "user:bob", "Acknowledged: Looking at the release.")]
    assert on_record() == [("work.changed", "user:bob", fact("acknowledge"), {"subject": "INC-1"})]
    event = LedgerEvent.objects.get(type="work.changed")
    assert payload_of(event.stream, event.position) == {"note": "Looking at the release."}
    assert offered(bob) == ["take_over", "resolve"]
    assert "acknowledged by user:bob" in said(bob.get(PAGE))
    again = do(bob, "acknowledge", seen=2)
    assert (again.status_code, "was acknowledged already" in said(again)) == (409, True)
    assert on_record()[1:] == [
        ("work.refused", "user:bob", fact("acknowledge", 2, why="NOT_POSSIBLE"), {"subject": "INC-1"})
    ]


def test_who_takes_an_incident_over_has_it_until_they_give_it_back(bob: Client, incident: Incident) -> None:
    claiming.take(incident.tenant_id, "service:checkout", "INC-1", timezone.now())
    assert do(bob, "take-over", reason=WHY).status_code == 302
    incident.refresh_from_db()
    held = (incident.status, incident.held_by, incident.acknowledged_by)
    assert held == ("escalated", "user:bob", "user:bob")
    assert not Claim.objects.filter(until__gt=timezone.now()).exists()
    assert offered(bob) == ["resolve", "reopen"]
    ann = reader_of(incident.tenant, name="ann")
    assert offered(ann) == ["take_over", "resolve", "reopen"]
    assert do(ann, "take-over", seen=2, reason="Bob sleeps.").status_code == 302
    assert do(ann, "reopen", seen=3, reason="The agent may go on.").status_code == 302
    incident.refresh_from_db()
    state = (incident.status, incident.held_by, incident.acknowledged_by, incident.taken_at)
    assert state == ("open", "", "", None)
    assert notes(incident) == [
        ("escalated", "user:bob", f"Taken over: {WHY}"),
        ("escalated", "user:ann", "Taken over: Bob sleeps."),
        ("reopened", "user:ann", "The agent may go on."),
    ]


@pytest.mark.parametrize("before", ["open", "mitigated", "escalated"])
def test_an_incident_is_resolved_and_opened_again(bob: Client, incident: Incident, before: str) -> None:
    Incident.objects.update(status=before)
    assert do(bob, "resolve", **RESOLVED).status_code == 302
    incident.refresh_from_db()
    assert (incident.status, incident.cause, incident.resolved_at is not None) == ("resolved", CAUSE, True)
    assert notes(incident) == [("found", "user:bob", CAUSE), ("resolved", "user:bob", REMEDY)]
    assert offered(bob) == ["reopen"]
    refused = do(bob, "resolve", seen=2, **RESOLVED)
    assert (refused.status_code, "is resolved. Open it again first." in said(refused)) == (409, True)
    assert do(bob, "reopen", seen=2, reason="It fails again.").status_code == 302
    incident.refresh_from_db()
    assert (incident.status, incident.cause, incident.resolved_at, incident.version) == ("open", "", None, 3)
    assert [(kind, facts["act"]) for kind, _, facts, _ in on_record()] == [
        ("work.changed", "resolve"),
        ("work.refused", "resolve"),
        ("work.changed", "reopen"),
    ]


def test_nothing_is_resolved_while_an_alert_of_it_fires(bob: Client, incident: Incident) -> None:
    alert = make_alert(incident.tenant, incident)
    refused = do(bob, "resolve", **RESOLVED)
    assert refused.status_code == 409
    assert f"is not over: {alert.ref} (ErrorsHigh of checkout) still fires." in said(refused)
    form = next(act.form for act in refused.context["page"].acts if act.name == "resolve")
    assert (form["cause"].value(), form["remedy"].value(), form["version"].value()) == (CAUSE, REMEDY, "1")
    assert notes(incident) == []


def test_whoever_decided_on_an_older_page_is_told_and_keeps_what_they_wrote(bob: Client, incident: Incident) -> None:
    ann = reader_of(incident.tenant, name="ann")
    assert do(ann, "resolve", cause="A spike.", remedy="It passed.").status_code == 302
    late = do(bob, "resolve", **RESOLVED)
    words = said(late)
    assert late.status_code == 409
    assert "Incident INC-1 has changed since you looked; it is resolved now. user:ann wrote last" in words
    assert "Look at how it stands now, and decide again." in words
    assert late.context["page"].kept == [CAUSE, REMEDY]
    assert f"What you wrote, which was not kept: {CAUSE} {REMEDY}" in words
    incident.refresh_from_db()
    assert incident.cause == "A spike."
    assert on_record()[-1][:3] == ("work.refused", "user:bob", fact("resolve", why="CHANGED_MEANWHILE"))
    # What can still be done is offered with the version that is shown now.
    Incident.objects.update(status="open", resolved_at=None, version=9)
    again = do(bob, "take-over", reason=WHY)
    form = next(act.form for act in again.context["page"].acts if act.name == "take_over")
    assert (again.status_code, form["version"].value(), form["reason"].value()) == (409, "9", WHY)
    assert do(bob, "take-over", seen=9, reason=WHY).status_code == 302


def test_a_form_that_was_sent_twice_is_one_act(bob: Client, incident: Incident) -> None:
    assert [do(bob, "resolve", **RESOLVED).status_code for _ in range(3)] == [302, 302, 302]
    other = do(bob, "resolve", cause="Something else.", remedy=REMEDY)
    assert (other.status_code, "You have done this already, in other words." in said(other)) == (409, True)
    assert len(notes(incident)) == 2
    assert [kind for kind, *_ in on_record()] == ["work.changed", "work.refused"]


@pytest.mark.parametrize(
    ("act", "fields"),
    [
        ("resolve", {"cause": " ", "remedy": REMEDY}),
        ("resolve", {"cause": CAUSE}),
        ("resolve", {"cause": "x" * 2_001, "remedy": REMEDY}),
        ("resolve", {"cause": "a\x00b", "remedy": REMEDY}),
        ("take-over", {}),
        ("reopen", {"reason": ""}),
        ("acknowledge", {"version": "x"}),
        ("acknowledge", {"version": "-1"}),
        ("acknowledge", {"version": "9" * 30}),
        ("acknowledge", {"note": "x" * 1_901}),
    ],
)
def test_what_is_not_complete_changes_nothing(
    bob: Client, incident: Incident, act: str, fields: dict[str, str]
) -> None:
    answer = bob.post(f"{PAGE}{act}/", {"version": "1", **fields})
    assert answer.status_code == 422
    incident.refresh_from_db()
    assert (incident.version, incident.status, notes(incident), on_record()) == (1, "open", [], [])


def test_words_that_cannot_be_stored_are_refused(tenant: Tenant, incident: Incident) -> None:
    asked = Asked(tenant.pk, "INC-1", 1, TakeOver("half \ud800 a character"), "user:bob")
    with pytest.raises(NotPossible):
        act_on(asked, now=timezone.now())
    with pytest.raises(NotPossible, match="There is no such incident"):
        act_on(replace(asked, incident_ref="INC-9", act=TakeOver(WHY)), now=timezone.now())
    assert notes(incident) == []
    assert on_record() == [("work.refused", "user:bob", fact("take_over", why="NOT_POSSIBLE"), {"subject": "INC-1"})]


def test_hostile_words_are_shown_and_exported_as_words(bob: Client, incident: Incident) -> None:
    assert do(bob, "acknowledge", note=HOSTILE).status_code == 302
    assert do(bob, "resolve", seen=2, cause=HOSTILE, remedy=HOSTILE).status_code == 302
    late = do(bob, "take-over", seen=1, reason=HOSTILE)
    assert late.status_code == 409
    draft = bob.post(f"{PAGE}post-mortem/")
    for page in (bob.get(PAGE).content.decode(), late.content.decode(), draft.content.decode()):
        assert "<script>alert" not in page
        assert "\u202e" not in page
    assert "**bold**" not in draft.content.decode()


def test_who_may_not_operate_and_other_tenants_find_nothing(tenant: Tenant, incident: Incident) -> None:
    alice = reader_of(tenant, Role.APPROVER, "alice")
    charlie = reader_of(make_tenant("other"), name="charlie")
    for client in (alice, charlie, Client()):
        for act in ("acknowledge", "take-over", "resolve", "reopen"):
            expected = 404 if client in (alice, charlie) else 302
            assert do(client, act, **RESOLVED, reason=WHY).status_code == expected
    assert offered(alice) == []
    assert reader_of(tenant).get(f"{PAGE}resolve/").status_code == 405
    assert (notes(incident), on_record()) == ([], [])


@pytest.mark.django_db(transaction=True)
def test_of_many_who_act_at_once_one_does(tenant: Tenant, incident: Incident) -> None:
    people = [reader_of(tenant, name=f"p{number}") for number in range(6)]
    acts: list[Any] = [
        lambda client=client, number=number: (
            do(client, "resolve", **RESOLVED) if number % 2 else do(client, "take-over", reason=WHY)
        )
        for number, client in enumerate(people)
    ]
    answers = [answer.status_code for answer in at_once(acts)]
    assert sorted(answers) == [302, 409, 409, 409, 409, 409]
    incident.refresh_from_db()
    assert incident.version == 2
    assert sorted(kind for kind, *_ in on_record()) == ["work.changed"] + ["work.refused"] * 5
    assert len({actor for _, actor, _ in notes(incident)}) == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_people_who_open_it_again_at_once_one_does(tenant: Tenant, incident: Incident) -> None:
    Incident.objects.update(status="resolved", resolved_at=timezone.now())
    people = [reader_of(tenant, name=name) for name in ("ann", "bea")]
    acts: list[Any] = [lambda client=client: do(client, "reopen", reason="It fails again.") for client in people]
    assert sorted(answer.status_code for answer in at_once(acts)) == [302, 409]
    assert [kind for kind, _, _ in notes(incident)] == ["reopened"]


@pytest.mark.django_db(transaction=True)
def test_a_double_click_is_one_act_also_at_the_same_moment(bob: Client, tenant: Tenant, incident: Incident) -> None:
    clients = [Client() for _ in range(4)]
    for client in clients:
        client.login(username="bob", password="bob")
    acts: list[Any] = [lambda client=client: do(client, "resolve", **RESOLVED) for client in clients]
    assert [answer.status_code for answer in at_once(acts)] == [302] * 4
    assert len(notes(incident)) == 2
    assert [kind for kind, *_ in on_record()] == ["work.changed"]


@pytest.fixture
def cast() -> Cast:
    return make_cast(queue="sre-changes")


@pytest.fixture
def site(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Site:
    return make_desk(cast, monkeypatch, trouble(Trouble.FULL_DISK, "mailer", 1, 4))


def signed_in(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=name)
    return client


def test_while_a_session_works_on_it_people_take_the_session_over_instead(site: Site) -> None:
    incident = site.incident("mailer", priority=1)
    asks = write("run_runbook", site, "mailer", runbook="archive_logs")
    session = site.work(incident, *reads("mailer"), asks)
    assert session.status == "waiting_approval"
    bob = signed_in("bob")
    page = bob.get(PAGE)
    assert offered(bob) == ["acknowledge"]
    assert f'href="/sessions/{session.pk}/"' in page.content.decode()
    assert "works on it. It is taken over, paused or cancelled there." in said(page)
    for act, fields in (("take-over", {"reason": WHY}), ("resolve", RESOLVED), ("reopen", {"reason": WHY})):
        refused = do(bob, act, **fields)
        assert refused.status_code == 409
        assert "works on it. Take the session over, or cancel it, on its own page." in said(refused)
    assert do(bob, "acknowledge").status_code == 302
    taken = bob.post(f"/sessions/{session.pk}/take-over/", {"reason": WHY})
    assert taken.status_code == 302
    assert "taken over by user:bob" in said(bob.get(PAGE))
    assert bob.post(f"/sessions/{session.pk}/cancel/", {"reason": "By hand.", "sure": "on"}).status_code == 302
    site.go_on(session)
    assert offered(bob) == ["take_over", "resolve"]


def test_what_was_opened_again_is_begun_anew_and_ended_by_an_agent(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_desk(cast, monkeypatch)
    site.incident("search", priority=3)
    bob = signed_in("bob")
    assert do(bob, "resolve", **RESOLVED).status_code == 302
    assert do(bob, "reopen", seen=2, reason="It is slow again.").status_code == 302
    end = ToolCall("resolve_incident", {"cause": "A short spike.", "remedy": "It passed."})
    site.script.append(ScriptedPlanner([*reads("search"), end, DONE]))
    sweep_once()
    session = Session.objects.get(subject_id="INC-1")
    assert site.go_on(session).outcome == "resolved"
    assert do(bob, "reopen", seen=4, reason="Slow once more.").status_code == 302
    sweep_once()
    later = Session.objects.exclude(pk=session.pk).get(subject_id="INC-1")
    assert site.go_on(later).outcome == "resolved"
    assert Incident.objects.get().status == "resolved"
    assert list(Note.objects.filter(kind="resolved").values_list("actor", flat=True)) == ["user:bob", "agent", "agent"]


def test_what_a_person_has_taken_over_no_agent_opens_again(bob: Client, incident: Incident) -> None:
    assert do(bob, "take-over", reason=WHY).status_code == 302
    with pytest.raises(ToolFailure, match="was taken over by a person, who decides what happens next"):
        EmbeddedDesk().write(context_of(incident, "undo"), ReopenIncident("Taken back."))
    incident.refresh_from_db()
    assert (incident.status, incident.held_by) == ("escalated", "user:bob")
