"""What can take a session from its worker between two steps, and how it leaves then.

In this order: what an operator wants, a freeze, the end of this program, more urgent work. What an operator
wants is done at once; a freeze, an ending program and more urgent work put the session back in the queue, where it
keeps its place.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from agentops.kernel.errors import IncidentCode
from agentops.ledger.append import Event
from agentops.runtime.ending import honest_end
from agentops.runtime.record import Leaving, Took, end, record
from agentops.runtime.retiring import retire_pending
from agentops.runtime.states import SessionStatus, Wish
from agentops.runtime.work import Work

draining = threading.Event()
"""Set when this program is told to end: every session it holds is handed on after its present step."""


@dataclass(frozen=True)
class Interrupt:
    """How the session leaves its worker. ``final``: an unfinished call must be concluded first."""

    leave: Callable[[Work], None]
    final: bool = False


def interrupt_of(work: Work) -> Interrupt | None:
    """Return what takes the session away now, or None."""
    held = work.held
    if held.wanted == Wish.CANCEL:
        return Interrupt(_cancel, final=True)
    if held.wanted == Wish.TAKE_OVER:
        return Interrupt(_pause, final=True)
    if held.wanted == Wish.PAUSE:
        return Interrupt(_pause)
    if work.brief.stopped_by is not None:
        return Interrupt(_freeze)
    if draining.is_set():
        return Interrupt(_hand_on)
    return None


def _pause(work: Work) -> None:
    retire_pending(work.held, f"The session was {Wish(work.held.wanted).done} by a person.")
    park_for_person(work)


def park_for_person(work: Work) -> None:
    """Leave the session paused: for whoever resumes it, or for the person who has taken it over."""
    _record_leaving(work, Event("session.paused", "runtime", {"for": work.held.taken_by}), SessionStatus.PAUSED)


def _cancel(work: Work) -> None:
    """A cancelled session still says what was done, what was blocked and what is left. It calls nobody any more."""
    held = work.held
    retire_pending(work.held, "The session was cancelled.")
    answer, outcome = honest_end(held.id, held, IncidentCode.CANCELLED)
    end(
        held,
        event=Event("session.cancelled", "runtime", {"outcome": outcome}, {}, {"answer": answer.as_json()}),
        took=Took(),
        status=SessionStatus.CANCELLED,
        stop_code=IncidentCode.CANCELLED,
        outcome=outcome,
    )


def _freeze(work: Work) -> None:
    freeze = work.brief.stopped_by
    assert freeze is not None  # noqa: S101 - the only reason to be here
    retire_pending(work.held, f"Frozen by {freeze.by}: {freeze.reason}")
    facts = {"freeze": str(freeze.id), "by": freeze.by, "reason": freeze.reason}
    _record_leaving(work, Event("session.frozen", "runtime", facts), SessionStatus.QUEUED)


def _hand_on(work: Work) -> None:
    event = Event("session.handed_on", "runtime", {"worker": work.held.owner})
    _record_leaving(work, event, SessionStatus.QUEUED)


def _record_leaving(work: Work, event: Event, status: SessionStatus) -> None:
    """An unfinished call has been tried as often as before."""
    record(work.held, [event], Took(attempts=work.held.attempts), leaving=Leaving(status))
