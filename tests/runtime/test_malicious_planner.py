"""Five hundred plans of a planner that wants harm, against roles that move money: no effect outside policy.

What counts as outside is said in ``factories.outside_policy``. ``MALICIOUS_SEED`` repeats one plan.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from guardian.shortcuts import assign_perm

from agentops.agents.models import Agent
from agentops.llm.scripted import ScriptedPlanner
from agentops.policy.operations import adopt_rules
from agentops.registry import roles
from agentops.registry.role import GrantDefault, RoleSpec
from agentops.registry.tool import Dial, Tier
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.freezing import freeze
from agentops.runtime.house import house_of
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import employ_agent, start_session
from agentops.tenancy.models import Role, Tenant
from approvals.models import ApprovalQueue, ApprovalRequest, Verdict
from tests.factories.barriers import barriers
from tests.factories.deciding import decide_fully
from tests.factories.malicious import MaliciousPlanner, Plan
from tests.factories.outside_policy import Judge, in_the_books
from tests.factories.people import make_person
from tests.factories.worlds import billing, support
from tests.factories.worlds.world import World

pytestmark = pytest.mark.django_db(transaction=True)

WORLDS: Mapping[str, World] = {"billing": billing.WORLD, "support": support.WORLD}
"""One world for each role that works for customers."""
ROLES = tuple(WORLDS)
PLANS = 500
AT_ONCE = 20


@dataclass(frozen=True)
class Part:
    """One part of the plans, and under what they run: other dials, a freeze, a tenant's rule, a person who agrees."""

    name: str
    dials: str = "as delivered"
    frozen: bool = False
    ruled: bool = False
    lenient: bool = False

    def role(self, role: RoleSpec) -> RoleSpec:
        """Return the role with the dials of this part."""
        return role if self.dials == "as delivered" else replace(role, grants=tuple(_turned(role, self.dials)))


PARTS = (
    Part("delivered"),
    Part("open", "open"),
    Part("delivered"),
    Part("open", "open"),
    Part("frozen", "open", frozen=True),
    Part("delivered"),
    Part("open", "open"),
    Part("watching", "watching"),
    Part("lenient", "open", lenient=True),
    Part("ruled", "open", ruled=True),
)
"""The part of a plan is its seed's last digit."""


def _turned(role: RoleSpec, dials: str) -> Iterator[GrantDefault]:
    """Turn every dial all the way up; or down, with no limit where a limit is due and just enough left to end."""
    for grant in role.grants:
        tool = role.tool(grant.tool)
        if tool is None or tool.tier is not Tier.WRITE_HARD:
            watched = dials == "watching" and tool is not None and tool.is_write and not tool.outcome
            yield replace(grant, dial=Dial.OBSERVE if watched else Dial.AUTONOMOUS)
        elif dials == "watching":
            yield GrantDefault(grant.tool, Dial.BOUNDED if tool.money_family else Dial.SUGGEST)
        else:
            yield grant if grant.thresholds else replace(grant, dial=Dial.AUTONOMOUS)


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_no_plan_has_an_effect_outside_policy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    role, world = roles.get_role(name), WORLDS[name]
    tenant = world.seed()
    seeds = chosen_seeds()
    strangers = world.strangers(tenant)
    cases = world.cases(tenant, seeds)
    plans: dict[str, Plan] = {}
    planner = ScriptedPlanner(MaliciousPlanner(plans, closing=role.fallback("X")).choose, name="malicious plan")
    hostile = replace(role, playbook=lambda: planner, waiting_subjects=lambda *_: [], take_subjects=lambda *_: [])
    monkeypatch.setattr(roles, "all_roles", lambda: (hostile,))
    for seed in seeds:
        plans[hostile.open_subject(tenant.pk, cases[seed].request)] = Plan(seed, cases[seed], strangers)
    agents = {part.name: _agent(tenant, hostile, part, world) for part in dict.fromkeys(PARTS)}
    alice = _alice(tenant)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for ruled in (False, True):
        if ruled:
            _forbid(tenant, world.forbidden)
        begun = [(subject, part) for subject, plan in plans.items() if (part := part_of(plan)).ruled == ruled]
        for at in range(0, len(begun), AT_ONCE):
            for subject, part in begun[at : at + AT_ONCE]:
                start_session(agent=agents[part.name], subject_id=subject, actor="user:bob")
            work_and_decide(alice, plans)
    found = dict(judged(tenant, hostile, world, plans))
    assert found == {}, "repeat one with MALICIOUS_SEED"
    assert sorted(world.keys(tenant)) == sorted(keys_of(tenant))
    if len(seeds) == PLANS:
        assert world.barriers - {rule for group in barriers() if len(group) == 1 for rule in group} == set(), (
            "no plan came as far as these rules alone"
        )


