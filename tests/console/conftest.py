from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.agents.operations import create_agent
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, ToolCall, Usage
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import start_session
from approvals.models import ApprovalRequest, Verdict
from approvals.operations import decide_request
from tests.factories.people import Cast, make_cast
from tests.factories.toy import Toy

TELL = ToolCall("note", {"text": "Told the customer."})
LOOK = ToolCall("look", {"account": "a-1"}, "I need the balance.")
DONE = FinalAnswer("All done.", verified=("the payment is booked",), left=("nothing else",))


def pay(minor: int = 500) -> ToolCall:
    return ToolCall("pay", {"account": "a-1", "minor": minor}, "The customer asked for it.")


@dataclass
class Stage:
    """The cast, an agent that follows scripts, and what people do with it."""

    cast: Cast
    toy: Toy
    agent: Agent

    def work(self, *script: object, text: str = "Please pay.", usage: Usage | None = None) -> Session:
        """Run a scripted session as far as it goes."""
        work_id = f"w-{len(self.toy.works) + 1}"
        self.toy.add_work(work_id, text)
        self.toy.taken.add(work_id)
        self.toy.planner = ScriptedPlanner(script, usage=usage)
        session = start_session(agent=self.agent, subject_id=work_id, actor="user:bob")
        return self.go_on(session)

    def go_on(self, session: Session) -> Session:
        """Let the workers do what is runnable."""
        work_until_quiet()
        session.refresh_from_db()
        return session

    def decide(self, session: Session, verdict: Verdict, reason: str = "") -> ApprovalRequest:
        """Let Alice decide the session's open request."""
        request = ApprovalRequest.objects.get(session_id=session.pk, state="pending")
        decide_request(
            request_id=request.pk,
            person=self.cast.alice,
            verdict=verdict,
            digest=request.digest,
            reason=reason,
            checked="the invoice" if verdict is Verdict.APPROVE else "",
            now=timezone.now(),
        )
        request.refresh_from_db()
        return request


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Toy]:
    """The toy role as the only role of the installation."""
    toy = Toy()
    spec = toy.spec()
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
    return toy


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.fixture
def stage(toy: Toy, cast: Cast) -> Stage:
    agent = create_agent(tenant_id=cast.tenant.pk, role=roles.get_role("toy"), name="Payer", actor="user:bob")
    return Stage(cast, toy, agent)


def signed_in(person: User, **options: Any) -> Client:
    """A browser in which the person is signed in."""
    client = Client(**options)
    client.force_login(person)
    return client


@pytest.fixture
def alice(cast: Cast) -> Client:
    return signed_in(cast.alice)


@pytest.fixture
def bob(cast: Cast) -> Client:
    return signed_in(cast.bob)


@pytest.fixture
def charlie(cast: Cast) -> Client:
    return signed_in(cast.charlie)
