"""The state machine of a session over its ledger stream: its table, what it refuses, and random streams."""

from collections import Counter
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from agentops.runtime.account import Account, MachineEvent, differences
from agentops.runtime.machine import EVENTS, advance, replay
from agentops.runtime.states import (
    ENDED,
    INVOCATION_TRANSITIONS,
    SESSION_TRANSITIONS,
    UNFINISHED,
    IllegalTransition,
    InvocationState,
    SessionStatus,
)


def event(type_: str, /, **told: Any) -> MachineEvent:
    """Make an event; ``invocation``, ``request`` and ``question`` are refs, everything else is a fact."""
    refs: dict[str, str] = {name: told.pop(name) for name in ("invocation", "request", "question") if name in told}
    return MachineEvent(type_, told, refs, "user:bob")


OPENED = [event("session.opened"), event("session.claimed", fence=1)]
ASKED = [*OPENED, event("approval.requested", invocation="i", request="r")]
APPROVED = [*ASKED, event("approval.approved", invocation="i", request="r"), event("session.claimed", fence=2)]
RESUMED = [event("session.resumed"), event("session.claimed", fence=2)]
QUESTIONED = [*ASKED, event("approval.asked", invocation="i", request="r")]
INTENDED = [*OPENED, event("call.intended", invocation="i", key="k")]
DONE = [*INTENDED, event("call.succeeded", invocation="i")]
BEGUN = [*OPENED, event("process.began", process="p", **{"from": "a", "to": "b"})]


def test_every_move_of_an_event_is_in_the_tables() -> None:
    moves = {(s, row.target) for row in EVENTS.values() for s in row.source if s and row.target and s != row.target}
    assert {(s, t) for s, t in moves if t not in SESSION_TRANSITIONS[s]} == set()
    calls = {(s, row.call_to) for row in EVENTS.values() for s in row.call if s and row.call_to and s != row.call_to}
    assert {(s, t) for s, t in calls if t not in INVOCATION_TRANSITIONS[s]} == set()


def test_every_transition_of_the_tables_has_an_event() -> None:
    moves = {(s, row.target) for row in EVENTS.values() for s in row.source}
    assert {(s, t) for s, targets in SESSION_TRANSITIONS.items() for t in targets} - moves == set()
    calls = {(s, row.call_to) for row in EVENTS.values() for s in row.call}
    # What became of an unknown call is told by call.reconciled, whose facts say where it leads.
    found_out = {
        (InvocationState.UNKNOWN, InvocationState.SUCCEEDED),
        (InvocationState.UNKNOWN, InvocationState.FAILED),
    }
    assert {(s, t) for s, targets in INVOCATION_TRANSITIONS.items() for t in targets} - calls == found_out


def test_whole_session_adds_up() -> None:
    account = replay(
        [
            *APPROVED,
            event("call.intended", invocation="i", key="k", approved_by="alice", input_tokens=5, cost_micro=7),
            event("call.succeeded", invocation="i"),
            event("session.finished", output_tokens=2),
        ]
    )
    assert (account.status, account.fence, account.gates, account.tokens, account.cost_micro) == (
        "finished",
        2,
        1,
        7,
        7,
    )
    row: dict[str, Any] = {"status": "finished", "calls": {"i": "succeeded"}, "position": 8, "tokens": 9, "wanted": ""}
    assert differences(account, row) == []
    wrong = {**row, "status": "running", "calls": {"i": "intended"}, "tokens": 6}
    assert [line.partition(":")[0] for line in differences(account, wrong)] == ["status", "calls", "tokens"]