def chosen_seeds() -> range:
    """Return the seeds of the plans."""
    one = os.environ.get("MALICIOUS_SEED")
    return range(int(one), int(one) + 1) if one else range(PLANS)


def _agent(tenant: Tenant, role: RoleSpec, part: Part, world: World) -> Agent:
    agent = employ_agent(tenant_id=tenant.pk, role=part.role(role), name=part.name, actor="user:bob")
    if part.frozen:
        freeze(tenant_id=tenant.pk, agent_id=agent.pk, tool=world.frozen, actor="user:bob", reason="A trial.")
    return agent


def _alice(tenant: Tenant) -> User:
    alice = make_person("alice", tenant, Role.APPROVER)
    for queue in ApprovalQueue.objects.filter(tenant=tenant):
        assign_perm("approvals.decide_queue", alice, queue)
    return alice


def _forbid(tenant: Tenant, tool: str) -> None:
    rule = {"id": "not-here", "tools": [tool], "when": [], "effect": "forbid", "words": "We never do this."}
    adopt_rules(tenant_id=tenant.pk, rules=(rule,), note="A trial.", house=house_of(tenant.pk), actor="user:eve")


def part_of(plan: Plan) -> Part:
    """Return the part that a plan belongs to."""
    return PARTS[plan.seed % len(PARTS)]


def work_and_decide(alice: User, plans: Mapping[str, Plan]) -> None:
    """Let the sessions run to their ends. A person turns down what asks; of some sessions she agrees to the first."""
    agreed: set[UUID] = set()
    for _ in range(20):
        work_until_quiet()
        pending = list(ApprovalRequest.objects.filter(state="pending"))
        if not pending:
            return
        for request in pending:
            agrees = part_of(plans[request.subject_id]).lenient and request.session_id not in agreed
            if agrees:
                agreed.add(request.session_id)
            verdict = Verdict.APPROVE if agrees else Verdict.REJECT
            decide_fully(request, alice, verdict, reason="" if agrees else "Nobody asked for this.")
    raise AssertionError("a session asks without end")


def judged(tenant: Tenant, role: RoleSpec, world: World, plans: Mapping[str, Plan]) -> Iterator[tuple[int, list[str]]]:
    """Yield (seed, what is outside policy)."""
    books = in_the_books(world, tenant, plans)
    for session in Session.objects.filter(tenant_id=tenant.pk):
        plan = plans[session.subject_id]
        part = part_of(plan)
        off = frozenset({world.frozen} if part.frozen else {world.forbidden} if part.ruled else ())
        problems = [*Judge(session, world, part.role(role), plan, off).problems(), *books.pop(plan.seed, ())]
        if problems:
            yield plan.seed, problems
    yield from books.items()


def keys_of(tenant: Tenant) -> list[str]:
    """Return the keys under which the runtime says that something happened."""
    done = Invocation.objects.filter(tenant_id=tenant.pk, state__in=("succeeded", "compensated"))
    return [key for key in done.values_list("idempotency_key", flat=True) if key]
