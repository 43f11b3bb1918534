"""An incident is as urgent to workers as its priority says: they leave what is less urgent between two steps."""

import pytest

from agentops.ledger.queries import events_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import PlanContext, Proposal, ToolCall
from agentops.runtime.models import Session
from agentops.runtime.operations import start_session
from agentops.runtime.sweep import sweep_once
from sre_agent.models import Incident
from tests.factories.people import make_cast
from tests.factories.sre_desk import DONE, OVER, Site, make_desk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    return make_desk(make_cast(queue="sre-changes"), monkeypatch)


def kinds(session: Session) -> list[str]:
    return [event.type for event in events_of(session.pk)]


@pytest.mark.parametrize(
    ("ours", "theirs", "gives_way"),
    [(2, 1, True), (2, 0, True), (3, 1, True), (3, 2, True), (4, 2, True), (1, 0, False), (2, 2, False), (2, 3, False)],
)
def test_a_session_makes_way_for_a_more_urgent_incident(site: Site, ours: int, theirs: int, gives_way: bool) -> None:
    """The only worker is at the first step of one incident when alerts open the other."""
    order: list[str] = []

    def choose(context: PlanContext) -> Proposal:
        name, step = context.subject.id, len(context.history)
        order.append(name)
        if name == "INC-1" and not Incident.objects.filter(ref="INC-2").exists():
            site.incident("search", ref="INC-2", priority=theirs)
            Incident.objects.filter(ref="INC-2").update(taken_at=None)
            sweep_once()
        return (ToolCall("read_incident", {}), ToolCall("list_services", {}), OVER, DONE)[step]

    site.script.append(ScriptedPlanner(choose))
    first = site.incident("mailer", priority=ours)
    session = site.go_on(start_session(agent=site.agent, subject_id=first.ref, actor="user:bob"))
    urgent = Session.objects.get(subject_id="INC-2")
    expected = ["INC-1", *["INC-2"] * 4, *["INC-1"] * 3] if gives_way else ["INC-1"] * 4 + ["INC-2"] * 4
    assert order == expected
    assert (session.status, urgent.status) == ("finished", "finished")
    given_up = [event for event in events_of(session.pk) if event.type == "session.preempted"]
    assert [event.facts["for"] for event in given_up] == ([str(urgent.pk)] if gives_way else [])
    assert "session.preempted" not in kinds(urgent)