ILLEGAL: dict[str, tuple[list[MachineEvent], MachineEvent]] = {
    "a stream that does not begin": ([], event("session.claimed", fence=1)),
    "a second beginning": (OPENED, event("session.opened")),
    "an event nobody knows": (OPENED, event("session.dreamt")),
    "a claim of what is held": (OPENED, event("session.claimed", fence=2)),
    "a claim with an old fence": ([*OPENED, event("session.lease_expired")], event("session.claimed", fence=1)),
    "an effect without an intent": (OPENED, event("call.succeeded", invocation="i")),
    "an effect without approval": (ASKED, event("call.succeeded", invocation="i")),
    "an effect of nobody": ([*INTENDED, event("session.sleeping")], event("call.succeeded", invocation="i")),
    "a second success": (DONE, event("call.succeeded", invocation="i")),
    "a failure after the success": (DONE, event("call.failed", invocation="i")),
    "a second intent of one call": (DONE, event("call.intended", invocation="i", key="k")),
    "a second intent under one key": (DONE, event("call.intended", invocation="j", key="k")),
    "a second call at once": (INTENDED, event("call.intended", invocation="j", key="l")),
    "an end with a call under way": (INTENDED, event("session.finished")),
    "an intent without a call": (OPENED, event("call.intended", key="k")),
    "an intent while people are asked": (ASKED, event("call.intended", invocation="i", key="k")),
    "an intent before people have decided": (
        [*ASKED, event("session.paused"), event("session.resumed"), event("session.claimed", fence=2)],
        event("call.intended", invocation="i", key="k"),
    ),
    "an intent after a cancel was asked for": (
        [*APPROVED, event("session.cancel_requested")],
        event("call.intended", invocation="i", key="k", approved_by="alice"),
    ),
    "a request after a pause was asked for": (
        [*OPENED, event("session.pause_requested")],
        event("approval.requested", invocation="i", request="r"),
    ),
    "a retry after a cancel was asked for": (
        [*INTENDED, event("session.cancel_requested")],
        event("call.retried", invocation="i"),
    ),
    "a wish left to a worker that has nothing to find out": ([*ASKED], event("session.cancel_requested")),
    "a pause for somebody else": (
        [*OPENED, event("session.take_over_requested")],
        MachineEvent("session.paused", {"for": "user:alice"}),
    ),
    "an intent after a rejection": (
        [*ASKED, event("approval.rejected", invocation="i", request="r"), event("session.claimed", fence=2)],
        event("call.intended", invocation="i", key="k"),
    ),
    "an intent by a withdrawn approval": (
        [*APPROVED, event("approval.voided", invocation="i", request="r")],
        event("call.intended", invocation="i", key="k", approved_by="alice"),
    ),
    "a decision about another request": (ASKED, event("approval.approved", invocation="i", request="s")),
    "a second decision": (APPROVED, event("approval.approved", invocation="i", request="r")),
    "a decision after a cancel": (
        [
            *ASKED,
            event("approval.voided", invocation="i", request="r"),
            event("call.refused", invocation="i"),
            event("session.cancelled"),
        ],
        event("approval.approved", invocation="i", request="r"),
    ),
    "a decision after a withdrawal": (
        [*ASKED, event("approval.voided", invocation="i", request="r")],
        event("approval.approved", invocation="i", request="r"),
    ),
    "a second request before the first is withdrawn": (
        APPROVED,
        event("approval.requested", invocation="i", request="s"),
    ),
    "an intent while an approval may be taken back": (
        [*ASKED, event("approval.given", invocation="i", request="r"), event("session.paused"), *RESUMED],
        event("call.intended", invocation="i", key="k"),
    ),
    "an approval that was given twice": (
        [*ASKED, event("approval.given", invocation="i", request="r")],
        event("approval.given", invocation="i", request="r"),
    ),
    "a rejection of what was given": (
        [*ASKED, event("approval.given", invocation="i", request="r")],
        event("approval.rejected", invocation="i", request="r"),
    ),
    "a taking back after the decision": (
        [*APPROVED, event("session.handed_on")],
        event("approval.taken_back", invocation="i", request="r"),
    ),
    "a decision while the agent answers": (QUESTIONED, event("approval.approved", invocation="i", request="r")),
    "an edit while the agent answers": (QUESTIONED, event("approval.edited", invocation="i", request="r")),
    "an answer that nobody asked for": (
        [*APPROVED],
        event("approval.answered", invocation="i", request="r"),
    ),
    "a second answer": (
        [*QUESTIONED, event("session.claimed", fence=2), event("approval.answered", invocation="i", request="r")],
        event("approval.answered", invocation="i", request="r"),
    ),
    "an expiry that nobody waits for": (
        [*APPROVED, event("session.handed_on")],
        event("approval.expired", invocation="i", request="r"),
    ),
    "an intent of what was changed": (
        [*ASKED, event("approval.edited", invocation="i", request="r"), event("session.claimed", fence=2)],
        event("call.intended", invocation="i", key="k"),
    ),
    "work after the end": ([*OPENED, event("session.finished")], event("call.read")),
    "a claim after the end": ([*OPENED, event("session.finished")], event("session.claimed", fence=2)),
    "a pause that nobody wanted": (OPENED, event("session.paused")),
    "a cancel that nobody wanted": (OPENED, event("session.cancelled")),
    "a person's step without taking over": (
        [event("session.opened"), event("session.paused")],
        event("person.proposed", tool="pay"),
    ),
    "a stop without a code": (OPENED, event("session.stopped")),
    "a stop with another code": (
        [*OPENED, event("session.stopping", code="BUDGET_STEPS")],
        event("session.stopped", code="INTERNAL"),
    ),
    "an ordinary end while stopping": (
        [*OPENED, event("session.stopping", code="INTERNAL")],
        event("session.finished"),
    ),
    "a second stop": ([*OPENED, event("session.stopping", code="A")], event("session.stopping", code="B")),
    "an answer to another question": (
        [*OPENED, event("person.asked", question="q")],
        event("person.answered", question="p"),
    ),
    "an undo of what was not done": (INTENDED, event("call.compensated", invocation="i", by="i")),
    "an undo by nothing": (DONE, event("call.compensated", invocation="i", by="j")),
    "a process step from elsewhere": (BEGUN, event("process.moved", process="p", **{"from": "a", "to": "c"})),
    "a process step before the beginning": (OPENED, event("process.moved", process="p", **{"from": "a", "to": "b"})),
    "a process step after its failure": (
        [*BEGUN, event("process.failed", process="p", to="b")],
        event("process.moved", process="p", **{"from": "b", "to": "c"}),
    ),
    "a process begun twice": (BEGUN, event("process.began", process="p", **{"from": "a", "to": "b"})),
    "a process taken back without a failure": (BEGUN, event("process.compensated", process="p", to="a")),
}


