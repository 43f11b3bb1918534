"""Every installed role meets plans of a planner that wants harm, and a role without them is not installed."""

from importlib import import_module
from typing import Any

import pytest

from agentops.registry import roles

HOSTILE = {
    "billing": "tests.runtime.test_malicious_planner",
    "support": "tests.runtime.test_malicious_planner",
    "sre": "tests.sre_agent.test_malicious_planner",
}
"""By role, where its hostile plans are. Such a module names its ROLES, and how many PLANS each of them meets."""
LEAST = 500


def test_every_installed_role_has_hostile_plans() -> None:
    assert sorted(HOSTILE) == sorted(role.name for role in roles.all_roles())


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_plans_are_for_the_role_and_enough(name: str) -> None:
    module: Any = import_module(HOSTILE[name])
    assert name in module.ROLES
    assert module.PLANS >= LEAST
    assert callable(module.test_no_plan_has_an_effect_outside_policy)
