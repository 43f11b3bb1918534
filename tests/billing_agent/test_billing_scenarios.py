"""Every scenario of the billing desk, worked in one process: what must come of it comes of it."""

import pytest

from agentops.evals.suite import run_suite
from agentops.registry.roles import get_role
from billing_agent.scenarios import SCENARIOS

pytestmark = pytest.mark.django_db

LEAST = 40


def test_all_scenarios_end_as_expected() -> None:
    report = run_suite(get_role("billing"))
    assert {result.name: result.differences for result in report.results if not result.passed} == {}
    assert len(report.results) == len(SCENARIOS) >= LEAST
