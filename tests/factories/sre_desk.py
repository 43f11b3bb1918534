"""A tenant's estate at rest with incidents about it, worked by a script in the real loop."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from agentops.agents.models import Agent
from agentops.kernel.clock import utcnow
from agentops.ledger.queries import events_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, Observation, Planner, ToolCall
from agentops.registry.tool import CallContext
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import employ_agent, start_session
from agentops.runtime.session import fold
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Tenant
from approvals.models import ApprovalRequest, Verdict
from sre_agent import models
from sre_agent.connectors.embedded import EmbeddedPlatform
from sre_agent.connectors.moving import found_estate, move
from sre_agent.connectors.records import Service
from sre_agent.estate.company import company
from sre_agent.estate.values import Happening
from sre_agent.role import ROLE
from tests.factories.deciding import decide_fully
from tests.factories.people import Cast
from tests.factories.sre import make_incident

OVER = ToolCall("escalate_incident", {"reason": "The script is over.", "summary": "Nothing more was to be done."})
DONE = FinalAnswer("All done.")
_ENDS = ("resolve_incident", "escalate_incident")


@dataclass
class Site:
    """The estate of a tenant, whose clock stands until ``pass_time`` moves it, and the agent that works on it."""

    cast: Cast
    agent: Agent
    script: list[Planner]
    now: datetime

    @property
    def tenant(self) -> Tenant:
        """Whose estate it is."""
        return self.cast.tenant

    def pass_time(self, ticks: int) -> None:
        """Let the estate go on for ``ticks`` of ten seconds."""
        self.now += timedelta(seconds=10 * ticks)
        move(self.tenant.pk, ticks, self.now)

    def service(self, ref: str) -> Service:
        """Return a service as the platform tells."""
        context = CallContext(self.tenant.pk, uuid4(), "", None, self.now)
        return next(each for each in EmbeddedPlatform().services(context) if each.ref == ref)

    def incident(self, service: str, *, ref: str = "INC-1", priority: int = 2) -> models.Incident:
        """Open an incident about a service."""
        words = {"title": f"{service} fails", "text": f"service: {service}"}
        given = {"service": service, "priority": priority, "opened_at": self.now, "taken_at": self.now, **words}
        return make_incident(self.tenant, ref, **given)

    def work(self, incident: models.Incident, *steps: object) -> Session:
        """Work an incident by these steps, as far as it goes, and hand it over when they do not end it."""
        ended = any(getattr(step, "tool", "") in _ENDS for step in steps[-1:])
        self.script.append(ScriptedPlanner([*steps, *(() if ended else (OVER,)), DONE]))
        session = start_session(agent=self.agent, subject_id=incident.ref, actor="user:bob")
        return self.go_on(session)

    def go_on(self, session: Session) -> Session:
        """Work until nothing can go on by itself; whoever sleeps is due at once."""
        work_until_quiet()
        session.refresh_from_db()
        return session

    def wake(self, session: Session) -> Session:
        """Go on with a session that sleeps."""
        Session.objects.filter(pk=session.pk, status="sleeping").update(wake_at=utcnow())
        sweep_once()
        return self.go_on(session)

    def approve(self, session: Session) -> Session:
        """Let as many people as it takes agree to what the session waits for, and go on."""
        decide_fully(
            ApprovalRequest.objects.get(session_id=session.pk, state="pending"), self.cast.alice, Verdict.APPROVE
        )
        return self.go_on(session)


def make_desk(cast: Cast, monkeypatch: pytest.MonkeyPatch, *happenings: Happening) -> Site:
    """Make the estate after ten quiet minutes, and employ an agent whose planner is a script."""
    script: list[Planner] = []
    role = replace(ROLE, playbook=lambda: script[-1])
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    agent = employ_agent(tenant_id=cast.tenant.pk, role=role, name="SRE", actor="user:bob")
    site = Site(cast, agent, script, utcnow())
    found_estate(tenant_id=cast.tenant.pk, estate=company(4, *happenings), now=site.now, seconds_a_tick=0)
    site.pass_time(60)
    return site


def reads(service: str) -> tuple[ToolCall, ...]:
    """Return the look-ups that a change of a service needs."""
    named = {"service": service}
    return (
        ToolCall("read_incident", {}),
        ToolCall("list_services", {}),
        ToolCall("describe_service", named),
        ToolCall("read_logs", {**named, "minutes": 30}),
        ToolCall("read_metrics", {**named, "minutes": 30}),
        ToolCall("list_deploys", {**named, "hours": 168}),
        ToolCall("list_runbooks", {}),
    )


def write(tool: str, site: Site, service: str, *, at: int = 0, **more: Any) -> ToolCall:
    """Return a write on a service as it is now, or ``at`` versions later."""
    seen = site.service(service).version + at
    return ToolCall(tool, {"service": service, "seen_version": seen, "reason": "It fails.", **more}, "It fails.")


def history(session: Session) -> list[Observation]:
    """Return what the planner was told of each step."""
    return list(fold(events_of(session.pk)).history)


def told(session: Session) -> list[tuple[str, str, str]]:
    """Return what became of each write of the script: the tool, how it ended, and the code and words of a refusal."""
    found = []
    for seen in history(session):
        tool = ROLE.tool(seen.tool)
        if tool is not None and tool.is_write and seen.arguments != OVER.arguments:
            result = seen.result
            found.append(
                (seen.tool, seen.status.value, f"{result.get('code', '')} {result.get('message', '')}".strip())
            )
    return found


def asked(session: Session) -> list[tuple[str, int, list[str]]]:
    """Return each question to people: the tool, how many of them, and the rules that ask."""
    rows = ApprovalRequest.objects.filter(session_id=session.pk).order_by("id")
    return [(row.tool, row.people, sorted(rule for rule, effect, _ in row.reasons if effect == "ask")) for row in rows]


def changed(site: Site) -> list[tuple[str, str]]:
    """Return the changes of the platform that took effect, and for which incident."""
    rows = models.Operation.objects.filter(tenant=site.tenant).exclude(target="").order_by("id")
    return [(row.action, row.incident_ref) for row in rows]
