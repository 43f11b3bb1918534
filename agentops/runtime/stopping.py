"""Ending a session that nobody holds, from what is on record: without planner and without a call."""

from collections.abc import Sequence

from agentops.kernel.errors import IncidentCode
from agentops.ledger.append import Event, Statement
from agentops.ledger.queries import events_of
from agentops.runtime.ending import honest_end
from agentops.runtime.models import Session
from agentops.runtime.operations import move
from agentops.runtime.session import fold
from agentops.runtime.states import SessionStatus


def stop_unheld(
    session: Session,
    *,
    code: str,
    actor: str,
    reason: str = "",
    status: SessionStatus = SessionStatus.STOPPED,
    events: Sequence[Event] = (),
    also: Sequence[Statement] = (),
) -> None:
    """End the session, whose row is locked, in the caller's transaction, with an honest answer.

    ``events`` and ``also`` come before it: what is withdrawn because of it. One that is stopping already is STOPPED
    with the code that it stops for.
    """
    folded, erased = fold(events_of(session.pk)), code == IncidentCode.SUBJECT_ERASED
    code = folded.stop_code or code if status is SessionStatus.STOPPED else code
    answer, outcome = honest_end(session.pk, folded, code)
    facts = {"outcome": outcome, "code": code, "reason": reason, **({"erased": True} if erased else {})}
    ending = Event(f"session.{status.value}", actor, facts, {}, {"answer": answer.as_json()})
    move(session, [*events, ending], status, also=also, wanted="", taken_by="", stop_code=code, outcome=outcome)
