"""Whether a session's rows say what its ledger stream says."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from agentops.ledger.queries import events_of
from agentops.runtime.account import MachineEvent, differences
from agentops.runtime.machine import replay
from agentops.runtime.models import Invocation, ProcessInstance, Question, Session
from agentops.runtime.states import IllegalTransition, SessionStatus


def audit_session(session_id: UUID) -> list[str]:
    """Return what is wrong with a session, as sentences; nothing when stream and rows agree.

    Reads the stream and the rows; call it in one transaction, or when nobody works on the session.
    """
    row = Session.objects.get(pk=session_id)
    events = events_of(session_id)
    problems = [
        f"position {place} holds the event numbered {event.position}"
        for place, event in enumerate(events)
        if event.position != place
    ]
    if (row.status == SessionStatus.RUNNING) != bool(row.lease_owner):
        problems.append(f"the session is {row.status} and its lease belongs to {row.lease_owner or 'nobody'}")
    try:
        account = replay(MachineEvent(event.type, event.facts, event.refs, event.actor) for event in events)
    except IllegalTransition as error:
        return [*problems, error.message]
    return problems + differences(account, _fields_of(row))


def _fields_of(row: Session) -> Mapping[str, Any]:
    calls = Invocation.objects.filter(session_id=row.pk).values_list("pk", "state")
    question = Question.objects.filter(session_id=row.pk, closed_at=None).first()
    processes = ProcessInstance.objects.filter(session_id=row.pk)
    return {
        "status": row.status,
        "stop_code": row.stop_code,
        "wanted": row.wanted,
        "taken_by": row.taken_by,
        "position": row.position,
        "fence": row.fence,
        "gates": row.gates,
        "tokens": row.input_tokens + row.output_tokens,
        "cost_micro": row.cost_micro,
        "question": str(question.pk) if question else "",
        "calls": {str(pk): state for pk, state in calls},
        "processes": {p.process: (p.state, p.compensating) for p in processes},
    }
