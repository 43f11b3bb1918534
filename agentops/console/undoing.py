"""What undoing has to do with each write of a session: what it takes back, what took it back, whether it may be."""

from collections.abc import Mapping, Sequence

from agentops.console.attempts import Attempt
from agentops.console.records import Told
from agentops.console.said import actor_name
from agentops.console.timeline import Undoing
from agentops.runtime.control import why_no_undo
from agentops.runtime.models import Invocation, Session
from agentops.runtime.states import ENDED, InvocationState, SessionStatus
from agentops.tenancy.access import Reader

UNDO = "undo"


def undoing_of(
    session: Session,
    calls: Sequence[Invocation],
    outline: Sequence[Told],
    reader: Reader,
    attempt: Attempt | None = None,
) -> Mapping[str, Undoing]:
    """Return what undoing has to do with each call that it has anything to do with, by the call's id."""
    places = {call.pk: call.position for call in calls}
    takers = {call.undoes: call for call in calls if call.undoes and call.state == InvocationState.SUCCEEDED}
    people = {event.refs["undoes"]: event.actor for event in outline if "undoes" in event.refs}
    blocked = _blocked(session, reader)
    found = {}
    for call in calls:
        key = str(call.pk)
        taker = takers.get(call.pk) if call.state == InvocationState.COMPENSATED else None
        open_ = reader.may_operate and why_no_undo(call, siblings=calls) == ""
        form = attempt.form_of(UNDO, key) if attempt else None
        if call.undoes is None and taker is None and not open_ and form is None:
            continue
        found[key] = Undoing(
            undoes=places.get(call.undoes) if call.undoes else None,
            undone_at=taker.position if taker else None,
            undone_by=actor_name(people[key]) if taker and key in people else "",
            pk=key if open_ else "",
            tool=call.undo["tool"] if open_ and call.undo else "",
            until=call.undo_until if open_ else None,
            blocked=blocked if open_ else "",
            error=" ".join(str(error) for errors in form.errors.values() for error in errors) if form else "",
        )
    return found


def _blocked(session: Session, reader: Reader) -> str:
    """Return why nothing of the session can be taken back at the moment, empty when it can."""
    if SessionStatus(session.status) in ENDED:
        return ""
    if session.status == SessionStatus.PAUSED and session.taken_by == reader.actor:
        return ""
    return "Take the session over first, or wait for its end."
