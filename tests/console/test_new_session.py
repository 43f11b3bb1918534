"""Giving work to an agent."""

import pytest
from django.test import Client

from agentops.agents.models import Agent
from agentops.agents.operations import create_agent
from agentops.ledger.models import LedgerEvent
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.role import Intake
from agentops.runtime.models import Session
from agentops.runtime.operations import start_session
from tests.console.conftest import DONE, TELL, Stage


def fields(stage: Stage, **changes: str) -> dict[str, str]:
    typed = {"sender": "dana@example.com", "subject": "A lamp", "body": "It is broken.", "ticket": ""}
    return {"role": str(stage.agent.pk), **typed, **changes}


def errors(client: Client, data: dict[str, str]) -> dict[str, list[str]]:
    response = client.post("/sessions/new/", data)
    assert response.status_code == 200
    assert Session.objects.count() == 0
    return dict(response.context["form"].errors)


def test_typed_request_starts_a_session(stage: Stage, bob: Client) -> None:
    response = bob.post("/sessions/new/", fields(stage))
    session = Session.objects.get()
    assert response.headers["Location"] == f"/sessions/{session.pk}/"
    assert (session.status, session.created_by, session.subject_id) == ("queued", "user:bob", "w-1")
    assert stage.toy.works["w-1"].text == "It is broken."
    assert LedgerEvent.objects.get(stream=session.pk).actor == "user:bob"


def test_waiting_subject_is_offered_and_started(stage: Stage, bob: Client) -> None:
    stage.toy.add_work("w-7")
    page = bob.get("/sessions/new/").content.decode()
    assert "w-7 · Work w-7 · ann@example.com" in page
    bob.post("/sessions/new/", {"role": str(stage.agent.pk), "ticket": "toy:w-7"})
    assert Session.objects.get().subject_id == "w-7"


def test_second_session_on_the_same_work_is_refused_in_words(stage: Stage, bob: Client) -> None:
    stage.toy.add_work("w-7")
    start_session(agent=stage.agent, subject_id="w-7", actor="user:bob")
    page = bob.post("/sessions/new/", {"role": str(stage.agent.pk), "ticket": "toy:w-7"}).content.decode()
    assert "A session is already working on this." in page
    assert "Open the session that is already there" in page
    assert Session.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"role": ""}, {"role"}),
        ({"role": "00000000-0000-0000-0000-000000000000"}, {"role"}),
        ({"sender": ""}, {"sender"}),
        ({"sender": "not an address"}, {"sender"}),
        ({"body": "  "}, {"body"}),
        ({"sender": "", "body": ""}, {"sender", "body"}),
        ({"body": "a\x00b"}, {"body"}),
        ({"subject": "x" * 201}, {"subject"}),
        ({"body": "x" * 50_001}, {"body"}),
        ({"ticket": "toy:nothing"}, {"ticket"}),
        ({"ticket": "toy:w-9"}, {"ticket"}),
    ],
)
def test_bad_request_starts_nothing(stage: Stage, bob: Client, changes: dict[str, str], wrong: set[str]) -> None:
    stage.toy.add_work("w-9")
    assert set(errors(bob, fields(stage, **changes))) == wrong


def test_other_tenants_agent_and_inactive_agent_are_no_choice(stage: Stage, bob: Client) -> None:
    foreign = create_agent(tenant_id=stage.cast.other.pk, role=roles.get_role("toy"), name="Far", actor="user:root")
    assert set(errors(bob, fields(stage, role=str(foreign.pk)))) == {"role"}
    Agent.objects.filter(pk=stage.agent.pk).update(is_active=False)
    assert set(errors(bob, fields(stage))) == {"role"}


def test_refusal_of_the_role_leaves_nothing_behind(stage: Stage, bob: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(tenant: object, intake: Intake) -> str:
        return "w-does-not-exist"

    spec = stage.toy.spec()
    object.__setattr__(spec, "open_subject", refuse)
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
    assert errors(bob, fields(stage)) == {
        "__all__": ["There is no such work. Open the session that is already there, or choose another agent."]
    }


def test_form_keeps_and_escapes_what_was_typed(stage: Stage, bob: Client) -> None:
    page = bob.post(
        "/sessions/new/", fields(stage, sender="", body="</textarea><script>alert(1)</script>")
    ).content.decode()
    assert "<script>alert" not in page
    assert "&lt;/textarea&gt;&lt;script&gt;alert(1)" in page
    assert "Say whose request it is." in page


def test_started_session_runs(stage: Stage, bob: Client) -> None:
    bob.post("/sessions/new/", fields(stage))
    stage.toy.planner = ScriptedPlanner([TELL, DONE])
    assert stage.go_on(Session.objects.get()).status == "finished"
