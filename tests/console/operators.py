"""What the tests of the operators' pages share: people, words, and sessions in every kind of trouble."""

import html
import re
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.tool import OutcomeUnknown
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import start_session
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Freeze, Role
from tests.console.conftest import DONE, Stage, pay, signed_in
from tests.factories.people import make_admin, make_person


def words_of(page: str) -> str:
    """The page's text as a reader sees it, with plain blanks."""
    body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).replace("\u00a0", " ").split())


def read(client: Client, url: str, **params: Any) -> str:
    """The words of a page."""
    response = client.get(url, params)
    assert response.status_code == 200
    return words_of(response.content.decode())


def queries_of(client: Client, url: str) -> int:
    """How many queries a page costs."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    return len(queries)


def admin_of(stage: Stage, name: str = "dora") -> Client:
    """An admin of the tenant."""
    return signed_in(make_person(name, stage.cast.tenant, Role.ADMIN))


def superuser_of(stage: Stage, name: str = "root", tenant: Any = None) -> Client:
    """A superuser who is an admin of the tenant, too."""
    return signed_in(make_admin(name, tenant or stage.cast.tenant))


def freeze_by(client: Client, where: str = "tenant", tool: str = "", reason: str = "Wrong amounts.") -> Freeze:
    """Freeze through the form."""
    response = client.post("/operations/freezes/new/", {"where": where, "tool": tool, "reason": reason})
    assert response.status_code == 302, words_of(response.content.decode())
    return Freeze.objects.latest("frozen_at")


def queue_up(stage: Stage, *script: object) -> Session:
    """Start a scripted session that no worker has claimed."""
    work_id = f"w-{len(stage.toy.works) + 1}"
    stage.toy.add_work(work_id)
    stage.toy.taken.add(work_id)
    stage.toy.planner = ScriptedPlanner(script or (DONE,))
    return start_session(agent=stage.agent, subject_id=work_id, actor="user:bob")


def become_unknown(stage: Stage, minor: int = 500) -> Invocation:
    """Let a payment end so that nobody knows whether it took effect, although it did."""
    stage.toy.vendor.after.append(OutcomeUnknown("timed out"))
    stage.toy.vendor.deaf = True
    session = stage.work(pay(minor), DONE)
    for _ in range(2):
        Session.objects.filter(pk=session.pk).update(wake_at=timezone.now())
        sweep_once()
        stage.go_on(session)
    stage.toy.vendor.deaf = False
    call = Invocation.objects.get(session_id=session.pk, tool="pay")
    assert call.state == "unknown"
    return call
