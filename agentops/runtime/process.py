"""Processes of a session: which of its calls are steps, what they lead to, and where it stands.

The state charts are the role's (registry.process); here they are enforced and kept. A call of a governed tool is
let through only as an admissible step, and the instance moves in the durable point that records the call's success.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentops.gateway.prepare import Refusal
from agentops.kernel.ids import derived_id
from agentops.ledger.append import Event, Statement
from agentops.registry.process import Inadmissible, ProcessFacts, ProcessSpec, Step, next_step
from agentops.runtime import statements
from agentops.runtime.session import Held, ProcessState
from agentops.runtime.work import Work

COMPENSATED = "compensated"
FAILED = "failed"


@dataclass(frozen=True)
class Moved:
    """A step taken: its events, the part of the durable point that moves the row, and where the process stands now."""

    process: str
    state: ProcessState
    events: list[Event]
    statement: Statement


def governing(work: Work, tool: str) -> ProcessSpec | None:
    """Return the process in which ``tool`` is a step, None when it is free."""
    return next((process for process in work.role.processes if tool in process.tools), None)


def refusal_of_step(work: Work, tool: str, arguments: Mapping[str, Any]) -> Refusal | None:
    """Return why a call is no admissible step now, None when it is one or needs to be none."""
    process = governing(work, tool)
    if process is None:
        return None
    step = _step(work, process, tool, arguments)
    if isinstance(step, Step):
        return None
    possible = f"Possible now: {', '.join(step.possible)}." if step.possible else "This process is over."
    return Refusal("PROCESS", step.words, possible)


def moved_by(work: Work, tool: str, arguments: Mapping[str, Any], *, rationale: str) -> Moved | None:
    """Return what a successful call of ``tool`` does to its process, None when it is free.

    ``rationale`` names the step at which the planner said why: the id of its call, or its position in the stream.
    """
    process = governing(work, tool)
    if process is None:
        return None
    step = _step(work, process, tool, arguments)
    if isinstance(step, Inadmissible):
        # It took effect all the same, before the process was as it is now: the process stays where it is.
        return None
    before = work.held.processes.get(process.name)
    source = before.state if before else process.initial
    facts = {
        "process": process.name,
        "version": process.version,
        "from": source,
        "to": step.edge.target,
        "edge": step.edge.name,
        "rationale": rationale,
    }
    state = ProcessState(process.version, step.edge.target)
    event = Event("process.moved" if before else "process.began", work.actor, facts)
    return Moved(process.name, state, [event], instances_at(work.held, {process.name: state}))


def _step(work: Work, process: ProcessSpec, tool: str, arguments: Mapping[str, Any]) -> Step | Inadmissible:
    at = work.held.processes.get(process.name)
    if at is not None and (at.failed or at.version != process.version):
        words = "This process failed and is not continued." if at.failed else "The process has changed since it began."
        return Inadmissible(words, ())
    state = at.state if at is not None else process.initial
    return next_step(process, state, tool, ProcessFacts(arguments, work.held.history))


def instances_at(held: Held, states: Mapping[str, ProcessState]) -> Statement:
    """Return the part of a durable point that keeps where processes stand, by name."""
    params = {
        "process_ids": [derived_id("process", str(held.id), name) for name in states],
        "processes": list(states),
        "process_versions": [state.version for state in states.values()],
        "process_states": [state.state for state in states.values()],
        "compensating": [state.failed for state in states.values()],
    }
    return Statement("processes", statements.PROCESS_AT, params)


def unfinished(work: Work) -> list[str]:
    """Return the processes that compensate and have begun but reached no end."""
    ends = {process.name: process.final for process in work.role.processes if process.compensates}
    return [
        name
        for name, at in work.held.processes.items()
        if name in ends and not at.failed and at.state not in ends[name] and at.state not in (COMPENSATED, FAILED)
    ]
