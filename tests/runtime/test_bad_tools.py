"""Tools, vendors and workers that misbehave: what is recorded is true, and no effect is made twice."""

import copy
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.kernel import crashpoints
from agentops.kernel.clock import utcnow
from agentops.kernel.crashpoints import CrashPoint
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.tool import Preview
from agentops.runtime.dispatch import claim, work_session, work_until_quiet
from agentops.runtime.models import Invocation, MoneyWindow, Session
from agentops.runtime.sweep import sweep_once
from tests.factories.runs import (
    DONE,
    LOOK,
    TELL,
    answer_of,
    begin,
    come_back,
    events,
    go_on,
    lose_worker,
    once,
    pay,
    plan,
    results,
    start,
    stream,
    thinking,
    work,
)
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

Change = Callable[..., None]


class Garbage:
    """Whatever is done with one of it fails."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Change:
    """Changes the declaration of one tool."""

    def put(tool: str, **fields: Any) -> None:
        spec = roles.get_role("toy")
        changed = replace(spec, tools=tuple(replace(t, **fields) if t.name == tool else t for t in spec.tools))
        monkeypatch.setattr(roles, "all_roles", lambda: (changed,))

    return put


def raising(error: BaseException) -> Callable[..., Any]:
    def run(*_: Any) -> Any:
        raise error

    return run


GARBAGE = [
    None,
    7,
    "x",
    b"\x00",
    Garbage,
    {"receipt": object(), "minor": 1},
    {"receipt": float("nan"), "minor": 1},
    {"receipt": "a\x00", "minor": 1},
    {1: 2},
    {"receipt": "x" * 50_000_000, "minor": 1},
]
ENDS = [SystemExit(0), SystemExit("bye"), GeneratorExit(), MemoryError(), RecursionError(), BaseException("?")]
by_type = pytest.mark.parametrize("error", ENDS, ids=lambda error: type(error).__name__)
by_number = pytest.mark.parametrize("answer", GARBAGE, ids=range(len(GARBAGE)))


@by_number
def test_write_whose_answer_is_unusable_counts_as_done(toy: Toy, agent: Agent, change: Change, answer: object) -> None:
    def run(context: Any, arguments: Any) -> object:
        toy.vendor.pay(context.idempotency_key, arguments["account"], arguments["minor"], {})
        return Garbage() if answer is Garbage else answer

    change("pay", run=run)
    session = work(toy, agent, pay(), TELL, DONE)
    assert (session.status, session.outcome, toy.vendor.balances["a-1"]) == ("finished", "refunded", 99_500)
    (told,) = [e for e in stream(session) if e.type == "call.succeeded" and e.facts["tool"] == "pay"]
    recorded = payload_of(session.pk, told.position)["result"]
    assert recorded.keys() == {"done", "unreadable_answer"}
    assert len(recorded["unreadable_answer"]) < 1_000
    assert Invocation.objects.get(tool="pay").undo is None


@by_number
def test_read_whose_answer_is_unusable_is_told_as_failed(
    toy: Toy, agent: Agent, change: Change, answer: object
) -> None:
    change("look", run=lambda context, arguments: Garbage() if answer is Garbage else answer)
    session = work(toy, agent, LOOK, pay(), DONE)
    assert (session.status, session.outcome) == ("finished", "refunded")
    assert results(session, "call.read_failed")[0]["code"] == "UNKNOWN"


@by_type
def test_tool_that_ends_the_program_ends_its_call_only(
    toy: Toy, agent: Agent, change: Change, error: BaseException
) -> None:
    change("look", run=raising(error))
    session = work(toy, agent, LOOK, pay(), DONE)
    assert (session.status, events(session)[2]) == ("finished", "call.read_failed")


@by_type
def test_write_that_ends_the_program_is_asked_about(
    toy: Toy, agent: Agent, change: Change, error: BaseException
) -> None:
    """Once it had no effect before that, and is tried again; once it had."""

    def run(context: Any, arguments: Any) -> object:
        first = not toy.vendor.calls
        toy.vendor.calls.append(context.idempotency_key)
        if not first:
            toy.vendor.pay(context.idempotency_key, arguments["account"], arguments["minor"], {})
        raise error

    change("pay", run=run)
    session = work(toy, agent, pay(), TELL, DONE)
    assert (session.status, Invocation.objects.get().state) == ("sleeping", "intended")
    assert come_back(session).status == "finished"
    assert (Invocation.objects.get(tool="pay").state, toy.vendor.balances["a-1"]) == ("succeeded", 99_500)


@pytest.mark.parametrize("made", [*ENDS, None, {}, "preview", Garbage], ids=range(len(ENDS) + 4))
def test_dry_run_that_breaks_is_a_refusal_and_no_write_slips_through_without_one(
    toy: Toy, agent: Agent, change: Change, made: Any
) -> None:
    def answering(context: Any, arguments: Any) -> Any:
        return Garbage() if made is Garbage else made

    change("pay", preview=raising(made) if isinstance(made, BaseException) else answering)
    session = work(toy, agent, pay(), TELL, DONE)
    assert (session.status, toy.vendor.calls) == ("finished", [])
    assert results(session, "call.refused")[0]["message"] == "The tool's dry run failed."


def test_dry_run_that_cannot_be_recorded_ends_with_a_person(toy: Toy, agent: Agent, change: Change) -> None:
    change("pay", preview=lambda context, arguments: Preview("a\x00b", "customer:ann"))
    session = work(toy, agent, pay(), TELL, DONE)
    assert (session.status, session.stop_code, toy.vendor.calls) == ("stopped", "INTERNAL", [])
    assert toy.handed_over == ["INTERNAL"]


@pytest.mark.parametrize("error", [TimeoutError("30 s"), ConnectionResetError("gone"), SystemExit(1)])
def test_vendor_that_did_it_after_the_time_out_is_found_out(toy: Toy, agent: Agent, error: Exception) -> None:
    toy.vendor.after.append(error)
    session = work(toy, agent, pay(), TELL, DONE)
    assert (session.status, Invocation.objects.get(tool="pay").state) == ("finished", "succeeded")
    assert (len(toy.vendor.calls), toy.vendor.balances["a-1"]) == (1, 99_500)


def test_broken_undo_does_not_lose_the_effect(toy: Toy, agent: Agent, change: Change) -> None:
    change("pay", undo_call=raising(ValueError("no")))
    session = work(toy, agent, pay(), TELL, DONE)
    assert (session.status, Invocation.objects.get(tool="pay").undo) == ("finished", None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("effect", ["before the hang", "after the hang"])
def test_tool_that_hangs_past_its_lease_is_succeeded_and_writes_nothing_more(
    toy: Toy, agent: Agent, effect: str
) -> None:
    hanging, go = threading.Event(), threading.Event()
    act = toy.vendor.pay

    def hang(*arguments: Any) -> dict[str, Any]:
        first = not hanging.is_set()
        if not first or effect == "before the hang":
            done = act(*arguments)
        if first:
            hanging.set()
            assert go.wait(60)
            done = act(*arguments)
        return done

    toy.vendor.pay = hang  # type: ignore[method-assign]
    plan(toy, pay(), TELL, DONE)
    session = start(toy, agent)
    slow = threading.Thread(target=_work_apart, daemon=True)
    slow.start()
    assert hanging.wait(30)
    lose_worker(session)
    assert go_on(session).status == "finished"
    left = everything()
    go.set()
    slow.join(30)
    assert not slow.is_alive()
    assert everything() == left
    assert (toy.vendor.balances["a-1"], len(set(toy.vendor.calls))) == (99_500, 1)
    assert [e for e in events(session) if e.startswith("call.")] == [
        "call.intended",
        *(["call.retried"] if effect == "after the hang" else []),
        "call.succeeded",
        "call.intended",
        "call.succeeded",
    ]


def _work_apart() -> None:
    try:
        work_until_quiet()
    finally:
        connection.close()


def everything() -> list[Any]:
    """Return all that a worker could write."""
    return [
        *Session.objects.order_by("id").values(),
        *LedgerEvent.objects.order_by("stream", "position").values_list("stream", "position", "type", "actor"),
        *Invocation.objects.order_by("id").values(),
        *MoneyWindow.objects.order_by("id").values(),
    ]


def test_call_of_work_that_was_given_up_is_not_made_by_any_later_worker(toy: Toy, agent: Agent) -> None:
    """Five workers died in it, and a sixth while the session was being stopped."""

    def die(point: CrashPoint) -> None:
        if point in (CrashPoint.VENDOR_CALLING, CrashPoint.RECOVERY_ASKED):
            raise KeyboardInterrupt

    session = begin(toy, agent, pay(), TELL, DONE)
    crashpoints.arm(die)
    try:
        for _ in range(6):
            with pytest.raises(KeyboardInterrupt):
                go_on(session)
            lose_worker(session)
    finally:
        crashpoints.arm(None)
    assert (go_on(session).status, session.stop_code) == ("stopped", "WORKER_LOST")
    assert (toy.vendor.calls, Invocation.objects.get(tool="pay").state) == ([], "unknown")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("moment", ["thinking", "calling", "afterwards"])
def test_two_workers_with_one_lease_make_one_effect(toy: Toy, agent: Agent, moment: str) -> None:
    """The second is an exact copy of the first, as when a machine is restored from a snapshot."""
    session = begin(toy, agent, pay(), TELL, DONE)
    held = claim()
    assert held is not None
    twin = copy.deepcopy(held)
    if moment == "thinking":
        plan(toy, thinking(once(lambda: work_session(twin)), pay()), TELL, DONE)
    elif moment == "calling":
        toy.vendor.on_pay = once(lambda: work_session(twin))
    work_session(held)
    if moment == "afterwards":
        work_session(twin)
    session.refresh_from_db()
    assert session.status == "finished"
    assert (toy.vendor.balances["a-1"], len(toy.vendor.calls), toy.notes) == (99_500, 1, ["Told the customer."])
    assert set(Invocation.objects.values_list("state", flat=True)) == {"succeeded"}
    assert events(session)[2:] == [*["call.intended", "call.succeeded"] * 2, "session.finished"]


@pytest.mark.django_db(transaction=True)
def test_worker_gives_up_when_another_took_a_step_under_its_lease(toy: Toy, agent: Agent) -> None:
    """Otherwise the second proposal, a different one, would be intended while the first is being made."""
    session = begin(toy, agent, TELL)
    held = claim()
    twin, different = copy.deepcopy(held), [pay(700), pay(500)]

    def stop_in_its_call() -> None:
        crashpoints.arm(raising_at(CrashPoint.VENDOR_CALLING))
        try:
            with pytest.raises(KeyboardInterrupt):
                work_session(twin)
        finally:
            crashpoints.arm(None)

    happens = once(stop_in_its_call)
    toy.planner = ScriptedPlanner(lambda context: happens() or different.pop() if different else DONE)
    work_session(held)
    assert [e for e in events(session) if e.startswith("call.")] == ["call.intended"]
    lose_worker(session)
    assert (go_on(session).status, toy.vendor.balances["a-1"]) == ("finished", 99_500)


def raising_at(here: CrashPoint) -> Callable[[CrashPoint], None]:
    def trap(point: CrashPoint) -> None:
        if point is here:
            raise KeyboardInterrupt

    return trap


@pytest.mark.parametrize("skew", [timedelta(minutes=10), timedelta(minutes=-10)])
def test_lease_runs_on_the_clock_of_the_database(
    toy: Toy, agent: Agent, monkeypatch: pytest.MonkeyPatch, skew: timedelta
) -> None:
    """A worker and a sweep whose clocks are wrong neither lose nor keep a session for longer than the lease."""
    session = begin(toy, agent, TELL, DONE)
    with monkeypatch.context() as wrong:
        for module in [m for name, m in sys.modules.items() if name.startswith(("agentops.", "approvals."))]:
            if getattr(module, "utcnow", None) is utcnow:
                wrong.setattr(module, "utcnow", lambda: timezone.now() + skew)
        held = claim()
        assert held is not None
        assert seconds_left(session) == pytest.approx(settings.LEASE_SECONDS, abs=30)
        assert (sweep_once(), claim()) == (0, None)
        assert lose_worker(session).status == "queued"
    assert go_on(session).status == "finished"
    work_session(held)
    assert go_on(session).status == "finished"


def seconds_left(session: Session) -> float:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM session WHERE id = %s", [session.pk]
        )
        return float(cursor.fetchone()[0])


def test_planner_that_ends_in_garbage_is_handed_over(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, pay(), thinking(lambda: None, Garbage()))
    assert (session.status, session.stop_code) == ("stopped", "INTERNAL")
    assert answer_of(session)["verified"] == ["pay was done.", "hand_over was done."]