@pytest.mark.parametrize("what", ILLEGAL)
def test_event_that_may_not_be_is_refused(what: str) -> None:
    before, last = ILLEGAL[what]
    account = replay(before)
    with pytest.raises(IllegalTransition):
        advance(account, last)


def test_wish_waits_until_it_is_carried_out() -> None:
    account = replay([*OPENED, event("session.pause_requested"), event("session.lease_expired")])
    assert account.wanted == "pause"
    advance(account, event("session.paused"))
    assert (account.status, account.wanted) == ("paused", "")


def test_wish_of_a_session_with_a_call_under_way_goes_through_a_worker() -> None:
    asleep = [*INTENDED, event("session.sleeping"), event("session.take_over_requested")]
    account = replay(asleep)
    assert (account.status, account.wanted, account.taken_by) == ("queued", "take_over", "user:bob")
    for later in (
        event("session.claimed", fence=2),
        event("call.unknown", invocation="i"),
        MachineEvent("session.paused", {"for": "user:bob"}),
    ):
        advance(account, later)
    assert (account.status, account.wanted, account.taken_by) == ("paused", "", "user:bob")


def test_question_to_the_agent_is_over_with_its_answer_or_its_call() -> None:
    answered = [event("session.claimed", fence=2), event("approval.answered", invocation="i", request="r")]
    account = replay([*QUESTIONED, *answered])
    assert (account.status, account.calls["i"].asked, account.calls["i"].decision) == (
        "waiting_approval",
        False,
        "pending",
    )
    overdue = replay([*QUESTIONED, event("approval.expired", invocation="i", request="r")])
    assert (overdue.status, overdue.calls["i"].asked, overdue.calls["i"].state) == ("queued", False, "refused")


def test_approval_that_was_taken_back_can_be_given_again() -> None:
    given, back = (event(f"approval.{what}", invocation="i", request="r") for what in ("given", "taken_back"))
    account = replay([*ASKED, given, back, given, event("approval.approved", invocation="i", request="r")])
    assert (account.status, account.calls["i"].decision) == ("queued", "approved")


def test_question_is_closed_when_the_session_stops_waiting_for_it() -> None:
    account = replay([*OPENED, event("person.asked", question="q"), event("session.paused")])
    assert account.question == ""


