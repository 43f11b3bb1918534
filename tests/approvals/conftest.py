from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.agents.models import Agent
from agentops.agents.operations import create_agent
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.operations import start_session
from approvals.models import ApprovalRequest
from tests.factories.people import Cast, make_cast
from tests.factories.toy import Toy


@dataclass
class Stage:
    """The cast, an agent that may be told to pay, and the pages as people open them."""

    cast: Cast
    toy: Toy
    agent: Agent

    def ask(self, minor: int = 5000, *, text: str = "Please pay.", rationale: str = "It is owed.") -> ApprovalRequest:
        """Run a session as far as its question about paying ``minor`` cents, and return the question."""
        work_id = f"w-{len(self.toy.works) + 1}"
        self.toy.add_work(work_id, text, customer="ann")
        self.toy.taken.add(work_id)
        look = ToolCall("look", {"account": "a-1"})
        pay = ToolCall("pay", {"account": "a-1", "minor": minor}, rationale)
        self.toy.planner = ScriptedPlanner([look, pay, FinalAnswer("Done.")])
        session = start_session(agent=self.agent, subject_id=work_id, actor="user:bob")
        work_until_quiet()
        return ApprovalRequest.objects.get(session_id=session.pk)

    def work(self) -> int:
        """Let the agents go on."""
        return work_until_quiet()


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Toy]:
    """The toy role as the only role of the installation."""
    toy = Toy()
    spec = toy.spec()
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
    return toy


@pytest.fixture
def cast(db: None) -> Cast:
    """The cast; Bob may read what waits for Alice."""
    cast = make_cast()
    assign_perm("approvals.see_queue", cast.bob, cast.queue)
    return cast


@pytest.fixture
def stage(toy: Toy, cast: Cast) -> Stage:
    agent = create_agent(tenant_id=cast.tenant.pk, role=roles.get_role("toy"), name="Payer", actor="user:bob")
    return Stage(cast, toy, agent)


def client_of(person: User, **options: Any) -> Client:
    """A browser in which the person is signed in."""
    client = Client(**options)
    client.force_login(person)
    return client


@pytest.fixture
def alice(stage: Stage) -> Client:
    return client_of(stage.cast.alice)


@pytest.fixture
def bob(stage: Stage) -> Client:
    return client_of(stage.cast.bob)


@pytest.fixture
def charlie(stage: Stage) -> Client:
    return client_of(stage.cast.charlie)


def queue_url(**parameters: str) -> str:
    return f"{reverse('approval_queue')}?{urlencode(parameters)}"


def page_url(request: ApprovalRequest) -> str:
    return reverse("approval_request", args=[request.pk])


Decide = Callable[..., HttpResponse]


def decide(client: Client, request: ApprovalRequest, verb: str = "approve", **fields: Any) -> HttpResponse:
    """Send the form of the request's page."""
    data = {"verb": verb, "digest": request.digest, **fields}
    if verb == "approve":
        data.setdefault("checked", "Looked at it.")
    return client.post(reverse("approval_decide", args=[request.pk]), data)


def overdue(request: ApprovalRequest) -> None:
    """Let the request's time be over, unrecorded yet."""
    ApprovalRequest.objects.filter(pk=request.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
