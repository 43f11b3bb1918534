"""Taking back, in reverse order, what a failed process has done.

A process has failed when its session stops before the process reached an end. Each undo is proposed like any other
call: decided by policy, intended before it is made, recovered after a crash. When one does not succeed, what is left is
a person's.
"""

from dataclasses import dataclass
from uuid import UUID

from agentops.kernel.clock import utcnow
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import IncidentCode
from agentops.ledger.append import Event, Statement
from agentops.registry.planner import ObservationStatus, ToolCall
from agentops.runtime import process
from agentops.runtime.models import Invocation
from agentops.runtime.record import Took, begin_stopping, record
from agentops.runtime.session import ProcessState
from agentops.runtime.states import InvocationState
from agentops.runtime.work import Work


@dataclass(frozen=True)
class Undo:
    """The next call to take back, and the call that does it."""

    undoes: UUID
    call: ToolCall


def stop(work: Work, *, code: str, words: str) -> None:
    """Begin to stop the session; processes that are not at an end have thereby failed.

    Not while nobody knows whether their last step took effect: what came before it is taken back by a person, or not.
    """
    held = work.held
    events, states = [], {}
    for name in () if code == IncidentCode.OUTCOME_UNKNOWN else process.unfinished(work):
        before = held.processes[name]
        states[name] = ProcessState(before.version, before.state, failed=True)
        facts = {"process": name, "version": before.version, "from": before.state, "to": before.state, "code": code}
        events.append(Event("process.failed", "runtime", facts))
    begin_stopping(held, code=code, words=words, events=events, also=_kept(work, states))
    held.processes.update(states)
    if states:
        reach(CrashPoint.COMPENSATION_BEGUN)


def _kept(work: Work, states: dict[str, ProcessState]) -> list[Statement]:
    return [process.instances_at(work.held, states)] if states else []


def next_undo(work: Work) -> Undo | None:
    """Return what to take back next; None when there is nothing more, which is then on record."""
    failed = [name for name, at in work.held.processes.items() if at.failed]
    if not failed:
        return None
    tools = {tool for spec in work.role.processes if spec.name in failed for tool in spec.tools}
    done = Invocation.objects.filter(session_id=work.held.id, state=InvocationState.SUCCEEDED, tool__in=tools)
    for invocation in done.order_by("-position"):
        if invocation.undo is None:
            continue
        call = ToolCall(invocation.undo["tool"], invocation.undo["arguments"], f"Takes back {invocation.tool}.")
        if not invocation.is_too_late_to_undo(utcnow()) and not _tried(work, call):
            return Undo(invocation.pk, call)
        _give_up(work, failed)
        return None
    _record_end(work, failed)
    return None


def _tried(work: Work, call: ToolCall) -> bool:
    return any(
        o.tool == call.tool and o.arguments == call.arguments and o.status is not ObservationStatus.OK
        for o in work.held.history
    )


def _give_up(work: Work, failed: list[str]) -> None:
    """Nothing more is taken back; one durable point says that, and why."""
    events, states = _ended(work, failed, to=process.FAILED)
    code = IncidentCode.UNDO_FAILED
    begin_stopping(work.held, code=code, words=code.words, events=events, also=_kept(work, states))
    work.held.processes.update(states)


def _record_end(work: Work, failed: list[str]) -> None:
    events, states = _ended(work, failed, to=process.COMPENSATED)
    record(work.held, events, Took(), also=_kept(work, states))
    work.held.processes.update(states)


def _ended(work: Work, failed: list[str], *, to: str) -> tuple[list[Event], dict[str, ProcessState]]:
    events, states = [], {}
    for name in failed:
        before = work.held.processes[name]
        states[name] = ProcessState(before.version, to)
        facts = {"process": name, "version": before.version, "from": before.state, "to": to}
        events.append(Event("process.compensated", "runtime", facts))
    return events, states
