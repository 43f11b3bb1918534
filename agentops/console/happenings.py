"""What happened to a session beside its calls, as notes on the timeline (pure).

``WORDS`` has a sentence for every type of event that is recorded anywhere, ``note_of`` the fuller ones that tell who,
why and what. An event of a type that is not known here becomes a note of its type: nothing is left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agentops.console.codes import session_code
from agentops.console.marks import Text
from agentops.console.records import Told
from agentops.console.reveal import reveal, reveal_cut
from agentops.console.said import actor_name
from agentops.console.timeline import NoteEntry, QuestionEntry
from agentops.kernel.errors import IncidentCode

MOST_REASON = 600

PRIORITIES = {3: "urgent", 2: "high", 1: "normal", 0: "low"}

WORDS = {
    "subject.erased": "What was held about a person was erased",
    "subject.exported": "What is held about a person was taken out",
    "hold.placed": "A legal hold was placed",
    "hold.lifted": "A legal hold was lifted",
    "records.ran_out": "Records ran out and can no longer be read",
    "session.opened": "The session was opened",
    "session.claimed": "A worker took the session",
    "session.handed_on": "The worker was ending and put the session back into the queue",
    "session.preempted": "Made way for more urgent work",
    "session.frozen": "Frozen",
    "session.lease_expired": "The worker went silent, its lease ran out, and the session was queued again",
    "session.sleeping": "Sleeps before it tries again",
    "session.woken": "Woke up to try again",
    "session.stopping": "The session is being stopped",
    "session.finished": "The session ended",
    "session.stopped": "The session was stopped",
    "session.cancelled": "The session was cancelled",
    "session.reopened": "Opened again to take something back",
    "session.pause_requested": "Somebody asked to pause it",
    "session.take_over_requested": "Somebody asked to take it over",
    "session.cancel_requested": "Somebody asked to cancel it",
    "session.paused": "Paused",
    "session.taken_over": "Taken over by a person",
    "session.resumed": "Resumed",
    "session.handed_back": "Handed back to the agent",
    "session.priority_changed": "Its priority was changed",
    "person.proposed": "A person did a step",
    "person.asked": "The agent asked a question",
    "person.answered": "A person answered",
    "question.expired": "Nobody answered in time, and the agent was told so",
    "question.overtaken": "Something happened before anybody answered, and the agent looks again",
    "model.malformed": "The model answered something that is no proposal",
    "budget.warned": "A good part of a budget is used",
    "process.began": "A process began",
    "process.moved": "A process moved on",
    "process.failed": "A process failed",
    "process.compensated": "What a failed process had done was taken back",
    "call.read": "Something was looked up",
    "call.read_failed": "Something could not be looked up",
    "call.refused": "A call was not let through",
    "call.intended": "A call is about to be made",
    "call.retried": "The call is made again, because it certainly had no effect",
    "call.succeeded": "A call took effect",
    "call.failed": "A call had no effect",
    "call.unknown": "Nobody knows whether a call took effect",
    "call.reconciled": "It was found out what became of a call",
    "call.compensated": "A call was taken back",
    "approval.requested": "People were asked",
    "approval.voted": "Approved by one of several people",
    "approval.given": "Approved, and may still be taken back",
    "approval.taken_back": "An approval was taken back",
    "approval.asked": "A person asked the agent about its call",
    "approval.answered": "The agent answered",
    "approval.approved": "Approved",
    "approval.edited": "A person changed the call and proposed it anew",
    "approval.rejected": "Rejected",
    "approval.expired": "Nobody decided in time",
    "approval.voided": "The approval was withdrawn",
    "elevation.given": "An elevated scope was allowed",
    "elevation.revoked": "An elevated scope was taken back",
    "consent.given": "The use of a credential was allowed",
    "consent.revoked": "The use of a credential was no longer allowed",
    "freeze.set": "Work was frozen",
    "freeze.lift_asked": "Somebody asked to lift a freeze",
    "freeze.lifted": "A freeze was lifted",
    "breaker.opened": "A breaker switched calls off, because too many failed",
    "breaker.closed": "A breaker switched calls on again",
    "breaker.reset": "A person switched calls on again",
    "agent.created": "An agent was created",
    "config.added": "Something was set up",
    "config.changed": "A setting was changed",
    "config.deleted": "Something was taken away",
}


@dataclass(frozen=True, slots=True)
class Said:
    """What a note says: its words, somebody's ``reason``, a moment, a step or a session that it links to."""

    words: str
    reason: str = ""
    until: datetime | None = None
    step: int | None = None
    session_pk: str = ""


