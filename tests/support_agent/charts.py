"""Walks the role's state charts along the history of a session, as the runtime does."""

from collections.abc import Sequence

from agentops.registry.planner import Observation, ObservationStatus
from agentops.registry.process import ProcessFacts, Step, next_step
from support_agent.processes import PROCESSES

GOVERNING = {tool: process for process in PROCESSES for tool in process.tools}


def replay(history: Sequence[Observation]) -> dict[str, list[str]]:
    """Walk the charts along a history, every proposal of which has to be a step; return the states, by process."""
    states: dict[str, list[str]] = {}
    for number, seen in enumerate(history):
        process = GOVERNING.get(seen.tool)
        if process is None:
            continue
        passed = states.setdefault(process.name, [process.initial])
        step = next_step(process, passed[-1], seen.tool, ProcessFacts(seen.arguments, history[:number]))
        assert isinstance(step, Step), f"{seen.tool} at {passed[-1]}: {step.words}"
        if seen.status is ObservationStatus.OK:
            passed.append(step.edge.target)
    return states
