"""What a tenant's own rules may name at this moment."""

from uuid import UUID

from agentops.agents.models import Agent
from agentops.policy.rule_check import House
from agentops.registry import roles
from agentops.runtime.ports import approval_gate


def house_of(tenant_id: UUID) -> House:
    """Return the tools of the tenant's agents, by name, and its queues."""
    names = frozenset(Agent.objects.filter(tenant_id=tenant_id).values_list("role", flat=True))
    tools = [tool for role in roles.all_roles() if role.name in names for tool in role.tools]
    return House(tuple(sorted(tools, key=lambda tool: tool.name)), approval_gate().queues_of(tenant_id))