Say = Callable[[Told, Mapping[str, int]], Said]


def note_of(event: Told, calls: Mapping[str, int]) -> NoteEntry | QuestionEntry:
    """Return the entry of an event that is about no call of its own. ``calls`` are positions by invocation id."""
    if event.type == "person.asked":
        return _question(event)
    say = _SAY.get(event.type)
    if say is None:
        who = actor_name(event.actor)
        return NoteEntry(position=event.position, at=event.at, words=WORDS.get(event.type, event.type), who=who)
    said = say(event, calls)
    reason: Text = reveal_cut(said.reason, MOST_REASON) if said.reason else ()
    return NoteEntry(
        position=event.position,
        at=event.at,
        words=said.words,
        reason=reason,
        until=said.until,
        step=said.step,
        session_pk=said.session_pk,
        mark=_MARKS.get(event.type.partition(".")[0], "note"),
    )


_MARKS = {"person": "user", "question": "clock", "budget": "clock", "elevation": "sliders"}


def _question(event: Told) -> QuestionEntry:
    return QuestionEntry(
        position=event.position,
        at=event.at,
        who=actor_name(event.actor),
        body=reveal(str(event.body.get("text", ""))),
        options=[reveal(str(option)) for option in event.body.get("options", ())],
    )


def _who(event: Told) -> str:
    return actor_name(event.actor)


def _did(words: str) -> Say:
    """A person did something, perhaps with a reason."""

    def say(event: Told, calls: Mapping[str, int]) -> Said:
        return Said(f"{_who(event)} {words}", str(event.facts.get("reason", "")))

    return say


def _plainly(event: Told, calls: Mapping[str, int]) -> Said:
    """It happened by itself, so nobody is named."""
    return Said(WORDS[event.type])


def _paused(event: Told, calls: Mapping[str, int]) -> Said:
    if event.actor.startswith("user:"):
        return Said(f"{_who(event)} paused it", str(event.facts.get("reason", "")))
    if event.facts.get("code") == IncidentCode.ANOMALY:
        words = f"Paused by itself instead of calling {event.facts.get('tool', 'a tool')}, because that is unusual"
        effect = (event.body.get("preview") or {}).get("effect", "")
        reason = str(event.facts.get("reason", ""))
        return Said(words, f"{reason} It would have done this: {effect}" if effect else reason)
    taken_by = str(event.facts.get("for", ""))
    return Said(f"Waits for the next step of {actor_name(taken_by)}" if taken_by else "Paused")


def _handed_back(event: Told, calls: Mapping[str, int]) -> Said:
    note = (event.body.get("result") or {}).get("answer", "")
    return Said(f"{_who(event)} handed it back to the agent", str(note))


def _made_way(event: Told, calls: Mapping[str, int]) -> Said:
    urgent = str(event.facts.get("for", ""))
    if not urgent:
        return Said(WORDS[event.type])
    name = str(event.facts.get("title", "")) or _code_of(urgent)
    return Said("Made way for the more urgent session", name, session_pk=urgent)


def _code_of(session_pk: str) -> str:
    try:
        return session_code(UUID(session_pk))
    except ValueError:
        return session_pk


def _frozen(event: Told, calls: Mapping[str, int]) -> Said:
    return Said(f"Frozen by {actor_name(str(event.facts.get('by', '')))}", str(event.facts.get("reason", "")))


def _ranked(event: Told, calls: Mapping[str, int]) -> Said:
    before, after = (PRIORITIES.get(event.facts.get(name, 1), "?") for name in ("from", "to"))
    return Said(f"{_who(event)} changed the priority from {before} to {after}")


def _reopened(event: Told, calls: Mapping[str, int]) -> Said:
    words = f"{_who(event)} opened the session again to take a call back with {event.facts.get('tool', '')}"
    return Said(words, str(event.facts.get("reason", "")), step=_undone(event, calls))


