"""What the simulated workers work with: a store with the conditional updates of the real one, and a hostile vendor.

``Store.record`` and ``Store.move`` let through what the statements of ``agentops.runtime.statements`` let through,
under the same conditions: position, fence, status, and for a decision the epoch. After each of them the events go
through ``agentops.runtime.machine``, and what they add up to is compared with the row.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from agentops.kernel.canonical import digest
from agentops.runtime.account import Account, MachineEvent, differences
from agentops.runtime.machine import advance
from agentops.runtime.states import (
    ENDED,
    UNFINISHED,
    InvocationState,
    SessionStatus,
    Wish,
    require_invocation_transition,
    require_transition,
)

LEASE = 60.0
DECIDES = frozenset({"call.intended", "call.retried", "approval.requested"})


class Stale(Exception):
    """The session is no longer held by whoever tried to record something."""


class Interrupted(Exception):
    """Somebody stepped in between the decision and its record."""


class Violation(AssertionError):
    """What must never happen did."""


@dataclass(frozen=True)
class Goal:
    """A write that a session is to make. A ``keyed`` vendor takes each key once and can be asked about it."""

    name: str
    needs_person: bool
    keyed: bool


@dataclass
class Row:
    """The row of a session, its stream, and what the stream adds up to."""

    id: str
    goals: tuple[Goal, ...]
    trait: str
    status: SessionStatus = SessionStatus.QUEUED
    position: int = 0
    fence: int = 0
    wanted: Wish = Wish.NONE
    taken_by: str = ""
    stop_code: str = ""
    owner: str = ""
    lease_until: float = 0.0
    wake_at: float = 0.0
    attempts: int = 0
    steps: int = 0
    gates: int = 0
    tokens: int = 0
    question: str = ""
    paused_by: str = ""
    events: list[MachineEvent] = field(default_factory=list)
    account: Account = field(default_factory=Account)


@dataclass
class CallRow:
    """The row of a proposed write. ``action`` is its business key for good, ``key`` only while it is taken."""

    id: str
    session: str
    goal: Goal
    action: str
    state: InvocationState
    key: str = ""
    request: str = ""
    since: float = 0.0


@dataclass
class Store:
    """Sessions, calls, requests and the epoch. ``frozen_by`` names who stopped everything, "" when nobody did."""

    now: float = 0.0
    epoch: int = 0
    frozen_by: str = ""
    sessions: dict[str, Row] = field(default_factory=dict)
    calls: dict[str, CallRow] = field(default_factory=dict)
    requests: dict[str, str] = field(default_factory=dict)
    reached: Counter[str] = field(default_factory=Counter)
    names: int = 0

    def name(self, kind: str) -> str:
        """Return a new id."""
        self.names += 1
        return f"{kind}{self.names}"

    def open(self, goals: tuple[Goal, ...], trait: str) -> None:
        """Start a session."""
        row = Row(self.name("s"), goals, trait)
        self.sessions[row.id] = row
        self._append(row, [MachineEvent("session.opened")], {})

    def switch(self, frozen_by: str) -> None:
        """Freeze or lift: everything that was decided before is to be decided anew."""
        self.frozen_by = frozen_by
        self.epoch += 1

    def claim(self, owner: str) -> Row | None:
        """Give the first runnable session to ``owner``; of a frozen installation only what an operator wants done."""
        for row in self.sessions.values():
            if row.status is SessionStatus.QUEUED and (row.wanted or not self.frozen_by):
                event = MachineEvent("session.claimed", {"fence": row.fence + 1})
                changes = {"fence": row.fence + 1, "owner": owner, "lease_until": self.now + LEASE}
                self._append(row, [event], {"status": SessionStatus.RUNNING, **changes})
                return row
        return None

    def record(
        self,
        id_: str,
        fence: int,
        position: int,
        epoch: int,
        events: Sequence[MachineEvent],
        changes: Mapping[str, Any],
        calls: Sequence[CallRow],
        *,
        as_decided: bool,
    ) -> None:
        """A durable point of whoever holds the session. Raises Stale or Interrupted, having written nothing."""
        row = self.sessions[id_]
        if row.fence != fence or row.status is not SessionStatus.RUNNING:
            raise Stale
        if as_decided and (row.position, self.epoch) != (position, epoch):
            raise Interrupted
        if any(call.key and self._taken(call) for call in calls):
            raise Violation(f"{calls} takes a key that is taken")
        self._append(row, events, {"lease_until": self.now + LEASE, **changes}, calls)

    def move(
        self,
        row: Row,
        before: SessionStatus,
        position: int,
        events: Sequence[MachineEvent],
        changes: Mapping[str, Any],
        calls: Sequence[CallRow] = (),
    ) -> bool:
        """Move a session that nobody is working on, or add a wish to one that is; False when it moved meanwhile."""
        if row.status is not before or row.position != position:
            return False
        self._append(row, events, changes, calls)
        return True

    def _append(
        self, row: Row, events: Sequence[MachineEvent], changes: Mapping[str, Any], calls: Sequence[CallRow] = ()
    ) -> None:
        status = changes.get("status", row.status)
        if status is not row.status:
            require_transition(row.status, status)
        for call in calls:
            known = self.calls.get(call.id)
            if known is not None and known.state is not call.state:
                require_invocation_transition(known.state, call.state)
            self.calls[call.id] = call
        for name, value in changes.items():
            setattr(row, name, value)
        if row.status is not SessionStatus.RUNNING:
            row.owner = ""
        row.position += len(events)
        for event in events:
            self.reached[event.type] += 1
            if self.frozen_by and event.type in DECIDES:
                raise Violation(f"{event.type} of {row.id} under a freeze")
            row.events.append(event)
            advance(row.account, event)
            if event.type.startswith("approval."):
                verb = event.type.partition(".")[2]
                self.requests[event.refs["request"]] = "pending" if verb == "requested" else verb
        problems = differences(row.account, self._fields(row))
        if problems:
            raise Violation(f"{row.id}: {problems}")

    def _taken(self, call: CallRow) -> bool:
        return any(other.key == call.key and other.id != call.id for other in self.calls.values())

    def _fields(self, row: Row) -> dict[str, Any]:
        names = ("status", "stop_code", "wanted", "taken_by", "position", "fence", "gates", "question", "tokens")
        calls = {call.id: call.state.value for call in self.calls.values() if call.session == row.id}
        return {**{name: getattr(row, name) for name in names}, "calls": calls}

    def unfinished(self, id_: str) -> CallRow | None:
        """Return the session's call that is under way or waits for a decision."""
        return next((c for c in self.calls.values() if c.session == id_ and c.state in UNFINISHED), None)

    def waits_for(self, row: Row) -> str:
        """Return which person has to act on the session; "" when nobody has to."""
        if row.status is SessionStatus.PAUSED:
            return row.taken_by or row.paused_by
        if row.status is SessionStatus.WAITING_PERSON:
            return f"whoever answers {row.question}" if row.question else ""
        call = self.unfinished(row.id)
        asked = row.status is SessionStatus.WAITING_APPROVAL and call and self.requests[call.request] == "pending"
        return f"the approvers of {call.request}" if call and asked else ""

    def all_ended(self) -> bool:
        """Tell whether nothing is left to do for anybody."""
        return all(row.status in ENDED for row in self.sessions.values())


