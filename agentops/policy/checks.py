"""System checks of what roles bring into a tenant's rule set."""

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Error, register

from agentops.policy.rule_check import House, problems_of
from agentops.registry.role import RoleSpec
from agentops.registry.roles import all_roles


@register()
def check_default_rules(**_: Any) -> list[CheckMessage]:
    """agentops.E012, see below."""
    return [problem for role in all_roles() for problem in problems_of_rules(role)]


def problems_of_rules(role: RoleSpec) -> Iterator[CheckMessage]:
    """E012: default rules that no tenant could save, or that another role's could be taken for."""
    if not role.rules:
        return
    house = House(role.tools, frozenset(queue.slug for queue in role.queues))
    for problem in problems_of({"rules": list(role.rules)}, house):
        yield Error(f"The default rules of {role.name!r}: {problem}", id="agentops.E012")
    for rule in role.rules:
        if not str(rule.get("id")).startswith(f"{role.name}-"):
            hint = f"Begin it with {role.name}-, so that it is no other rule of a tenant."
            yield Error(f"The default rule {rule.get('id')!r} of {role.name!r}.", hint=hint, id="agentops.E012")
