"""A seeded simulation of the runtime: workers that die, a hostile vendor, operators who step in at any moment.

One thread, one virtual clock, one source of chance: a seed always gives the same run. It drives the real guards,
back-off, state tables and state machine; the loop, the store and the vendor are in miniature. ``run`` raises Violation
as soon as something happens that must never happen, and at the end when work was lost.

For the first two hours everything goes wrong. Then nothing new goes wrong, and people finish what is theirs, or do not.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from agentops.runtime.account import MachineEvent
from agentops.runtime.machine import replay
from agentops.runtime.states import ENDED, InvocationState, SessionStatus, Wish
from tests.runtime.simulated_worker import Worker, withdrawn
from tests.runtime.simulated_world import CallRow, Goal, Row, Store, Vendor, Violation

_S, _I = SessionStatus, InvocationState
TROUBLE = 2 * 3600.0
END = 8 * 3600.0
# Nobody stands still for longer, so whoever looks at the books an hour later sees what became of a call.
LONGEST_PAUSE, LOOK_AFTER = 600.0, 3600.0
TRAITS = ("steady",) * 8 + ("loops", "wanders", "spends", "parrot", "mumbles", "asks", "asks", "stubborn")


@dataclass
class Simulation:
    """One run. ``trusts_absence`` breaks the workers on purpose: they believe a vendor that does not know a key yet."""

    seed: int
    sessions: int = 6
    workers: int = 3
    trusts_absence: bool = False
    reached: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.store = Store(reached=self.reached)
        self.vendor = Vendor(self.rng, self.reached)
        self.deadly = self.rng.choice([0.01, 0.01, 0.01, 0.3])
        self.meddling = self.rng.choice([0.0, 0.02, 0.1])
        self.people_leave = self.rng.random() < 0.4
        self._due: list[tuple[float, int, Iterator[float], bool]] = []
        self._number = 0

    def run(self) -> Counter[str]:
        """Run to the end and return how often each kind of thing happened. Raises Violation."""
        for _ in range(self.sessions):
            self._start(self._arrival(), mortal=False)
        for n in range(self.workers):
            self._start(self._worker(f"w{n}"), mortal=True)
        self._start(self._every(20, self._sweep), mortal=False)
        self._start(self._every(8, self._operate), mortal=False)
        self._start(self._every(150, self._decide), mortal=False)
        self._start(self._every(300, self._look_at_books), mortal=False)
        while self._due and self._due[0][0] < END and not (self.store.now > TROUBLE and self.store.all_ended()):
            self._next()
        self._check_the_end()
        return self.reached

    def _start(self, actor: Iterator[float], *, mortal: bool, at: float | None = None) -> None:
        self._number += 1
        heapq.heappush(self._due, (self.store.now if at is None else at, self._number, actor, mortal))

    def _next(self) -> None:
        """Let the next actor go on, unless it is a worker that dies here or stands still."""
        self.store.now, _, actor, mortal = heapq.heappop(self._due)
        if self.store.now > TROUBLE and not self.vendor.calm:
            self._calm_down()
        chance = self.rng.random() if mortal and not self.vendor.calm else 1.0
        if chance < self.deadly:
            self.reached["worker: killed"] += 1
            self._start(self._worker(self.store.name("w")), mortal=True, at=self.store.now + self.rng.uniform(1, 60))
            return
        if chance < self.deadly + 0.01:
            self.reached["worker: stopped and continued"] += 1
            self._start(actor, mortal=True, at=self.store.now + self.rng.uniform(30, LONGEST_PAUSE))
            return
        delay = next(actor, None)
        if delay is not None:
            self._start(actor, mortal=mortal, at=self.store.now + delay)

    def _calm_down(self) -> None:
        self.vendor.calm = True
        self.vendor.arrive()
        if self.store.frozen_by:
            self.store.switch("")
        for row in self.store.sessions.values():
            if self.people_leave and row.status in (_S.QUEUED, _S.RUNNING):
                self._step_in(row, self.rng.choice([Wish.PAUSE, Wish.TAKE_OVER]))

    def _worker(self, name: str) -> Iterator[float]:
        skew = self.rng.uniform(-30, 30)
        return Worker(name, self.store, self.vendor, self.rng, skew, self.trusts_absence).run()

    def _arrival(self) -> Iterator[float]:
        yield self.rng.uniform(0, TROUBLE)
        goals = tuple(
            Goal(f"pay{n}", needs_person=self.rng.random() < 0.4, keyed=self.rng.random() < 0.7)
            for n in range(self.rng.randint(1, 4))
        )
        self.store.open(goals, self.rng.choice(TRAITS))

    def _every(self, seconds: float, act: Callable[[], None]) -> Iterator[float]:
        while True:
            yield self.rng.uniform(0.5, 1.5) * seconds
            act()

    def _sweep(self) -> None:
        """Whatever is due on the database's clock; what is on its way to the vendor may arrive."""
        if self.rng.random() < 0.3:
            self.vendor.arrive()
        for row in self.store.sessions.values():
            if row.status is _S.RUNNING and row.lease_until < self.store.now:
                self._move(row, "session.lease_expired", status=_S.QUEUED, attempts=row.attempts + 1)
            elif row.status is _S.SLEEPING and row.wake_at <= self.store.now:
                self._move(row, "session.woken", status=_S.QUEUED)

    def _move(self, row: Row, name: str, *, calls: tuple[CallRow, ...] = (), **changes: object) -> bool:
        events = [MachineEvent(name, {"code": changes.get("stop_code", "")}, {}, "user:bob")]
        return self._append(row, events, calls, **changes)

    def _append(self, row: Row, events: list[MachineEvent], calls: tuple[CallRow, ...] = (), **changes: object) -> bool:
        return self.store.move(row, row.status, row.position, events, changes, calls)

    def _operate(self) -> None:
        """Bob does something to a session, or freezes everything, or lets go again."""
        if not self.vendor.calm and self.rng.random() < (0.3 if self.store.frozen_by else 0.02):
            self.store.switch("" if self.store.frozen_by else "user:bob")
            self.reached["operator: frozen or lifted"] += 1
        if self._nobody_is_there():
            return
        live = [row for row in self.store.sessions.values() if row.status not in ENDED]
        if not live:
            return
        row = self.rng.choice(live)
        if row.status is _S.PAUSED and (self.vendor.calm or self.rng.random() < 0.5):
            self._continue(row)
        elif not self.vendor.calm and self.rng.random() < self.meddling:
            self._step_in(row, self.rng.choice([Wish.PAUSE, Wish.PAUSE, Wish.TAKE_OVER, Wish.CANCEL]))

    def _nobody_is_there(self) -> bool:
        """In some runs people go home when the trouble is over, and what waits for them goes on waiting."""
        return self.vendor.calm and self.people_leave

    def _step_in(self, row: Row, wish: Wish) -> None:
        """A session that a worker holds is told; any other moves at once, and what people were asked is withdrawn."""
        if row.status is _S.RUNNING:
            taken_by = "user:bob" if wish is Wish.TAKE_OVER else row.taken_by
            self._move(row, f"session.{wish}_requested", wanted=wish, taken_by=taken_by, paused_by="user:bob")
            return
        call = self.store.unfinished(row.id)
        events: list[MachineEvent] = []
        calls: tuple[CallRow, ...] = ()
        if call and call.state is _I.AWAITING_APPROVAL:
            events, refused = withdrawn(self.store, call)
            calls = (refused,)
        elif call and wish is not Wish.PAUSE:
            # What became of the call, a worker has to find out first.
            taken_by = "user:bob" if wish is Wish.TAKE_OVER else row.taken_by
            name = f"session.{wish}_requested"
            self._move(row, name, status=_S.QUEUED, wanted=wish, taken_by=taken_by, paused_by="user:bob")
            return
        if row.question:
            self.reached["operator: question closed"] += 1
        name = {Wish.PAUSE: "session.paused", Wish.TAKE_OVER: "session.taken_over", Wish.CANCEL: "session.cancelled"}[
            wish
        ]
        status, code = (_S.CANCELLED, "CANCELLED") if wish is Wish.CANCEL else (_S.PAUSED, "")
        taken_by = {Wish.PAUSE: row.taken_by, Wish.TAKE_OVER: "user:bob", Wish.CANCEL: ""}[wish]
        events.append(MachineEvent(name, {"code": code, "by": "user:bob"}, {}, "user:bob"))
        changes = {
            "wanted": Wish.NONE,
            "taken_by": taken_by,
            "stop_code": code,
            "paused_by": "user:bob",
            "question": "",
        }
        self._append(row, events, calls, status=status, **changes)

    def _continue(self, row: Row) -> None:
        """A paused session goes on; who took one over does a step, hands it back, or leaves it."""
        if not row.taken_by:
            self._move(row, "session.resumed", status=_S.QUEUED)
        elif self.rng.random() < 0.5:
            self._move(row, "session.handed_back", status=_S.QUEUED, taken_by="")
        else:
            event = MachineEvent("person.proposed", {"tool": self.rng.choice(row.goals).name}, {}, "user:bob")
            self._append(row, [event], status=_S.QUEUED)

    def _decide(self) -> None:
        """Alice decides about one thing that waits for people, or lets it expire; some things she leaves."""
        waiting = [
            row for row in self.store.sessions.values() if row.status in (_S.WAITING_APPROVAL, _S.WAITING_PERSON)
        ]
        if not waiting or self._nobody_is_there() or self.rng.random() < 0.3:
            return
        row = self.rng.choice(waiting)
        if row.status is _S.WAITING_PERSON:
            name = self.rng.choice(["person.answered", "person.answered", "question.expired", "question.overtaken"])
            event = MachineEvent(name, {"tool": "ask", "result": "yes"}, {"question": row.question}, "user:alice")
            self._append(row, [event], status=_S.QUEUED, question="")
            return
        call = self.store.unfinished(row.id)
        if call is None or self.store.requests[call.request] != "pending":
            raise Violation(f"{row.id} waits for a decision about nothing")
        verdict = self.rng.choice(["approved", "approved", "approved", "rejected", "expired"])
        refs = {"invocation": call.id, "request": call.request}
        event = MachineEvent(f"approval.{verdict}", {"tool": call.goal.name, "result": verdict}, refs, "user:alice")
        calls = () if verdict == "approved" else (replace(call, state=_I.REFUSED),)
        self._append(row, [event], calls, status=_S.QUEUED)

    def _look_at_books(self) -> None:
        """Carol settles calls of unknown outcome, long enough after: she finishes what is half done."""
        for call in list(self.store.calls.values()):
            if call.state is not _I.UNKNOWN or self.store.now - call.since < LOOK_AFTER:
                continue
            happened = any(self.vendor.effects[call.action].values())
            for part in ("debit", "receipt"):
                self.vendor.effects[call.action][part] = int(happened)
            found, state = ("happened", _I.SUCCEEDED) if happened else ("not_happened", _I.FAILED)
            event = MachineEvent(
                "call.reconciled", {"how": "person", "found": found}, {"invocation": call.id}, "user:carol"
            )
            settled = replace(call, state=state, key=call.key if happened else "")
            self._append(self.store.sessions[call.session], [event], (settled,))

    def _check_the_end(self) -> None:
        if len(self.store.sessions) != self.sessions:
            raise Violation("a session is gone")
        for row in self.store.sessions.values():
            if replay(row.events) != row.account:
                raise Violation(f"the stream of {row.id} does not give the account that it gave event by event")
            if row.status not in ENDED and not self.store.waits_for(row):
                raise Violation(f"{row.id} is {row.status} and waits for nobody")
            if row.status not in ENDED:
                self.reached[f"end: {row.status} for a person"] += 1
            self._check_goals(row)
        for action, parts in self.vendor.effects.items():
            self._check_books(action, any(parts.values()))

    def _check_goals(self, row: Row) -> None:
        """A session that finished has a recorded end of everything it was to do."""
        told = {event.facts.get("tool") for event in row.events}
        if row.status is _S.FINISHED and not {goal.name for goal in row.goals} <= told:
            raise Violation(f"{row.id} finished and left something out")

    def _check_books(self, action: str, happened: bool) -> None:
        states = [call.state for call in self.store.calls.values() if call.action == action]
        done, open_ = states.count(_I.SUCCEEDED), states.count(_I.UNKNOWN) + states.count(_I.INTENDED)
        if happened and done + open_ != 1:
            raise Violation(f"{action} took effect, and the ledger says {[str(state) for state in states]}")
        if done > int(happened) or (done and not self.vendor.happened(action)):
            raise Violation(f"{action} did not take effect, and the ledger says {[str(state) for state in states]}")