def _proposed(event: Told, calls: Mapping[str, int]) -> Said:
    tool = event.facts.get("tool", "")
    if not tool:
        return Said(f"{_who(event)} ended the session with an answer of their own")
    undone = _undone(event, calls)
    words = "did a step:" if undone is None else "takes a call back with"
    return Said(f"{_who(event)} {words} {tool}", str(event.body.get("rationale", "")), step=undone)


def _undone(event: Told, calls: Mapping[str, int]) -> int | None:
    return calls.get(event.refs.get("undoes", ""))


def _answered(event: Told, calls: Mapping[str, int]) -> Said:
    return Said(f"{_who(event)} answered", str((event.body.get("result") or {}).get("answer", "")))


def _retried(event: Told, calls: Mapping[str, int]) -> Said:
    words = f"{event.facts.get('tool', 'The call')} certainly had no effect and is made again"
    return Said(f"{words} (attempt {event.facts.get('attempt', '?')})", step=calls.get(event.invocation))


def _reconciled(event: Told, calls: Mapping[str, int]) -> Said:
    facts = event.facts
    found = "took effect" if facts.get("found") == "happened" else "never took effect"
    how = "the system of record said so" if facts.get("how") == "query" else f"{_who(event)} looked"
    evidence = (event.body.get("result") or {}).get("evidence", "")
    words = f"It is known now that {facts.get('tool', 'the call')} {found}: {how}"
    return Said(words, str(evidence), step=calls.get(event.invocation))


def _compensated(event: Told, calls: Mapping[str, int]) -> Said:
    return Said("An earlier call is undone by this", step=calls.get(event.invocation))


def _warned(event: Told, calls: Mapping[str, int]) -> Said:
    kind = {"time": "time", "cost": "cost", "tokens": "tokens", "steps": "steps"}.get(event.facts.get("kind", ""))
    return Said(f"{event.facts.get('percent', '?')} % of the budget of {kind or 'the day'} are used")


def _process(event: Told, calls: Mapping[str, int]) -> Said:
    facts = event.facts
    name = f"Process “{facts.get('process', '')}”"
    if event.type == "process.failed":
        return Said(f"{name} failed at “{facts.get('from', '')}”; what it did is taken back ({facts.get('code', '')})")
    if event.type == "process.compensated":
        undone = "all of it that can be is taken back" if facts.get("to") == "compensated" else "something is left"
        return Said(f"{name} has ended without being completed: {undone}")
    begun = "began" if event.type == "process.began" else "moved on"
    return Said(f"{name} {begun}: “{facts.get('from', '')}” → “{facts.get('to', '')}” ({facts.get('edge', '')})")


def _elevated(event: Told, calls: Mapping[str, int]) -> Said:
    until = event.facts.get("until")
    words = f"{_who(event)} allowed the elevated scope {event.facts.get('scope', '')}"
    return Said(words, str(event.facts.get("reason", "")), until=datetime.fromisoformat(until) if until else None)


def _revoked(event: Told, calls: Mapping[str, int]) -> Said:
    return Said(f"{_who(event)} took the elevated scope {event.facts.get('scope', '')} back")


_SAY: dict[str, Say] = {
    "session.pause_requested": _did("asked to pause it"),
    "session.take_over_requested": _did("asked to take it over"),
    "session.cancel_requested": _did("asked to cancel it"),
    "session.paused": _paused,
    "session.taken_over": _did("took it over"),
    "session.resumed": _did("resumed it"),
    "session.handed_back": _handed_back,
    "session.preempted": _made_way,
    "session.frozen": _frozen,
    "session.priority_changed": _ranked,
    "session.reopened": _reopened,
    "person.proposed": _proposed,
    "person.answered": _answered,
    "question.expired": _plainly,
    "question.overtaken": _plainly,
    "session.handed_on": _plainly,
    "call.retried": _retried,
    "call.reconciled": _reconciled,
    "call.compensated": _compensated,
    "budget.warned": _warned,
    "process.began": _process,
    "process.moved": _process,
    "process.failed": _process,
    "process.compensated": _process,
    "elevation.given": _elevated,
    "elevation.revoked": _revoked,
}
