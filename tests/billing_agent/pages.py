"""What the tests of billing's pages share: agents' calls that made what the pages show."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.llm.scripted import Line, ScriptedPlanner
from agentops.registry import roles
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import employ_agent, start_session
from agentops.tenancy.models import Role, Tenant
from approvals.models import ApprovalQueue, ApprovalRequest, Verdict
from billing_agent.role import ROLE
from tests.factories.deciding import decide_fully
from tests.factories.people import make_person


def work(monkeypatch: pytest.MonkeyPatch, tenant: Tenant, case: str, *script: Line) -> Session:
    """Let a billing agent that follows a script work on a case; Alice approves whatever it asks for."""
    role = replace(ROLE, playbook=lambda: ScriptedPlanner(script))
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    agent = employ_agent(tenant_id=tenant.pk, role=role, name="Billing", actor="tests")
    alice = make_person("alice", tenant, Role.APPROVER)
    for queue in ApprovalQueue.objects.filter(tenant=tenant):
        assign_perm("approvals.decide_queue", alice, queue)
    session = start_session(agent=agent, subject_id=case, actor="user:bob")
    work_until_quiet()
    while request := ApprovalRequest.objects.filter(tenant=tenant, state="pending").first():
        decide_fully(request, alice, Verdict.APPROVE)
        work_until_quiet()
    session.refresh_from_db()
    assert session.status == "finished", (session.status, session.stop_code)
    return session


def make_call(session: Session, key: str, tool: str, money: tuple[int, str] | None, **fields: Any) -> Invocation:
    """Record a call of the session that took effect, as its projection has it; a ``state`` says otherwise."""
    now = timezone.now()
    given: dict[str, Any] = {
        "session_id": session.pk,
        "tenant_id": session.tenant_id,
        "position": 100 + Invocation.objects.filter(session_id=session.pk).count(),
        "tool": tool,
        "tool_version": 1,
        "arguments": {},
        "preview": {"effect": "Do it", "money": None if money is None else list(money)},
        "state": "succeeded",
        "idempotency_key": key,
        "created_at": now,
        "intended_at": now - timedelta(seconds=1),
    }
    return Invocation.objects.create(**(given | fields))


def step_of(session_id: UUID, position: int) -> str:
    """The address of a step in its session."""
    return f"/sessions/{session_id}/?at={position}#step-{position}"
