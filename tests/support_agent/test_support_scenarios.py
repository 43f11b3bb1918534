"""The scenarios of the support desk."""

import pytest

from agentops.evals.suite import run_suite
from agentops.registry.roles import get_role

pytestmark = pytest.mark.django_db


def test_all_scenarios_end_as_expected() -> None:
    report = run_suite(get_role("support"))
    assert {result.name: result.differences for result in report.results if not result.passed} == {}
    assert report.results
