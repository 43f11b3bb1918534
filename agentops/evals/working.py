"""Working one scenario: its tenant, its sessions one after the other, and what came of them."""

import json
from collections.abc import Mapping
from contextlib import suppress
from math import ceil
from typing import Any
from uuid import UUID

from agentops.agents.models import Agent
from agentops.evals.answering import Cast, Passes
from agentops.evals.comparing import Found
from agentops.evals.ports import people
from agentops.evals.staging import disturbed, scripted
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event
from agentops.ledger.models import LedgerEvent
from agentops.policy.models import RuleSet
from agentops.policy.operations import activate_rule_set, save_rule_set
from agentops.registry.role import Intake, RoleSpec
from agentops.registry.roles import standing_in
from agentops.registry.scenario import PEOPLE, Made, Scenario, Work
from agentops.registry.tool import Tier
from agentops.runtime.audit import audit_session
from agentops.runtime.control import cancel_session
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.guards import JITTER, backoff_seconds
from agentops.runtime.house import house_of
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import employ_agent, move, open_and_start, start_session
from agentops.runtime.states import ENDED, InvocationState, SessionStatus
from agentops.tenancy.models import Tenant

ACTOR = "scenario"
MOST_TURNS = 60
"""So often a session is worked, woken or answered. One that goes on after that is a difference, not a hang."""


def work_scenario(role: RoleSpec, scenario: Scenario, tenant: Tenant) -> Found:
    """Work the scenario in an empty tenant and return what came of it. Raises whatever its own parts raise."""
    scenario.before(tenant.pk)
    stage = disturbed(role, scenario.disturbed)
    agent = employ_agent(tenant_id=tenant.pk, role=role, name=role.title, actor=ACTOR)
    people().hire(tenant.pk, PEOPLE)
    if scenario.rules is not None:
        _activate(tenant.pk, scenario.rules)
    found = Found(hard=frozenset(tool.name for tool in role.tools if tool.tier is Tier.WRITE_HARD))
    passes = _passing(scenario, tenant.pk)
    cast = Cast(tenant.pk, scenario.replies, found, passes)
    try:
        for work in scenario.work:
            with standing_in(stage if work.script is None else scripted(stage, work.script)):
                _drive(_begin(agent, work), cast, found, passes)
    finally:
        _leave_nothing_open(tenant.pk)
    cast.leave()
    found.made = _made(tenant.pk)
    found.records = {} if scenario.records is None else scenario.records(tenant.pk)
    found.figures = {} if scenario.figures is None else scenario.figures(tenant.pk)
    found.problems += _audited(tenant.pk)
    return found


def _passing(scenario: Scenario, tenant_id: UUID) -> Passes:
    def passes(seconds: int) -> None:
        if scenario.passes is not None:
            scenario.passes(tenant_id, seconds)

    return passes


def _activate(tenant_id: UUID, rules: Mapping[str, Any]) -> None:
    house, text = house_of(tenant_id), json.dumps(rules)
    made = save_rule_set(tenant_id=tenant_id, text=text, note="As the scenario has it.", house=house, actor=ACTOR)
    active = RuleSet.objects.filter(tenant_id=tenant_id, active=True).values_list("pk", flat=True).first()
    activate_rule_set(rule_set_id=made.pk, instead_of=active, house=house, actor=ACTOR)


def _begin(agent: Agent, work: Work) -> Session:
    actor = f"user:{work.by}" if work.by else ACTOR
    if work.subject_id:
        named = work.subject_id if isinstance(work.subject_id, str) else work.subject_id(agent.tenant_id)
        return start_session(agent=agent, subject_id=named, actor=actor)
    return open_and_start(agent=agent, intake=Intake(work.sender, work.title, work.text), actor=actor)


def _drive(session: Session, cast: Cast, found: Found, passes: Passes) -> None:
    """Work a session, and let people answer, until it ended or cannot go on by anything that the scenario has."""
    goes_on, turns = True, 0
    while goes_on and turns < MOST_TURNS:
        turns += 1
        work_until_quiet()
        session.refresh_from_db()
        goes_on = _goes_on(session, cast, passes)
    if turns == MOST_TURNS:
        found.problems.append(f"The session was {session.status} after {MOST_TURNS} turns.")
    found.status, found.outcome, found.stopped = session.status, session.outcome, session.stop_code


def _goes_on(session: Session, cast: Cast, passes: Passes) -> bool:
    match session.status:
        case SessionStatus.SLEEPING:
            # Nobody waits here until it is over; only the scenario's world grows older.
            passes(_seconds_asleep(session))
            move(session, [Event("session.woken", ACTOR)], SessionStatus.QUEUED)
            return True
        case SessionStatus.WAITING_APPROVAL:
            return cast.decide(session.pk)
        case SessionStatus.WAITING_PERSON:
            return cast.answer(session.pk)
    return False


def _seconds_asleep(session: Session) -> int:
    """Return for how long a session would sleep: the same each time, so without the jitter of a back-off."""
    told = LedgerEvent.objects.filter(stream=session.pk, type="session.sleeping").latest("position")
    if "waits" in told.facts:
        return int(told.facts["waits"])
    asleep = 0.0 if session.wake_at is None else (session.wake_at - told.at).total_seconds()
    usual = backoff_seconds(max(1, told.facts["attempt"]), retry_after=None, jitter=0.5)
    return ceil(usual if asleep <= usual * (1 + JITTER) else asleep)


def _leave_nothing_open(tenant_id: UUID) -> None:
    """Cancel what did not end, so that no later scenario's worker comes upon it."""
    for session in Session.objects.filter(tenant_id=tenant_id).exclude(status__in=sorted(ENDED)):
        with suppress(AgentOpsError):
            cancel_session(session_id=session.pk, actor=ACTOR, reason="The scenario is over.")


def _made(tenant_id: UUID) -> list[Made]:
    """Return the writes that took effect and were not taken back, in the order in which they were proposed."""
    calls = Invocation.objects.filter(tenant_id=tenant_id, state=InvocationState.SUCCEEDED, undoes=None)
    return [Made(call.tool, call.arguments) for call in calls.order_by("created_at", "id")]


def _audited(tenant_id: UUID) -> list[str]:
    sessions = Session.objects.filter(tenant_id=tenant_id).order_by("id").values_list("pk", flat=True)
    return [f"Rows and ledger disagree: {problem}." for pk in sessions for problem in audit_session(pk)]
