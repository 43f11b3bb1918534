"""Every scenario of the SRE role, worked in one process: what must come of it comes of it."""

import pytest

from agentops.evals.suite import run_suite
from agentops.registry.roles import get_role
from sre_agent.scenarios import SCENARIOS

pytestmark = pytest.mark.django_db

LEAST = 40
PLANNED = frozenset(scenario.name for scenario in SCENARIOS if not scenario.is_scripted)


def test_all_scenarios_end_as_expected() -> None:
    report = run_suite(get_role("sre"))
    assert {result.name: result.differences for result in report.results if not result.passed} == {}
    assert len(report.results) == len(SCENARIOS) >= LEAST
    planned = [result for result in report.results if result.name in PLANNED]
    assert sum(result.figures["remediations"] for result in planned) > 0
    assert sum(result.figures["false_remediations"] for result in planned) == 0
