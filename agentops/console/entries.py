"""The entries of a timeline, built from the events of one page (pure).

Events that tell of one call, or of one question to people, become one entry at the place of the first. An
event of a type that is not known here becomes a note: nothing that was recorded is left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agentops.console.formats import bytes_words, duration_words
from agentops.console.gates import gate_entry
from agentops.console.happenings import WORDS, note_of
from agentops.console.marks import State, Text, UntrustedText
from agentops.console.records import RequestSummary, Told
from agentops.console.reveal import reveal, reveal_cut
from agentops.console.said import actor_name, cost_of, one_line, rules_of, tokens_of, took_words
from agentops.console.timeline import (
    AnswerEntry,
    CallEntry,
    Entry,
    IdleEntry,
    IncidentEntry,
    MessageEntry,
    NoteEntry,
    Undoing,
)

IDLE_SECONDS = 60
"""A gap between two events that is shown as waiting."""

SUMMARY = 160


@dataclass(frozen=True)
class Known:
    """What is known beside the page's events.

    ``arguments`` are those of the session's writes by invocation id, ``requests`` the questions to people by
    id, ``writes`` the names of tools that change something, ``source`` names the subject ("Ticket T-17"),
    ``complete`` is whether no events follow after this page. ``calls`` are the positions of the session's writes and
    ``states`` their states, both by invocation id, ``undoing`` what undoing has to do with them.
    """

    arguments: Mapping[str, Any]
    requests: Mapping[str, RequestSummary]
    writes: frozenset[str]
    source: str
    complete: bool
    calls: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    undoing: Mapping[str, Undoing] = field(default_factory=dict)


def entries_of(events: Sequence[Told], known: Known) -> list[Entry]:
    """Return the entries of a page, with long gaps between its events as waiting."""
    page = _Page(events, known)
    found: list[Entry] = []
    before: Told | None = None
    for event in events:
        if before is not None and (event.at - before.at).total_seconds() >= IDLE_SECONDS:
            found.append(IdleEntry(words=_idle_words(before, event)))
        found.extend(_marked(entry, page.erased) for entry in page.entries_at(event))
        before = event
    return found


def _marked(entry: Entry, erased: Mapping[int, datetime]) -> Entry:
    """Say of an entry that what was said in any of its events was erased."""
    if isinstance(entry, IdleEntry) or not erased:
        return entry
    at = max((erased[place] for place in (entry.position, *entry.folded) if place in erased), default=None)
    return entry if at is None else replace(entry, erased_at=at)


_WAITED_FOR = {
    "approval.requested": "for a decision",
    "person.asked": "for an answer",
    "session.paused": "while it was paused",
    "session.taken_over": "for the person who had taken it over",
    "session.frozen": "while it was frozen",
    "session.preempted": "for a worker",
    "session.handed_on": "for a worker",
    "session.handed_back": "for a worker",
    "session.resumed": "for a worker",
    "session.reopened": "for a worker",
    "person.proposed": "for a worker",
    "person.answered": "for a worker",
    "question.expired": "for a worker",
    "question.overtaken": "for a worker",
    "session.sleeping": "before trying again",
    "session.opened": "for a worker",
    "session.woken": "for a worker",
    "session.lease_expired": "for a worker",
    "approval.voted": "for another decision",
    "approval.given": "whether it is taken back",
    "approval.taken_back": "for another decision",
    "approval.asked": "for the agent's answer",
    "approval.answered": "for a decision",
    "approval.approved": "for a worker",
    "approval.edited": "for a worker",
    "approval.rejected": "for a worker",
    "approval.expired": "for a worker",
}


def _idle_words(before: Told, after: Told) -> str:
    gap = duration_words((after.at - before.at).total_seconds())
    waited_for = _WAITED_FOR.get(before.type)
    return f"waited {gap} {waited_for}" if waited_for else f"nothing was recorded for {gap}"


class _Page:
    """The events of a page by what they belong to."""

    def __init__(self, events: Sequence[Told], known: Known) -> None:
        self.known = known
        self.erased = {event.position: event.erased_at for event in events if event.erased_at is not None}
        self.results = {e.invocation: e for e in events if e.type in _RESULTS}
        self.intended = {e.invocation for e in events if e.type == "call.intended"}
        self.asked = {e.request for e in events if e.type == "approval.requested"}
        self.decisions: dict[str, list[Told]] = {}
        for event in events:
            if event.type.startswith("approval.") and event.type != "approval.requested":
                self.decisions.setdefault(event.request, []).append(event)

    def entries_at(self, event: Told) -> Iterator[Entry]:
        """Yield the entry that begins at ``event``; none when an earlier one tells it."""
        if event.type == "approval.requested":
            yield gate_entry(event, self.decisions.get(event.request, ()), self.known.requests.get(event.request))
        elif event.type.startswith("approval."):
            if event.request not in self.asked and event is self.decisions[event.request][0]:
                yield gate_entry(event, self.decisions[event.request], self.known.requests.get(event.request))
        elif event.type == "call.intended":
            yield self._call(event, self.results.get(event.invocation))
        elif event.type in _RESULTS:
            if event.invocation not in self.intended:
                yield self._call(event, event)
        elif event.type in _UNINTENDED:
            yield self._call(event, event)
        else:
            single = _SINGLE.get(event.type)
            yield single(event, self.known) if single else note_of(event, self.known.calls)

    def _call(self, event: Told, ended: Told | None) -> CallEntry:
        """Build the entry of a call. ``ended`` is the event that tells how it ended, None while nobody knows."""
        tool = str(event.facts.get("tool", ""))
        malformed = event.type == "model.malformed"
        arguments = event.body.get("arguments", self.known.arguments.get(event.invocation))
        both = [event] if ended is None or ended is event else [event, ended]
        facts = {**event.facts, "tool_ms": (ended or event).facts.get("tool_ms", 0)}
        size = sum(part.size for part in both)
        return CallEntry(
            position=event.position,
            at=event.at,
            took=took_words(facts),
            cost=cost_of(facts),
            tokens=tokens_of(facts),
            folded=[part.position for part in both[1:]],
            tool="an answer that is no proposal" if malformed else tool or "nothing",
            summary=reveal_cut(one_line(arguments), SUMMARY),
            rationale=reveal(str(event.body.get("rationale", ""))),
            verdict=_verdict(event),
            rules=rules_of(event.body),
            outcome=self._outcome(ended),
            detail=_detail(ended),
            size=bytes_words(size) if size else "",
            write=tool in self.known.writes or event.type == "call.intended",
            person=actor_name(str(event.body.get("by", ""))),
            undo=self.known.undoing.get(event.invocation),
        )

    def _outcome(self, ended: Told | None) -> State:
        if ended is None:
            return State("plain", "under way" if self.known.complete else "its result is among later steps")
        if ended.type == "call.unknown":
            return _FOUND_OUT.get(self.known.states.get(ended.invocation, ""), _OUTCOMES[ended.type])
        return _OUTCOMES[ended.type]


_RESULTS = frozenset({"call.succeeded", "call.failed", "call.unknown"})
_UNINTENDED = frozenset({"call.read", "call.read_failed", "call.refused", "model.malformed"})
_OUTCOMES = {
    "call.read": State("ok", "answered"),
    "call.read_failed": State("stop", "failed"),
    "call.refused": State("stop", "refused"),
    "call.succeeded": State("ok", "done"),
    "call.failed": State("stop", "failed"),
    "call.unknown": State("stop", "outcome unknown"),
    "model.malformed": State("stop", "could not be read"),
}

# What was found out later about a call of unknown outcome, by the state of its row.
_FOUND_OUT = {
    "succeeded": State("ok", "unknown at first, it did take effect"),
    "compensated": State("ok", "unknown at first, it did take effect"),
    "failed": State("gone", "unknown at first, it never took effect"),
}


def _verdict(event: Told) -> State:
    approved_by = event.facts.get("approved_by")
    if approved_by:
        return State("ok", f"approved by {actor_name(approved_by)}")
    if event.type == "call.refused":
        return State("stop", "denied by policy" if event.facts.get("code") == "POLICY" else "not let through")
    if event.type == "model.malformed":
        return State("stop", "not let through")
    return State("ok", "allowed")


def _detail(ended: Told | None) -> Text:
    """Say what the system of record returned for a write, or why a call did not do what it should."""
    if ended is None or ended.type == "call.read":
        return ()
    result = ended.body.get("result")
    if ended.type == "call.succeeded":
        return reveal_cut(one_line(result), SUMMARY)
    if not isinstance(result, Mapping):
        return ()
    words = f"{result.get('code', '')}: {result.get('message', '')} {result.get('next_step', '')}"
    return reveal_cut(words.strip(), 3 * SUMMARY)


def _opened(event: Told, known: Known) -> Entry:
    received = event.body.get("received_at")
    message = UntrustedText(
        source=known.source,
        author=reveal(str(event.body.get("sender", ""))),
        at=datetime.fromisoformat(received) if received else event.at,
        body=reveal(str(event.body.get("text", ""))),
    )
    return MessageEntry(position=event.position, at=event.at, heading="Request", message=message)


def _sleeping(event: Told, known: Known) -> Entry:
    tried = f"Nothing to do: it tries again by itself (attempt {event.facts.get('attempt', 1)} failed)."
    waits = f"Nothing failed: {event.facts.get('tool', '')} is called again by itself when its answer is due."
    return IncidentEntry(
        position=event.position,
        at=event.at,
        code=str(event.facts.get("code", "")),
        words=reveal(str(event.facts.get("words", ""))),
        next_step=waits if "waits" in event.facts else tried,
    )


def _stopping(event: Told, known: Known) -> Entry:
    return IncidentEntry(
        position=event.position,
        at=event.at,
        code=str(event.facts.get("code", "")),
        words=reveal(str(event.facts.get("words", ""))),
        next_step="The agent is asked nothing more; the work goes to a person.",
    )


def _ended(event: Told, known: Known) -> Entry:
    if event.facts.get("again"):
        return NoteEntry(position=event.position, at=event.at, words="The session ended again as it had ended before")
    answer = event.body.get("answer") or {}
    heading = "Cancelled" if event.type == "session.cancelled" else "Answer"
    return AnswerEntry(
        position=event.position,
        at=event.at,
        heading=heading,
        took=took_words(event.facts),
        cost=cost_of(event.facts),
        tokens=tokens_of(event.facts),
        body=reveal(str(answer.get("message", ""))),
        verified=[reveal(line) for line in answer.get("verified", ())],
        blocked=[reveal(line) for line in answer.get("blocked", ())],
        left=[reveal(line) for line in answer.get("left", ())],
    )


def _claimed(event: Told, known: Known) -> Entry:
    words = f"A worker took the session (lease {event.facts.get('fence', '?')})"
    return NoteEntry(position=event.position, at=event.at, words=words, who=actor_name(event.actor))


def _lease_expired(event: Told, known: Known) -> Entry:
    who = str(event.facts.get("lease_owner", ""))
    return NoteEntry(position=event.position, at=event.at, words=WORDS[event.type], who=who)


_SINGLE: dict[str, Callable[[Told, Known], Entry]] = {
    "session.opened": _opened,
    "session.claimed": _claimed,
    "session.sleeping": _sleeping,
    "session.lease_expired": _lease_expired,
    "session.stopping": _stopping,
    "session.finished": _ended,
    "session.stopped": _ended,
    "session.cancelled": _ended,
}
