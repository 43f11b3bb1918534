"""Freezes: what they stop, at which moment, and how work goes on after they were lifted."""

import threading
from functools import partial

import pytest
from django.db import connection
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.agents.operations import create_agent
from agentops.kernel.errors import FailureKind
from agentops.ledger.models import LedgerEvent
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import PlanContext, Proposal, ToolCall
from agentops.registry.tool import ToolFailure
from agentops.runtime import freezing
from agentops.runtime.deciding import Frozen
from agentops.runtime.dispatch import claim, work_session, work_until_quiet
from agentops.runtime.freezing import CannotFreeze, CannotLift
from agentops.runtime.models import Invocation, Session
from agentops.tenancy.models import Freeze
from approvals.models import Verdict
from approvals.refusals import AlreadyClosed
from tests.factories.people import Cast
from tests.factories.runs import (
    DONE,
    TELL,
    begin,
    come_back,
    decide,
    events,
    go_on,
    once,
    pay,
    pending,
    results,
    start,
    thinking,
    work,
)
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

BOB, EVE = "user:bob", "user:eve"
SESSION_SCOPES = ["agent", "tenant", "everything"]
every_scope = pytest.mark.parametrize("scope", ["tool", *SESSION_SCOPES])
session_scopes = pytest.mark.parametrize("scope", SESSION_SCOPES)


def freeze(scope: str, agent: Agent) -> Freeze:
    return freezing.freeze(
        tenant_id=None if scope == "everything" else agent.tenant_id,
        agent_id=agent.pk if scope == "agent" else None,
        tool="pay" if scope == "tool" else "",
        actor=BOB,
        reason="It pays too much.",
    )


def lift(made: Freeze) -> None:
    freezing.ask_to_lift(freeze_id=made.pk, actor=BOB, reason="The limit is right again.")
    freezing.lift(freeze_id=made.pk, actor=EVE)


@every_scope
def test_nothing_takes_effect_that_was_thought_of_when_it_froze(toy: Toy, agent: Agent, scope: str) -> None:
    session = work(toy, agent, thinking(once(partial(freeze, scope, agent)), pay()), TELL, DONE)
    assert (toy.vendor.calls, Invocation.objects.filter(tool="pay").count()) == ([], 0)
    if scope == "tool":
        assert (session.status, results(session, "call.refused")[0]["code"]) == ("finished", "POLICY")
        return
    assert (session.status, events(session)[-1]) == ("queued", "session.frozen")
    assert claim() is None
    lift(Freeze.objects.get())
    assert go_on(session).status == "finished"
    assert len(toy.vendor.calls) == 1


@every_scope
def test_call_under_way_is_recorded_and_nothing_follows(toy: Toy, agent: Agent, scope: str) -> None:
    toy.vendor.on_pay = once(partial(freeze, scope, agent))
    session = work(toy, agent, pay(), pay(700), TELL, DONE)
    assert (len(toy.vendor.calls), toy.vendor.balances["a-1"]) == (1, 99_500)
    assert session.status == ("finished" if scope == "tool" else "queued")
    assert Invocation.objects.get(tool="pay").state == "succeeded"


@every_scope
def test_intended_call_that_waits_is_not_made(toy: Toy, agent: Agent, scope: str) -> None:
    toy.vendor.before.append(ToolFailure(FailureKind.RATE_LIMIT, "slow down"))
    session = work(toy, agent, pay(), TELL, DONE)
    assert session.status == "sleeping"
    made = freeze(scope, agent)
    come_back(session)
    assert len(toy.vendor.calls) == 1
    if scope == "tool":
        assert (session.status, Invocation.objects.get(tool="pay").state) == ("finished", "failed")
        return
    assert (session.status, Invocation.objects.get().state) == ("queued", "intended")
    lift(made)
    assert go_on(session).status == "finished"
    assert (len(set(toy.vendor.calls)), toy.vendor.balances["a-1"]) == (1, 99_500)


@every_scope
@pytest.mark.parametrize("approved", [False, True])
def test_requests_are_withdrawn_with_the_freeze_and_cannot_restart_work(
    toy: Toy, agent: Agent, cast: Cast, scope: str, approved: bool
) -> None:
    session = work(toy, agent, pay(5000), TELL, DONE)
    request = decide(cast) if approved else pending()
    made = freeze(scope, agent)
    request.refresh_from_db()
    assert (request.state, request.void_reason) == ("voided", "Frozen by bob: It pays too much.")
    if not approved:
        with pytest.raises(AlreadyClosed):
            decide(cast, request=request)
    go_on(session)
    assert session.status == ("finished" if scope == "tool" else "queued")
    lift(made)
    assert go_on(session).status == "finished"
    assert (toy.vendor.calls, results(session, "call.refused")[0]["code"]) == ([], "FROZEN")


@every_scope
def test_approval_that_a_worker_has_just_claimed_does_not_run(toy: Toy, agent: Agent, cast: Cast, scope: str) -> None:
    session = work(toy, agent, pay(5000), TELL, DONE)
    request = decide(cast)
    held = claim()
    freeze(scope, agent)
    work_session(held)
    request.refresh_from_db()
    session.refresh_from_db()
    assert (request.state, toy.vendor.calls) == ("voided", [])
    assert session.status == ("finished" if scope == "tool" else "queued")


