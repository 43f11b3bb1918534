"""Making agents. Every change of what an agent may do is an event in the agent's own stream."""

from uuid import UUID

from django.db import transaction

from agentops.agents.models import Agent, AgentVersion, Threshold, ToolGrant
from agentops.ledger.append import Event, append_to
from agentops.registry.role import RoleSpec


@transaction.atomic
def create_agent(*, tenant_id: UUID, role: RoleSpec, name: str, actor: str) -> Agent:
    """Make an agent with the role's own defaults as version 1, and record it."""
    agent = Agent.objects.create(tenant_id=tenant_id, role=role.name, name=name)
    version = AgentVersion.objects.create(
        agent=agent,
        number=1,
        instructions=role.instructions,
        max_steps=role.budget.max_steps,
        max_seconds=role.budget.max_seconds,
        max_cost_micro=role.budget.max_cost_micro,
        max_tokens=role.budget.max_tokens,
        max_identical=role.budget.max_identical,
    )
    for default in role.grants:
        grant = ToolGrant.objects.create(version=version, tool=default.tool, dial=default.dial.value)
        Threshold.objects.bulk_create(
            Threshold(
                grant=grant, fact=t.fact, op=t.op, value=t.value, currency=t.currency, effect=t.effect, words=t.words
            )
            for t in default.thresholds
        )
    agent.current_version = version
    agent.save(update_fields=["current_version"])
    facts = {"role": role.name, "name": name, "version": 1, "tools": [grant.tool for grant in role.grants]}
    append_to(tenant_id=tenant_id, name=f"agent:{agent.pk}", events=[Event("agent.created", actor, facts)])
    return agent
