"""AgentDojo's suites as the benchmark uses them: worlds with a text planted in them, tasks, checkers, results as JSON.

This is the only module that imports the package. Its version and the version of its tasks are fixed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from typing import Any

import yaml
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suite
from agentdojo.task_suite.task_suite import read_suite_file
from pydantic import BaseModel

PACKAGE, TASKS = "0.1.35", "v1.2.2"

Shape = Callable[[Any], Any]


@dataclass(frozen=True)
class Call:
    """One call that a planner proposes."""

    tool: str
    arguments: Mapping[str, Any]


class World:
    """One suite. ``shapes`` turn what a function of the suite returns as text into fields, by the function's name."""

    def __init__(self, name: str, shapes: Mapping[str, Shape]) -> None:
        if metadata.version("agentdojo") != PACKAGE:
            raise SystemExit(f"agentdojo {PACKAGE} is needed, {metadata.version('agentdojo')} is installed")
        self.name = name
        self._suite: Any = get_suite(TASKS, name)
        self._runtime = FunctionsRuntime(self._suite.tools)
        self._shapes = shapes

    @property
    def user_tasks(self) -> list[Any]:
        """What people ask for."""
        return list(self._suite.user_tasks.values())

    @property
    def injection_tasks(self) -> list[Any]:
        """What attackers want. Some have no calls that reach it."""
        environment = self.environment(None)
        tasks = self._suite.injection_tasks.values()
        return [task for task in tasks if task.ground_truth(environment.model_copy(deep=True))]

    def environment(self, planted: str | None) -> Any:
        """Return a fresh world with ``planted`` at each place that takes text by others; None: the harmless texts."""
        return _environment(self.name, planted).model_copy(deep=True)

    def call(self, environment: Any, call: Call) -> dict[str, Any]:
        """Make a call. Return its result as JSON under ``result``, or what went wrong under ``error``."""
        arguments = {name: _own_copy(value) for name, value in call.arguments.items()}
        found, error = self._runtime.run_function(environment, call.tool, arguments)
        if error is not None:
            return {"error": error}
        shape = self._shapes.get(call.tool, lambda value: value)
        return {"result": shape(_as_json(found))}

    def utility(self, task: Any, run: "Outcome") -> bool:
        """Return whether the person got what was asked for, by the suite's own checker."""
        return self._reached(task, run)

    def succeeded(self, attack: Any, run: "Outcome") -> bool:
        """Return whether the attacker got what the attack is for, by the suite's own checker."""
        return self._reached(getattr(attack, "attack", attack), run)

    def _reached(self, task: Any, run: "Outcome") -> bool:
        # The suite's own way in runs a pipeline with a model.
        return bool(self._suite._check_task_result(task, *run.for_checkers))  # noqa: SLF001


@dataclass(frozen=True)
class Outcome:
    """What a run left: the world before and after, the calls that were made, what the agent says at the end."""

    before: Any
    after: Any
    made: Sequence[Call]
    answer: str

    @property
    def for_checkers(self) -> tuple[Any, ...]:
        """The arguments that the suite's checkers take. Calls that were refused are not among them."""
        calls = [FunctionCall(function=call.tool, args=dict(call.arguments)) for call in self.made]
        return [{"type": "text", "content": self.answer}], self.before, self.after, calls


def calls_of(task: Any, environment: Any) -> list[Call]:
    """Return the calls that reach what ``task`` is for, in the world as it is now."""
    calls = task.ground_truth(environment.model_copy(deep=True))
    return [Call(call.function, _own_copy(dict(call.args))) for call in calls]


@lru_cache(maxsize=64)
def _environment(suite_name: str, planted: str | None) -> Any:
    suite: Any = get_suite(TASKS, suite_name)
    if planted is None:
        return suite.load_and_inject_default_environment({})
    marks = {place: f"@@{place}@@" for place in suite.get_injection_vector_defaults()}
    text = read_suite_file(suite_name, "environment.yaml", None).format(**marks)
    return suite.environment_type.model_validate(_planted(yaml.safe_load(text), list(marks.values()), planted))


def _planted(value: Any, marks: Sequence[str], text: str) -> Any:
    """Put the text where the marks stand. It is done after parsing, so that any text can be planted."""
    if isinstance(value, dict):
        return {_planted(key, marks, text): _planted(child, marks, text) for key, child in value.items()}
    if isinstance(value, list):
        return [_planted(child, marks, text) for child in value]
    if isinstance(value, str):
        for mark in marks:
            value = value.replace(mark, text)
    return value


def _as_json(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [_as_json(child) for child in value]
    if isinstance(value, dict):
        return {str(key): _as_json(child) for key, child in value.items()}
    return value


def _own_copy(value: Any) -> Any:
    """Copy lists and objects: functions of the suites change the lists that they are given."""
    if isinstance(value, dict):
        return {key: _own_copy(child) for key, child in value.items()}
    return [_own_copy(child) for child in value] if isinstance(value, list) else value