@every_scope
def test_request_that_slipped_through_cannot_be_approved(toy: Toy, agent: Agent, cast: Cast, scope: str) -> None:
    """A worker may have parked its session in the moment in which the freeze was committed."""
    late = work(toy, agent, pay(5000), TELL, DONE)
    Freeze.objects.create(
        tenant_id=None if scope == "everything" else agent.tenant_id,
        agent_id=agent.pk if scope == "agent" else None,
        tool="pay" if scope == "tool" else "",
        reason="It pays too much.",
        frozen_by=BOB,
        frozen_at=timezone.now(),
    )
    with pytest.raises(Frozen):
        decide(cast)
    late.refresh_from_db()
    assert late.status == "waiting_approval"
    decide(cast, Verdict.REJECT)
    assert toy.vendor.calls == []


@session_scopes
def test_frozen_sessions_are_not_claimed_and_others_are(toy: Toy, agent: Agent, cast: Cast, scope: str) -> None:
    frozen = begin(toy, agent, TELL, DONE)
    colleague = create_agent(tenant_id=cast.tenant.pk, role=roles.get_role("toy"), name="Colleague", actor=BOB)
    abroad = create_agent(tenant_id=cast.other.pk, role=roles.get_role("toy"), name="Payer", actor=BOB)
    others = [start(toy, colleague, "w-2"), start(toy, abroad, "w-3")]
    freeze(scope, agent)
    work_until_quiet()
    assert go_on(frozen).status == "queued"
    finished = {"agent": 2, "tenant": 1, "everything": 0}[scope]
    assert [go_on(session).status for session in others].count("finished") == finished


def test_lifting_takes_two_people_and_a_reason(toy: Toy, agent: Agent) -> None:
    made = freezing.freeze(tenant_id=agent.tenant_id, agent_id=None, tool="", actor=BOB, reason="Too much. " * 99)
    with pytest.raises(CannotLift):
        freezing.lift(freeze_id=made.pk, actor=EVE)
    with pytest.raises(CannotLift):
        freezing.ask_to_lift(freeze_id=made.pk, actor=BOB, reason=" ")
    freezing.ask_to_lift(freeze_id=made.pk, actor=BOB, reason="All is well. " * 99)
    with pytest.raises(CannotLift):
        freezing.lift(freeze_id=made.pk, actor=BOB)
    freezing.lift(freeze_id=made.pk, actor=EVE)
    for act in (
        partial(freezing.lift, freeze_id=made.pk, actor=EVE),
        partial(freezing.ask_to_lift, freeze_id=made.pk, actor=EVE, reason="Again."),
    ):
        with pytest.raises(CannotLift):
            act()
    told = LedgerEvent.objects.filter(type__startswith="freeze.", refs__freeze=str(made.pk)).order_by("position")
    assert [(event.type, event.actor) for event in told] == [
        ("freeze.set", BOB),
        ("freeze.lift_asked", BOB),
        ("freeze.lifted", EVE),
    ]


def test_of_two_freezes_each_holds_by_itself(toy: Toy, agent: Agent) -> None:
    session = begin(toy, agent, pay(), DONE)
    first, second = freeze("agent", agent), freeze("everything", agent)
    lift(first)
    assert go_on(session).status == "queued"
    lift(second)
    assert go_on(session).status == "finished"


def test_freeze_without_reason_or_of_a_foreign_agent_is_refused(toy: Toy, agent: Agent, cast: Cast) -> None:
    for tenant_id, agent_id, reason in (
        (agent.tenant_id, None, "  "),
        (None, agent.pk, "Why not."),
        (cast.other.pk, agent.pk, "Why not."),
    ):
        with pytest.raises(CannotFreeze):
            freezing.freeze(tenant_id=tenant_id, agent_id=agent_id, tool="", actor=BOB, reason=reason)
    assert not Freeze.objects.exists()


WORKERS = 8


@pytest.mark.django_db(transaction=True)
@every_scope
def test_after_a_freeze_a_worker_makes_only_the_call_it_had_on_record(toy: Toy, agent: Agent, scope: str) -> None:
    """The bound is on the vendor's own log; eight workers are busy when the freeze returns."""
    started: list[str] = []
    busy = threading.Event()

    def log_call() -> None:
        started.append(threading.current_thread().name)
        if len(started) >= 3 * WORKERS:
            busy.set()

    toy.vendor.on_pay = log_call
    toy.planner = ScriptedPlanner(_pay_on)
    for number in range(40):
        start(toy, agent, f"w-{number}")
    threads = [threading.Thread(target=_work_apart, daemon=True) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    assert busy.wait(60), started
    freeze(scope, agent)
    before = len(started)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    after = started[before:]
    assert len(after) == len(set(after)), after
    before = len(started)
    work_until_quiet()
    assert len(started) == before
    assert not Invocation.objects.filter(tool="pay", state="intended").exists()
    assert len(started) == Invocation.objects.filter(tool="pay", state="succeeded").count()
    assert Session.objects.exclude(status__in=["queued", "finished", "stopped"]).count() == 0


def _pay_on(context: PlanContext) -> Proposal:
    """Small payments without end; another way once they are refused."""
    last = context.history[-1] if context.history else None
    if last is not None and last.status == "refused":
        return TELL
    if last is not None and last.tool == "note":
        return DONE
    return ToolCall("pay", {"account": "a-1", "minor": 1 + len(context.history)})


def _work_apart() -> None:
    try:
        work_until_quiet()
    finally:
        connection.close()
