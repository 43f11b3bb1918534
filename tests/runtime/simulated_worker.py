"""A worker of the simulation: the loop of a session in miniature, over the real guards and state tables.

It is a generator that yields the seconds which the next thing takes. Between two yields nothing comes between; at
each yield the worker may die, or stand still for so long that its lease runs out.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from agentops.kernel.errors import IncidentCode
from agentops.registry.planner import Observation, ObservationStatus
from agentops.runtime import guards
from agentops.runtime.account import MachineEvent
from agentops.runtime.guards import Limits, Progress, Used, backoff_seconds, over_budget
from agentops.runtime.states import InvocationState, SessionStatus, Wish
from tests.runtime.simulated_world import Ambiguous, CallRow, Failed, Goal, Interrupted, Row, Stale, Store, Vendor

_S, _I = SessionStatus, InvocationState
LIMITS = Limits(max_steps=18, max_seconds=10_000, max_cost_micro=10**9, max_tokens=10**9)
_STATUS = {
    "call.read": ObservationStatus.OK,
    "call.refused": ObservationStatus.REFUSED,
    "call.succeeded": ObservationStatus.OK,
    "call.failed": ObservationStatus.FAILED,
    "call.unknown": ObservationStatus.UNKNOWN,
    "model.malformed": ObservationStatus.REFUSED,
    "approval.rejected": ObservationStatus.REJECTED,
    "approval.expired": ObservationStatus.EXPIRED,
    "person.answered": ObservationStatus.OK,
    "question.expired": ObservationStatus.EXPIRED,
    "question.overtaken": ObservationStatus.EXPIRED,
}


@dataclass
class Held:
    """A claimed session, folded from its stream. ``certain``: the call under way has had no effect so far."""

    row: Row
    fence: int
    position: int
    epoch: int
    attempts: int
    stop_code: str = ""
    proposed: str = ""
    certain: bool = True
    history: list[Observation] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)

    def follow(self, event: MachineEvent) -> None:
        """Take in an event, whether read back or just recorded."""
        facts = event.facts
        if event.type == "session.stopping":
            self.stop_code = facts["code"]
        elif event.type == "person.proposed":
            self.proposed = facts["tool"]
        elif event.type == "call.intended":
            self.certain = True
        elif event.type == "session.lease_expired" or facts.get("without_effect") is False:
            self.certain = False
        status = _STATUS.get(event.type)
        if status is None:
            return
        self.proposed = ""
        tool, arguments = facts.get("tool", ""), facts.get("arguments", {})
        observation = Observation(len(self.history) + 1, tool, arguments, status, facts.get("result"))
        self.history.append(observation)
        self.progress.see(observation, facts.get("output", ""), wrote=event.type == "call.succeeded")


@dataclass
class Worker:
    """One process. ``skew`` is by how much its clock is wrong, in seconds. ``trusts_absence`` breaks it on purpose."""

    name: str
    store: Store
    vendor: Vendor
    rng: Random
    skew: float
    trusts_absence: bool = False

    def run(self) -> Iterator[float]:
        """Claim and work sessions for ever."""
        while True:
            row = self.store.claim(self.name)
            if row is None:
                yield self.rng.uniform(1, 10)
                continue
            held = Held(row, row.fence, row.position, self.store.epoch, row.attempts)
            for event in row.events:
                held.follow(event)
            yield 0.1
            try:
                yield from self._session(held)
            except Stale:
                self.store.reached["worker: stale"] += 1

    def _session(self, held: Held) -> Iterator[float]:
        while True:
            try:
                left = yield from self._step(held)
            except Interrupted:
                self.store.reached["worker: interrupted"] += 1
                left = False
            if left:
                return
            self._look_up(held)
            yield 0.1

    def _look_up(self, held: Held) -> None:
        """Follow the row, as the answer to each durable point does. Raises Stale."""
        if held.row.fence != held.fence or held.row.status is not _S.RUNNING:
            raise Stale
        held.position, held.epoch = held.row.position, self.store.epoch

    def _step(self, held: Held) -> Generator[float, None, bool]:
        call = self.store.unfinished(held.row.id)
        under_way = call is not None and call.state is _I.INTENDED
        wanted = held.row.wanted
        if call and under_way and wanted in (Wish.CANCEL, Wish.TAKE_OVER):
            return (yield from self._recover(held, call, again=False))
        if wanted or (self.store.frozen_by and not under_way):
            self._let_go(held, call, wanted)
            return True
        lost = held.attempts >= guards.MOST_LOST_WORKERS
        if lost and not held.stop_code:
            self._record(held, [MachineEvent("session.stopping", {"code": IncidentCode.WORKER_LOST.value})])
        if call and under_way:
            return (yield from self._recover(held, call, again=not held.stop_code and not self.store.frozen_by))
        if call:
            return (yield from self._after_decision(held, call))
        if held.row.taken_by:
            return (yield from self._for_person(held))
        code = None if held.stop_code else held.progress.problem() or self._over_budget(held)
        if code:
            self._record(held, [MachineEvent("session.stopping", {"code": code.value})])
        if held.stop_code:
            self._end(held, _S.STOPPED, "session.stopped", held.stop_code)
            return True
        yield self.rng.uniform(0.2, 8)
        return (yield from self._propose(held))

    def _over_budget(self, held: Held) -> IncidentCode | None:
        row = held.row
        return over_budget(LIMITS, steps=row.steps, worked_ms=0, cost_micro=0, tokens=row.tokens)

    def _propose(self, held: Held) -> Generator[float, None, bool]:
        tool, output = plan(held)
        if tool == "final":
            self._end(held, _S.FINISHED, "session.finished", "")
            return True
        facts = {"tool": tool, "output": output, "input_tokens": 3, "output_tokens": 2}
        if tool == "":
            self._record(held, [MachineEvent("model.malformed", facts)], steps=1)
        elif tool == "ask":
            question = self.store.name("q")
            event = MachineEvent("person.asked", facts, {"question": question})
            self._record(held, [event], as_decided=True, steps=1, status=_S.WAITING_PERSON, question=question)
            return True
        elif tool.startswith("look"):
            arguments = {"at": tool}
            if held.progress.repeats(tool, arguments):
                facts |= {"arguments": arguments, "result": {"code": guards.REPEATED}}
                self._record(held, [MachineEvent("call.refused", facts)], steps=1)
            else:
                result = "nothing" if held.row.trait in ("loops", "wanders") else f"{tool} {len(held.history)}"
                yield 0.5
                facts |= {"arguments": arguments, "result": result}
                self._record(held, [MachineEvent("call.read", facts)], steps=1)
        else:
            goal = next(goal for goal in held.row.goals if goal.name == tool)
            return (yield from self._decide(held, goal, facts))
        return False

    def _for_person(self, held: Held) -> Generator[float, None, bool]:
        goal = next((goal for goal in held.row.goals if goal.name == held.proposed), None)
        if goal is None:
            self._record(held, [MachineEvent("session.paused", {"for": held.row.taken_by})], status=_S.PAUSED)
            return True
        return (yield from self._decide(held, goal, {"tool": goal.name, "output": ""}))

    def _decide(self, held: Held, goal: Goal, facts: dict[str, Any]) -> Generator[float, None, bool]:
        """Under the position and the epoch of this moment; looking things up takes time, and somebody may step in."""
        if self.store.frozen_by:
            raise Interrupted
        action = f"{held.row.id}/{goal.name}"
        taken = any(call.key == action for call in self.store.calls.values())
        call = CallRow(self.store.name("c"), held.row.id, goal, action, _I.INTENDED, since=self.store.now)
        yield self.rng.choice([0.1, 1, 20])
        if taken:
            facts |= {"result": {"code": "ALREADY_DONE"}}
            self._record(held, [MachineEvent("call.refused", facts)], steps=1)
            return False
        if goal.needs_person:
            self._ask(held, replace(call, state=_I.AWAITING_APPROVAL), facts)
            return True
        return (yield from self._intend(held, call, facts))

    def _ask(self, held: Held, call: CallRow, facts: dict[str, Any]) -> None:
        request = self.store.name("r")
        event = MachineEvent("approval.requested", facts, {"invocation": call.id, "request": request})
        changes = {"status": _S.WAITING_APPROVAL, "gates": held.row.gates + 1}
        self._record(held, [event], calls=[replace(call, request=request)], as_decided=True, steps=1, **changes)

    def _intend(self, held: Held, call: CallRow, facts: dict[str, Any]) -> Generator[float, None, bool]:
        call = replace(call, state=_I.INTENDED, key=call.action, since=self.store.now)
        event = MachineEvent("call.intended", {**facts, "key": call.key}, {"invocation": call.id})
        self._record(held, [event], calls=[call], as_decided=True, steps=1)
        yield 0.1
        return (yield from self._call(held, call))

    def _after_decision(self, held: Held, call: CallRow) -> Generator[float, None, bool]:
        yield self.rng.choice([0.1, 1, 20])
        refs = {"invocation": call.id, "request": call.request}
        if self.rng.random() < 0.15:
            # The record has changed since somebody agreed: the agreement is withdrawn, and asked for again.
            self._record(held, [MachineEvent("approval.voided", {}, refs)], as_decided=True)
            self._ask(held, call, {"tool": call.goal.name})
            return True
        return (yield from self._intend(held, call, {"tool": call.goal.name, "approved_by": "alice"}))

    def _call(self, held: Held, call: CallRow) -> Generator[float, None, bool]:
        """Call the vendor. Its answer may come after the lease has run out."""
        result, failure = None, None
        try:
            result = self.vendor.call(call.action, keyed=call.goal.keyed)
        except Failed as failed:
            failure = failed
        except Ambiguous:
            held.certain = held.certain and self.trusts_absence
        yield self.rng.choice([0.2, 1.0, 5.0, 90.0])
        if result is None and failure is None:
            result, failure = yield from self._find_out(held, call)
        return self._conclude(held, call, result, failure)

    def _find_out(self, held: Held, call: CallRow) -> Generator[float, None, tuple[Any, Failed | None]]:
        """Ask about a key: (result, None), (None, failure) when it is not known, (None, None) when nobody answers."""
        yield 0.5
        if not call.goal.keyed:
            return None, None
        try:
            found = self.vendor.ask(call.action)
        except Ambiguous:
            return None, None
        return found, None if found else Failed(retryable=True)

    def _recover(self, held: Held, call: CallRow, *, again: bool) -> Generator[float, None, bool]:
        result, failure = yield from self._find_out(held, call)
        if not call.goal.keyed and held.certain:
            # Nobody but this session can have called, and each of its calls was answered with a failure.
            failure = Failed(retryable=True)
        if failure is None or not again:
            final = None if failure is None else Failed(retryable=False)
            return self._conclude(held, call, result, final)
        event = MachineEvent("call.retried", {"attempt": held.attempts + 1}, {"invocation": call.id})
        self._record(held, [event], as_decided=True, attempts=held.attempts)
        yield 0.1
        return (yield from self._call(held, call))

    def _conclude(self, held: Held, call: CallRow, result: Any, failure: Failed | None) -> bool:
        """Record how the call ended; try again later while that is safe and may help."""
        attempt = held.attempts + 1
        worth = call.goal.keyed if failure is None else failure.retryable and (call.goal.keyed or held.certain)
        wanted = held.row.wanted
        if result is None and worth and attempt < guards.MOST_ATTEMPTS and wanted is Wish.NONE:
            after = failure.retry_after if failure else None
            wait = backoff_seconds(attempt, retry_after=after, jitter=self.rng.random())
            event = MachineEvent("session.sleeping", {"attempt": attempt, "without_effect": held.certain})
            wake_at = self.store.now + self.skew + wait
            self._record(held, [event], status=_S.SLEEPING, wake_at=wake_at, attempts=attempt)
            return True
        state, name = _I.SUCCEEDED, "call.succeeded"
        if result is None:
            state, name = (_I.FAILED, "call.failed") if failure and held.certain else (_I.UNKNOWN, "call.unknown")
        key = "" if state is _I.FAILED else call.key
        facts = {"tool": call.goal.name, "result": result or {"code": state.value}}
        ended = replace(call, state=state, key=key, since=self.store.now)
        self._record(held, [MachineEvent(name, facts, {"invocation": call.id})], calls=[ended])
        return False

    def _let_go(self, held: Held, call: CallRow | None, wanted: Wish) -> None:
        """Leave the session to whoever wants it, or to the queue; a request that is open or granted is withdrawn."""
        if call and call.state is _I.AWAITING_APPROVAL:
            events, refused = withdrawn(self.store, call)
            self._record(held, events, calls=[refused])
        if wanted is Wish.CANCEL:
            self._end(held, _S.CANCELLED, "session.cancelled", "CANCELLED")
        elif wanted is Wish.NONE:
            self._record(held, [MachineEvent("session.frozen", {"by": self.store.frozen_by})], status=_S.QUEUED)
        else:
            event = MachineEvent("session.paused", {"for": held.row.taken_by})
            self._record(held, [event], status=_S.PAUSED, wanted=Wish.NONE)

    def _end(self, held: Held, status: SessionStatus, name: str, code: str) -> None:
        event = MachineEvent(name, {"code": code})
        self._record(held, [event], status=status, stop_code=code, wanted=Wish.NONE, taken_by="")
        self.store.reached[f"end: {code or 'finished'}"] += 1

    def _record(
        self,
        held: Held,
        events: Sequence[MachineEvent],
        *,
        calls: Sequence[CallRow] = (),
        as_decided: bool = False,
        steps: int = 0,
        **changes: Any,
    ) -> None:
        row = held.row
        spent = sum(e.facts.get("input_tokens", 0) + e.facts.get("output_tokens", 0) for e in events)
        warned = guards.warnings(
            LIMITS, Used(steps=row.steps, tokens=row.tokens), Used(steps=row.steps + steps, tokens=row.tokens + spent)
        )
        told = [MachineEvent("budget.warned", {"kind": kind.value, "percent": percent}) for kind, percent in warned]
        counters = {"attempts": 0, "steps": row.steps + steps, "tokens": row.tokens + spent}
        self.store.record(
            row.id,
            held.fence,
            held.position,
            held.epoch,
            [*events, *told],
            counters | changes,
            calls,
            as_decided=as_decided,
        )
        held.attempts = row.attempts
        for event in events:
            held.follow(event)
        if row.status is _S.RUNNING:
            self._look_up(held)


def withdrawn(store: Store, call: CallRow) -> tuple[list[MachineEvent], CallRow]:
    """Withdraw what people were asked about a call, or had agreed to, and refuse the call."""
    refs = {"invocation": call.id, "request": call.request}
    events = (
        [MachineEvent("approval.voided", {}, refs)] if store.requests[call.request] in ("pending", "approved") else []
    )
    facts = {"tool": call.goal.name, "result": {"code": "WITHDRAWN"}}
    return [*events, MachineEvent("call.refused", facts, refs)], replace(call, state=_I.REFUSED, key="")


def plan(held: Held) -> tuple[str, str]:
    """Return what the planner proposes next and the digest of its output: a tool, "ask", "final", or "" for rubbish."""
    step, trait = len(held.history), held.row.trait
    output = "same" if trait == "parrot" else f"{step}"
    tried = {seen.tool for seen in held.history}
    if trait == "loops":
        return "look", output
    if trait in ("wanders", "spends", "parrot"):
        return f"look{step}", output
    if trait == "mumbles" and step:
        return "", output
    if trait == "asks" and "ask" not in tried:
        return "ask", output
    if trait == "stubborn" and tried:
        return held.row.goals[0].name, output
    return next((goal.name for goal in held.row.goals if goal.name not in tried), "final"), output
