"""Why a session stands where it stands, whom or what it waits for, and until when, in one sentence (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentops.console.marks import Kind, Link, Text
from agentops.console.records import Told
from agentops.console.reveal import reveal_cut
from agentops.console.said import actor_name
from agentops.kernel.errors import IncidentCode

MOST_REASON = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Stands:
    """The sentence: ``words``, its ``reason`` as somebody gave it, until when, and what comes ``then``.

    ``because``: the reason is a cause, not somebody's words. ``session_pk`` is the session that it made way for.
    """

    kind: Kind
    words: str
    reason: Text = ()
    because: bool = False
    until: datetime | None = None
    then: str = ""
    link: Link | None = None
    session_pk: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the sentence is made from beside the events: the session's row, and what holds of its surroundings.

    ``actor`` is who reads. ``asked`` is whom an approval waits for, with its deadline and where to decide.
    ``frozen`` is who froze the session or what it belongs to, and why; ``all_frozen`` that this is all of the tenant,
    which a banner on every page tells. ``spent`` says that the day's money is gone.
    """

    status: str
    wanted: str
    taken_by: str
    actor: str
    wake_at: datetime | None = None
    asked: tuple[str, datetime, Link] | None = None
    answer_by: datetime | None = None
    frozen: tuple[str, str] | None = None
    all_frozen: bool = False
    spent: bool = False


def stands_of(row: Row, outline: Sequence[Told]) -> Stands | None:
    """Return the sentence; None when nothing has to be said. ``outline`` are the session's events, oldest first."""
    past = _Past(outline)
    if row.wanted and row.status != "paused":
        return _wish(row, past)
    tell = _TELL.get(row.status)
    return tell(row, past) if tell else None


class _Past:
    """The session's events, asked for the latest of some types."""

    def __init__(self, outline: Sequence[Told]) -> None:
        self.outline = outline

    def last(self, *types: str) -> Told | None:
        return next((event for event in reversed(self.outline) if event.type in types), None)

    def by(self, *types: str) -> tuple[str, Text]:
        """Return who made the latest of these events that a person made, and the reason they gave."""
        mine = (e for e in reversed(self.outline) if e.type in types and e.actor.startswith("user:"))
        event = next(mine, None)
        return ("somebody", ()) if event is None else (actor_name(event.actor), _quoted(event.facts.get("reason")))


def _quoted(words: Any) -> Text:
    return reveal_cut(str(words), MOST_REASON) if words else ()


_REQUESTS = {
    "pause": ("session.pause_requested", "Pausing", ", as {who} asked"),
    "take_over": ("session.take_over_requested", "Going over to {who}", ""),
    "cancel": ("session.cancel_requested", "Cancelling", ", as {who} asked"),
}


def _wish(row: Row, past: _Past) -> Stands:
    event, doing, asked = _REQUESTS[row.wanted]
    who, reason = past.by(event)
    when = "after the present step" if row.status == "running" else "once it is known what became of its last call"
    words = f"{doing} {when}{asked}".format(who=who)
    return Stands(kind="notice", words=words, reason=reason)


def _running(row: Row, past: _Past) -> Stands | None:
    if row.all_frozen:
        return Stands(kind="notice", words="Stops after the present step")
    if row.frozen:
        return _frozen(row, "It stops after the present step.")
    if row.taken_by:
        return Stands(kind="notice", words=f"A worker carries out the step of {actor_name(row.taken_by)}")
    return None


def _frozen(row: Row, then: str) -> Stands:
    by, reason = row.frozen or ("", "")
    return Stands(kind="frozen", words=f"Frozen by {actor_name(by)}", reason=_quoted(reason), then=then)


def _queued(row: Row, past: _Past) -> Stands | None:
    if row.all_frozen:
        return None
    if row.frozen:
        return _frozen(row, "No worker takes it until the freeze is lifted, which takes two people.")
    if row.spent:
        words = "Waits for the next day, because the spending limit of the day is reached"
        return Stands(kind="notice", words=words)
    last = next((event for event in reversed(past.outline) if event.type not in _BESIDE), None)
    if last is not None and last.type == "session.preempted":
        return _made_way(last)
    if row.taken_by:
        return Stands(kind="notice", words=f"The step of {actor_name(row.taken_by)} waits on a free worker")
    return Stands(kind="notice", words="Waits on a free worker")


_BESIDE = frozenset({"session.priority_changed", "budget.warned", "elevation.given", "elevation.revoked"})


def _made_way(event: Told) -> Stands:
    title, urgent = str(event.facts.get("title", "")), str(event.facts.get("for", ""))
    return Stands(
        kind="notice",
        words="Paused for the more urgent session" if urgent else "Paused for more urgent work",
        reason=_quoted(title) if title else (),
        then="It goes on as soon as a worker is free, and keeps its place until then.",
        session_pk=urgent,
    )


def _waiting_approval(row: Row, past: _Past) -> Stands:
    if row.asked is None:
        return Stands(kind="notice", words="Waits on a person")
    whom, due, link = row.asked
    then = "If nobody decides by then, nothing is done, and the agent is told so."
    return Stands(kind="notice", words=f"Waits on {whom}", until=due, link=link, then=then)


def _waiting_person(row: Row, past: _Past) -> Stands:
    then = "If nobody answers by then, the agent is told so and goes on without the answer."
    return Stands(kind="notice", words="Waits for a person’s answer", until=row.answer_by, then=then)


def _sleeping(row: Row, past: _Past) -> Stands:
    event = past.last("session.sleeping")
    why = _quoted(event.facts.get("words")) if event else ()
    attempt = int(event.facts.get("attempt", 0)) if event else 0
    failed = f" Attempt {attempt} failed." if attempt else ""
    words = "Sleeps" if row.wake_at else "Sleeps for a moment"
    waits = event is not None and "waits" in event.facts
    return Stands(
        kind="gone",
        words=words,
        until=row.wake_at,
        reason=why,
        because=True,
        then="Nothing failed: it asks again by itself."
        if waits
        else f"Nothing to do: it tries again by itself.{failed}",
    )


def _paused(row: Row, past: _Past) -> Stands:
    last = past.last("session.paused", "session.taken_over")
    if last is not None and last.facts.get("code") == IncidentCode.ANOMALY:
        return Stands(
            kind="stop",
            words="Paused for something unusual that it was about to do",
            reason=_quoted(last.facts.get("reason")),
            because=True,
            then="It was not done. Resume the session if that is all right; otherwise take it over or cancel it.",
        )
    if not row.taken_by:
        who, reason = past.by("session.paused", "session.pause_requested")
        return Stands(
            kind="notice", words=f"Paused by {who}", reason=reason, then="It goes on when somebody resumes it."
        )
    _, reason = past.by("session.taken_over", "session.take_over_requested")
    name = actor_name(row.taken_by)
    mine = row.taken_by == row.actor
    then = "Do a step, finish it, or hand it back." if mine else f"{name} does the next steps until it is handed back."
    return Stands(kind="notice", words=f"Taken over by {'you' if mine else name}", reason=reason, then=then)


def _cancelled(row: Row, past: _Past) -> Stands:
    who, reason = past.by("session.cancelled", "session.cancel_requested")
    return Stands(kind="gone", words=f"Cancelled by {who}", reason=reason)


_TELL = {
    "running": _running,
    "queued": _queued,
    "waiting_approval": _waiting_approval,
    "waiting_person": _waiting_person,
    "sleeping": _sleeping,
    "paused": _paused,
    "cancelled": _cancelled,
}
