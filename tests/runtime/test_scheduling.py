"""Whose turn it is: priority and ageing, what a tenant may run and start, and more urgent work in between."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.agents.operations import create_agent
from agentops.kernel.errors import FailureKind
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import PlanContext, Proposal, ToolCall
from agentops.registry.tool import ToolFailure
from agentops.runtime import control, freezing
from agentops.runtime.dispatch import claim, work_session, work_until_quiet
from agentops.runtime.models import Priority, Session, SpendDay
from agentops.runtime.operations import CannotStart
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Tenant
from tests.factories.people import Cast
from tests.factories.runs import DONE, TELL, events, go_on, lose_worker, pay, plan, start, stream, work
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

BOB = "user:bob"


@pytest.fixture(autouse=True)
def planner(toy: Toy) -> None:
    plan(toy, TELL, DONE)


@pytest.fixture
def abroad(toy: Toy, cast: Cast) -> Agent:
    """An agent of another tenant."""
    return create_agent(tenant_id=cast.other.pk, role=roles.get_role("toy"), name="Payer", actor=BOB)


def limit(tenant: Tenant, **limits: int) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(**limits)


def claimed() -> list[str]:
    """Claim until there is nothing more, and return which work it was about."""
    found = []
    while (held := claim()) is not None:
        found.append(held.subject_id)
    return found


def test_more_urgent_work_comes_first_and_of_equals_the_older(toy: Toy, agent: Agent) -> None:
    for work_id, priority in (("w-1", 1), ("w-2", 0), ("w-3", 3), ("w-4", 1), ("w-5", 2), ("w-6", 3)):
        start(toy, agent, work_id, priority=priority)
    assert claimed() == ["w-3", "w-6", "w-5", "w-1", "w-4", "w-2"]


def test_nothing_starves(toy: Toy, agent: Agent) -> None:
    """One class is worth ten minutes of waiting, so fresh urgent work does not pass by what has waited for longer."""
    old = start(toy, agent, "w-1", priority=Priority.LOW)
    Session.objects.filter(pk=old.pk).update(rank_at=F("rank_at") - timedelta(minutes=29))
    start(toy, agent, "w-2", priority=Priority.URGENT)
    assert claim_one() == "w-2"
    Session.objects.filter(pk=old.pk).update(rank_at=F("rank_at") - timedelta(minutes=2))
    for number in range(3, 9):
        start(toy, agent, f"w-{number}", priority=Priority.URGENT)
    assert claim_one() == "w-1"


def claim_one() -> str:
    held = claim()
    assert held is not None
    return held.subject_id


def test_session_that_lost_its_worker_queues_anew(toy: Toy, agent: Agent) -> None:
    first = start(toy, agent, "w-1")
    claim()
    start(toy, agent, "w-2")
    lose_worker(first)
    assert claimed() == ["w-2", "w-1"]


def test_tenant_runs_no_more_than_it_may(toy: Toy, agent: Agent, abroad: Agent, cast: Cast) -> None:
    limit(cast.tenant, max_running=2)
    for number in range(4):
        start(toy, agent, f"w-{number}")
    start(toy, abroad, "w-9")
    assert claimed() == ["w-0", "w-1", "w-9"]
    lose_worker(Session.objects.get(subject_id="w-0"))
    assert claimed() == ["w-2"]


@pytest.mark.django_db(transaction=True)
def test_claimers_in_a_race_do_not_exceed_the_limit_nor_pass_by_others(
    toy: Toy, agent: Agent, abroad: Agent, cast: Cast
) -> None:
    limit(cast.tenant, max_running=5)
    for number in range(30):
        start(toy, agent, f"w-{number}")
    for number in range(30, 33):
        start(toy, abroad, f"w-{number}")
    together, taken = threading.Barrier(16), []

    def take() -> None:
        together.wait(30)
        held = claim()
        if held is not None:
            taken.append(held.tenant_id)

    apart(*[take] * 16)
    assert sorted(map(str, taken)) == sorted([str(cast.tenant.pk)] * 5 + [str(cast.other.pk)] * 3)
    assert Session.objects.filter(status="running").count() == 8


def apart(*acts: Callable[[], object]) -> None:
    """Do each in a thread with a connection of its own, and wait for all of them."""

    def run(act: Callable[[], object]) -> None:
        try:
            act()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[act], daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_what_an_operator_wants_is_done_whatever_the_limits(toy: Toy, agent: Agent, abroad: Agent, cast: Cast) -> None:
    """A session that is to be cancelled needs a worker for a moment, and must not hold up the others meanwhile."""
    toy.vendor.before.append(ToolFailure(FailureKind.RATE_LIMIT, "slow down"))
    session = work(toy, agent, pay(), TELL, DONE)
    start(toy, agent, "w-2")
    assert claim_one() == "w-2"
    start(toy, abroad, "w-3")
    limit(cast.tenant, max_running=1, max_day_micro=0)
    freezing.freeze(tenant_id=cast.tenant.pk, agent_id=None, tool="", actor=BOB, reason="Stop.")
    control.cancel_session(session_id=session.pk, actor=BOB, reason="")
    plan(toy, TELL, DONE)
    work_until_quiet()
    assert go_on(session).status == "cancelled"
    assert Session.objects.get(subject_id="w-3").status == "finished"
    assert Session.objects.get(subject_id="w-2").status == "running"


def test_tenant_starts_no_more_in_an_hour_than_it_may(toy: Toy, agent: Agent, abroad: Agent, cast: Cast) -> None:
    limit(cast.tenant, max_starts_hour=2)
    start(toy, agent, "w-1")
    for number in range(2, 6):
        toy.add_work(f"w-{number}")
    assert sweep_once() >= 1
    assert Session.objects.filter(tenant=cast.tenant).count() == 2
    with pytest.raises(CannotStart):
        start(toy, agent, "w-9")
    start(toy, abroad, "w-8")
    Session.objects.filter(subject_id="w-1").update(created_at=timezone.now() - timedelta(minutes=61))
    start(toy, agent, "w-9")
    with pytest.raises(CannotStart):
        start(toy, agent, "w-10")


def test_tenant_that_has_spent_its_day_waits(toy: Toy, agent: Agent, abroad: Agent, cast: Cast) -> None:
    limit(cast.tenant, max_day_micro=1_000)
    SpendDay.objects.create(
        id=cast.tenant.pk, tenant_id=cast.tenant.pk, scope="tenant", day=timezone.now().date(), spent_micro=900
    )
    start(toy, agent, "w-1")
    assert claim_one() == "w-1"
    start(toy, agent, "w-2")
    start(toy, abroad, "w-3")
    SpendDay.objects.update(reserved_micro=100)
    assert claimed() == ["w-3"]
    SpendDay.objects.update(day=timezone.now().date() - timedelta(days=1))
    assert claimed() == ["w-2"]


@pytest.fixture
def urgent_in_between(toy: Toy, agent: Agent) -> Callable[[Priority, int], None]:
    """Gives the role a planner that takes three notes, during the first of which more urgent work comes in."""

    def prepare(priority: Priority, count: int = 1) -> None:
        def choose(context: PlanContext) -> Proposal:
            name, step = context.subject.id, len(context.history)
            if name == "w-1" and step == 0 and "w-u0" not in toy.works:
                for number in range(count):
                    start(toy, agent, f"w-u{number}", priority=priority)
            return ToolCall("note", {"text": f"{name} {step}"}) if step < 3 else DONE

        toy.planner = ScriptedPlanner(choose)

    return prepare


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("most", [1, 50])
def test_urgent_work_is_done_between_two_steps(
    toy: Toy, agent: Agent, cast: Cast, urgent_in_between: Callable[..., None], most: int
) -> None:
    limit(cast.tenant, max_running=most)
    urgent_in_between(Priority.URGENT)
    session = start(toy, agent, "w-1")
    session.refresh_from_db()
    rank = session.rank_at
    assert go_on(session).status == "finished"
    assert toy.notes == ["w-1 0", *[f"w-u0 {step}" for step in range(3)], "w-1 1", "w-1 2"]
    (preempted,) = [event for event in stream(session) if event.type == "session.preempted"]
    urgent = Session.objects.get(subject_id="w-u0")
    assert preempted.facts == {"for": str(urgent.pk)}
    # It kept its place in the queue.
    assert session.rank_at == rank
    assert (urgent.status, events(urgent).count("session.claimed")) == ("finished", 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(p, p) for p in Priority] + [(Priority.URGENT, Priority.HIGH), (Priority.HIGH, Priority.NORMAL)],
)
def test_work_gives_way_only_to_more_urgent_work(
    toy: Toy, agent: Agent, urgent_in_between: Callable[..., None], ours: Priority, theirs: Priority
) -> None:
    urgent_in_between(theirs)
    session = start(toy, agent, "w-1", priority=ours)
    assert go_on(session).status == "finished"
    assert "session.preempted" not in events(session)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Priority.LOW, Priority.HIGH),
        (Priority.NORMAL, Priority.HIGH),
        (Priority.NORMAL, Priority.URGENT),
        (Priority.HIGH, Priority.URGENT),
    ],
)
def test_work_of_a_lower_class_gives_way(
    toy: Toy, agent: Agent, urgent_in_between: Callable[..., None], ours: Priority, theirs: Priority
) -> None:
    urgent_in_between(theirs)
    session = start(toy, agent, "w-1", priority=ours)
    assert go_on(session).status == "finished"
    assert toy.notes[:2] == ["w-1 0", "w-u0 0"]
    assert events(session).count("session.preempted") == 1


@pytest.mark.django_db(transaction=True)
def test_work_that_is_made_urgent_takes_a_turn_as_well(toy: Toy, agent: Agent) -> None:
    other = start(toy, agent, "w-2", priority=Priority.LOW)

    def choose(context: PlanContext) -> Proposal:
        step = len(context.history)
        if context.subject.id == "w-1" and step == 0:
            control.set_priority(session_id=other.pk, actor=BOB, priority=Priority.URGENT)
        return ToolCall("note", {"text": f"{context.subject.id} {step}"}) if step < 2 else DONE

    toy.planner = ScriptedPlanner(choose)
    session = start(toy, agent, "w-1")
    assert go_on(session).status == "finished"
    assert toy.notes == ["w-1 0", "w-2 0", "w-2 1", "w-1 1"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ours", [Priority.LOW, Priority.NORMAL])
def test_urgent_work_that_comes_in_is_begun_next(toy: Toy, agent: Agent, ours: Priority) -> None:
    """The only worker is busy and others wait; what comes in is taken in by the sweep, as from a system of record."""

    def choose(context: PlanContext) -> Proposal:
        name, step = context.subject.id, len(context.history)
        if name == "w-1" and step == 0 and "w-u" not in toy.works:
            toy.add_work("w-u")
            toy.works["w-u"] = replace(toy.works["w-u"], priority=Priority.URGENT)
            sweep_once()
        return ToolCall("note", {"text": f"{name} {step}"}) if step < 2 else DONE

    toy.planner = ScriptedPlanner(choose)
    session = start(toy, agent, "w-1", priority=ours)
    held = claim()
    assert held is not None
    for number, priority in ((2, Priority.NORMAL), (3, Priority.LOW)):
        start(toy, agent, f"w-{number}", priority=priority)
    work_session(held)
    work_until_quiet()
    assert toy.notes[:3] == ["w-1 0", "w-u 0", "w-u 1"]
    assert sorted(toy.notes) == sorted(f"w-{name} {step}" for name in ("1", "2", "3", "u") for step in range(2))
    assert not Session.objects.exclude(status="finished").exists()
    assert events(session).count("session.preempted") == 1


@pytest.mark.django_db(transaction=True)
def test_urgent_work_that_is_frozen_interrupts_nobody(
    toy: Toy, agent: Agent, cast: Cast, urgent_in_between: Callable[..., None]
) -> None:
    other = create_agent(tenant_id=cast.tenant.pk, role=roles.get_role("toy"), name="Colleague", actor=BOB)
    freezing.freeze(tenant_id=cast.tenant.pk, agent_id=agent.pk, tool="", actor=BOB, reason="Stop.")
    urgent_in_between(Priority.URGENT)
    session = start(toy, other, "w-1")
    assert go_on(session).status == "finished"
    assert "session.preempted" not in events(session)
    assert Session.objects.get(subject_id="w-u0").status == "queued"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("count", [1, 2])
def test_so_much_urgent_work_takes_so_many_workers(toy: Toy, agent: Agent, count: int) -> None:
    """Three workers meet the urgent work at the same time."""
    together, once_each = threading.Barrier(4), threading.Lock()
    waiting = {"w-0", "w-1", "w-2"}

    def choose(context: PlanContext) -> Proposal:
        step = len(context.history)
        with once_each:
            first = context.subject.id in waiting
            waiting.discard(context.subject.id)
        if first:
            together.wait(30)
            together.wait(30)
        return ToolCall("note", {"text": f"{context.subject.id} {step}"}) if step < 3 else DONE

    toy.planner = ScriptedPlanner(choose)
    sessions = [start(toy, agent, name) for name in sorted(waiting)]

    def let_urgent_work_in() -> None:
        together.wait(30)
        for number in range(count):
            start(toy, agent, f"w-u{number}", priority=Priority.URGENT)
        together.wait(30)

    apart(work_until_quiet, work_until_quiet, work_until_quiet, let_urgent_work_in)
    assert not Session.objects.exclude(status="finished").exists()
    assert sum(events(session).count("session.preempted") for session in sessions) == count
