"""All scenarios of a role, each in a tenant of its own; one that breaks does not hold up the others."""

import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.crypto import get_random_string

from agentops.evals.comparing import differences
from agentops.evals.working import work_scenario
from agentops.kernel.errors import AgentOpsError
from agentops.llm.configuration import model_choice
from agentops.registry.role import RoleSpec
from agentops.registry.scenario import Scenario
from agentops.tenancy.models import Tenant

log = logging.getLogger(__name__)


class UnknownScenario(AgentOpsError):
    """A name that no scenario of the role has."""

    code = "UNKNOWN_SCENARIO"
    next_step = "Leave --only away to see the names of all."


@dataclass(frozen=True)
class Result:
    """What became of one scenario. ``outcome`` is how its last session ended; ``differences`` is empty when it passed.

    ``figures`` are the scenario's own numbers, none when it broke. ``seconds`` is how long it took on this machine.
    """

    name: str
    title: str
    outcome: str
    differences: tuple[str, ...]
    seconds: float
    figures: Mapping[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all was as expected."""
        return not self.differences


@dataclass(frozen=True)
class Report:
    """The results of a role's scenarios, in the order of their declaration.

    ``left_out`` names those that have a planner of their own, when a model was to plan.
    """

    role: str
    results: tuple[Result, ...]
    left_out: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """How many were not as expected."""
        return sum(not result.passed for result in self.results)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON. Everything but ``seconds`` is the same each time."""
        return {
            "role": self.role,
            "passed": len(self.results) - self.failed,
            "failed": self.failed,
            "left_out": list(self.left_out),
            "scenarios": [
                {
                    "name": result.name,
                    "passed": result.passed,
                    "seconds": round(result.seconds, 3),
                    "outcome": result.outcome,
                    "differences": list(result.differences),
                    "figures": dict(result.figures),
                }
                for result in self.results
            ],
        }

    def as_text(self) -> str:
        """Return the report as a table for people."""
        width = max((len(result.name) for result in self.results), default=0)
        lines = [line for result in self.results for line in _lines(result, width)]
        lines += [f"{name:<{width}}  left out: it has a planner of its own" for name in self.left_out]
        return "\n".join([*lines, f"{len(self.results) - self.failed} passed, {self.failed} failed.", ""])


def _lines(result: Result, width: int) -> list[str]:
    said = "passed" if result.passed else "FAILED"
    head = f"{result.name:<{width}}  {said}  {result.seconds:6.2f} s  {result.title}"
    figures = ", ".join(f"{name} {value}" for name, value in result.figures.items())
    told = (*((figures,) if figures else ()), *result.differences)
    return [head, *(f"{'':<{width}}    {words}" for words in told)]


def chosen(role: RoleSpec, only: Collection[str]) -> tuple[Scenario, ...]:
    """Return the role's scenarios with these names, all of them when none is named. Raises UnknownScenario."""
    known = {scenario.name for scenario in role.scenarios}
    for name in only:
        if name not in known:
            raise UnknownScenario(f"The role {role.name} has no scenario {name[:80]!r}.")
    return tuple(scenario for scenario in role.scenarios if not only or scenario.name in only)


def run_suite(role: RoleSpec, only: Collection[str] = ()) -> Report:
    """Work the role's scenarios, or those with these names, and return what came of them. Raises UnknownScenario.

    They are planned by the configured model, or by the role's playbook when none is configured.
    """
    scenarios = chosen(role, only)
    has_model = model_choice() is not None
    left_out = tuple(scenario.name for scenario in scenarios if has_model and scenario.is_scripted)
    results = tuple(_result(role, scenario) for scenario in scenarios if scenario.name not in left_out)
    return Report(role.name, results, left_out)


def _result(role: RoleSpec, scenario: Scenario) -> Result:
    began = time.monotonic()
    try:
        found = work_scenario(role, scenario, _tenant(scenario))
    except Exception as error:
        log.exception("scenario %s broke", scenario.name)
        words = error.in_full if isinstance(error, AgentOpsError) else str(error)
        outcome, told, figures = "", [f"It broke: {type(error).__name__}: {words}"], dict[str, int]()
    else:
        outcome, told, figures = found.ending, differences(scenario.expected, found), dict(found.figures)
    return Result(scenario.name, scenario.title, outcome, tuple(told), time.monotonic() - began, figures)


def _tenant(scenario: Scenario) -> Tenant:
    slug = f"scenario-{get_random_string(12).lower()}"
    return Tenant.objects.create(slug=slug, name=scenario.name[:120])