CALLS, REQUESTS = ("i", "j", "k"), ("r", "s", "t")
FACTS = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["k1", "k2", ""]),
        "code": st.sampled_from(["INTERNAL", "CANCELLED"]),
        "found": st.sampled_from(["happened", "not_happened"]),
        "by": st.sampled_from(CALLS),
        "process": st.sampled_from(["p", "q"]),
        "from": st.sampled_from(["a", "b"]),
        "to": st.sampled_from(["a", "b"]),
    },
    optional={"approved_by": st.just("alice")},
)
BEYOND_THE_END = {"session.reopened", "call.reconciled", "budget.warned", "elevation.revoked"}
REFS = st.fixed_dictionaries(
    {
        "invocation": st.sampled_from(CALLS),
        "request": st.sampled_from(REQUESTS),
        "question": st.sampled_from(["q1", "q2"]),
    }
)


class RandomStreams(RuleBasedStateMachine):
    """Throws events at the machine and keeps those it lets through; what is kept must look like a real session.

    The invariants look at the kept events alone, not at how the machine comes to its verdict.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[MachineEvent] = []
        self.statuses: list[SessionStatus] = []
        self.states: dict[str, list[InvocationState]] = {}
        self.account = Account()

    @initialize()
    def opened(self) -> None:
        self.keep(event("session.opened"))

    @rule(data=st.data(), facts=FACTS, refs=REFS, slip=st.integers(0, 9))
    def anything(self, data: st.DataObject, facts: dict[str, Any], refs: dict[str, str], slip: int) -> None:
        """Mostly an event that fits the status, with facts that may or may not fit; every tenth time any event."""
        fitting = sorted(name for name, row in EVENTS.items() if self.account.status in row.source or slip == 0)
        name = data.draw(st.sampled_from(fitting))
        fence = self.account.fence + (slip != 1)
        self.keep(MachineEvent(name, {**facts, "fence": fence}, refs, "user:bob"))

    def keep(self, proposed: MachineEvent) -> None:
        tried = deepcopy(self.account)
        try:
            advance(tried, proposed)
        except IllegalTransition:
            return
        self.account = tried
        self.kept.append(proposed)
        assert tried.status is not None
        self.statuses.append(tried.status)
        for id_, call in tried.calls.items():
            states = self.states.setdefault(id_, [])
            if not states or states[-1] is not call.state:
                states.append(call.state)

    def of(self, *types: str) -> list[MachineEvent]:
        return [kept for kept in self.kept if kept.type in types]

    @invariant()
    def every_move_is_in_the_tables(self) -> None:
        for before, after in pairwise(self.statuses):
            assert before is after or after in SESSION_TRANSITIONS[before]
        for states in self.states.values():
            for was, is_ in pairwise(states):
                assert is_ in INVOCATION_TRANSITIONS[was]

    @invariant()
    def nothing_takes_effect_twice_or_unintended(self) -> None:
        done = Counter(kept.refs["invocation"] for kept in self.of("call.succeeded"))
        intended = Counter(kept.refs["invocation"] for kept in self.of("call.intended"))
        assert all(count == 1 for count in intended.values())
        assert all(done[id_] <= intended[id_] for id_ in done)

    @invariant()
    def nothing_is_intended_that_people_have_not_let_through(self) -> None:
        stands: dict[str, str] = {}
        for kept in self.kept:
            kind, _, what = kept.type.partition(".")
            if kind == "approval":
                stands[kept.refs["invocation"]] = what
            if kept.type == "call.intended":
                assert stands.get(kept.refs["invocation"], "approved") in ("approved", "voided")
                assert "approved_by" not in kept.facts or stands.get(kept.refs["invocation"]) == "approved"

    @invariant()
    def ended_sessions_only_come_back_by_being_reopened(self) -> None:
        for (_, before), (n, _) in pairwise(enumerate(self.statuses)):
            if before in ENDED:
                assert self.kept[n].type in BEYOND_THE_END

    @invariant()
    def one_call_at_a_time_and_none_left_at_the_end(self) -> None:
        unfinished = [id_ for id_, states in self.states.items() if states[-1] in UNFINISHED]
        assert len(unfinished) <= (0 if self.statuses and self.statuses[-1] in ENDED else 1)

    @invariant()
    def fences_count_the_claims(self) -> None:
        claims = self.of("session.claimed")
        assert [kept.facts["fence"] for kept in claims] == list(range(1, len(claims) + 1))

    @invariant()
    def folding_the_kept_events_gives_the_same_account(self) -> None:
        assert replay(self.kept) == self.account


TestRandomStreams = RandomStreams.TestCase
TestRandomStreams.settings = settings(max_examples=40, stateful_step_count=40, derandomize=True)