class Failed(Exception):
    """The vendor says that nothing happened. ``retryable``: it may work later."""

    def __init__(self, *, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__()
        self.retryable = retryable
        self.retry_after = retry_after


class Ambiguous(Exception):
    """The connection ended without an answer."""


PARTS = ("debit", "receipt")


@dataclass
class Vendor:
    """The system of record: an effect has two parts, and everything can go wrong around them.

    ``late`` are effects of calls that are still on their way.
    """

    rng: Random
    reached: Counter[str]
    calm: bool = False
    effects: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    keyed: dict[str, bool] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)

    def call(self, action: str, *, keyed: bool) -> dict[str, Any]:
        """Perform the action, once per key if ``keyed``. Raises Failed or Ambiguous."""
        self.keyed[action] = keyed
        how = "ok" if self.calm else self.rng.choices(*zip(*_BEHAVIOUR.items(), strict=True))[0]
        self.reached[f"vendor: {how}"] += 1
        if how == "500":
            raise Failed(retryable=True)
        if how == "429":
            raise Failed(retryable=True, retry_after=self.rng.uniform(1, 90))
        if how == "409":
            raise Failed(retryable=False)
        if how == "time-out before":
            raise Ambiguous
        if how == "still on its way":
            self.late.append(action)
            raise Ambiguous
        self._take_effect(action, PARTS[:1] if how == "half of it" else PARTS)
        if how != "ok":
            raise Ambiguous
        return {"receipt": digest([action]).hex()}

    def arrive(self) -> None:
        """Let what is still on its way take effect."""
        for action in self.late:
            self._take_effect(action, PARTS)
        self.late.clear()

    def _take_effect(self, action: str, parts: Sequence[str]) -> None:
        done = self.effects[action]
        for part in parts:
            if not (self.keyed[action] and done[part]):
                done[part] += 1
            if done[part] > 1:
                raise Violation(f"{part} of {action} took effect twice")

    def happened(self, action: str) -> bool:
        """Tell whether all of it took effect, to somebody who looks at the books."""
        return all(self.effects[action][part] for part in PARTS)

    def ask(self, action: str) -> dict[str, Any] | None:
        """Tell what became of a key, None when it is not known (yet). Raises Ambiguous."""
        if not self.calm and self.rng.random() < 0.15:
            self.reached["vendor: does not answer"] += 1
            raise Ambiguous
        return {"receipt": digest([action]).hex()} if self.happened(action) else None


_BEHAVIOUR = {
    "ok": 60,
    "500": 8,
    "429": 6,
    "409": 4,
    "time-out before": 6,
    "time-out after": 8,
    "half of it": 5,
    "still on its way": 3,
}
