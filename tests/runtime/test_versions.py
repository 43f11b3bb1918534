"""Rolling out another version, and a program that ends: sessions wait, go on elsewhere, or stop with a clear code."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from celery.signals import worker_shutting_down
from django.utils import timezone

from agentops.agents.models import Agent, AgentVersion
from agentops.agents.operations import create_agent
from agentops.kernel.errors import FailureKind
from agentops.registry import roles
from agentops.registry.tool import ToolFailure
from agentops.runtime.dispatch import claim, work_session, work_until_quiet
from agentops.runtime.interrupts import draining
from agentops.runtime.models import Invocation, Priority, Session
from agentops.runtime.reconciling import unreconciled
from agentops.runtime.sweep import VERSION_GRACE, sweep_once
from approvals.models import ApprovalRequest
from tests.factories.people import Cast
from tests.factories.runs import (
    DONE,
    TELL,
    answer_of,
    begin,
    decide,
    events,
    go_on,
    once,
    pay,
    plan,
    start,
    stream,
    thinking,
    work,
)
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

Deploy = Callable[..., None]


@pytest.fixture(autouse=True)
def nothing_drains() -> Iterator[None]:
    assert not draining.is_set()
    yield
    draining.clear()


@pytest.fixture
def deploy(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Deploy:
    """Puts another version of the role in the place of the present one."""

    def put(version: int, continues: set[int] | None = None, **fields: Any) -> None:
        spec = replace(toy.spec(), version=version, continues=frozenset(continues or ()), **fields)
        monkeypatch.setattr(roles, "all_roles", lambda: (spec,))

    return put


def wait(session: Session, minutes: int) -> None:
    """Let it have been runnable for so long."""
    before = timezone.now() - timedelta(minutes=minutes) - session.priority * timedelta(minutes=10)
    Session.objects.filter(pk=session.pk).update(rank_at=before)


def test_session_of_a_version_that_is_not_served_waits_and_holds_up_nobody(
    toy: Toy, agent: Agent, deploy: Deploy
) -> None:
    old = begin(toy, agent, TELL, DONE)
    deploy(2)
    new = start(toy, agent, "w-2")
    work_until_quiet()
    assert (go_on(old).status, go_on(new).status, new.role_version) == ("queued", "finished", 2)
    deploy(1)
    assert go_on(old).status == "finished"


def test_version_that_goes_on_with_an_older_one_works_its_sessions(
    toy: Toy, agent: Agent, cast: Cast, deploy: Deploy
) -> None:
    session = work(toy, agent, pay(5000), TELL, DONE)
    deploy(3, {1})
    decide(cast)
    assert (go_on(session).status, session.role_version, toy.vendor.balances["a-1"]) == ("finished", 1, 95_000)


@pytest.mark.parametrize("priority", list(Priority))
def test_what_nobody_serves_for_ten_minutes_is_given_up_with_a_code(
    toy: Toy, agent: Agent, deploy: Deploy, priority: Priority
) -> None:
    plan(toy, pay(), DONE)
    session = start(toy, agent, "w-1", priority=priority)
    deploy(2)
    grace = int(VERSION_GRACE.total_seconds()) // 60
    wait(session, grace - 1)
    sweep_once()
    assert go_on(session).status == "queued"
    wait(session, grace + 1)
    assert sweep_once() == 1
    session.refresh_from_db()
    assert (session.status, session.stop_code, session.outcome) == ("stopped", "VERSION_GONE", "no action")
    assert answer_of(session)["left"]
    assert (toy.vendor.calls, sweep_once()) == ([], 0)


def test_unserved_session_leaves_neither_request_nor_call_behind(
    toy: Toy, agent: Agent, cast: Cast, deploy: Deploy
) -> None:
    asked = work(toy, agent, pay(5000), DONE)
    decide(cast)
    toy.vendor.before.append(ToolFailure(FailureKind.UNAVAILABLE, "closed"))
    plan(toy, pay(), DONE)
    other = create_agent(tenant_id=cast.tenant.pk, role=roles.get_role("toy"), name="Colleague", actor="user:bob")
    Session.objects.filter(pk=asked.pk).update(rank_at=timezone.now() + timedelta(days=1))
    called = start(toy, other, "w-2")
    held = claim()
    assert held is not None
    assert held.id == called.pk
    work_session(held)
    deploy(2)
    Session.objects.filter(status="sleeping").update(wake_at=timezone.now())
    sweep_once()
    for session in (asked, called):
        wait(session, 11)
    assert sweep_once() == 2
    assert [Session.objects.get(pk=s.pk).stop_code for s in (asked, called)] == ["VERSION_GONE"] * 2
    assert ApprovalRequest.objects.get().state == "voided"
    assert Invocation.objects.get(session_id=asked.pk).state == "refused"
    # Nobody knows what became of the call, so it is in the queue of a person.
    assert list(unreconciled(agent.tenant_id)) == [Invocation.objects.get(session_id=called.pk)]
    assert len(toy.vendor.calls) == 1


def test_session_keeps_the_version_of_its_agent(toy: Toy, agent: Agent) -> None:
    first = begin(toy, agent, TELL, pay(), DONE)
    stricter = AgentVersion.objects.create(
        agent=agent, number=2, instructions="Less.", max_steps=1, max_seconds=60, max_cost_micro=1
    )
    for grant in agent.current_version.grants.all():
        grant.pk, grant.version = None, stricter
        grant.save()
    agent.current_version = stricter
    agent.save()
    second = start(toy, agent, "w-2")
    work_until_quiet()
    assert (go_on(first).status, first.outcome) == ("finished", "refunded")
    assert (go_on(second).status, second.stop_code) == ("stopped", "BUDGET_STEPS")


def test_program_that_ends_finishes_the_step_and_hands_the_session_on(toy: Toy, agent: Agent) -> None:
    begin(toy, agent, thinking(once(draining.set), pay()), TELL, DONE)
    other = start(toy, agent, "w-2")
    session = Session.objects.get(subject_id="w-1")
    rank = session.rank_at
    assert work_until_quiet() == 1
    session.refresh_from_db()
    assert (session.status, session.lease_owner, session.lease_until) == ("queued", "", None)
    assert events(session)[-3:] == ["call.intended", "call.succeeded", "session.handed_on"]
    assert (session.rank_at, session.attempts) == (rank, 0)
    # Nothing else is taken up either.
    assert (work_until_quiet(), go_on(other).status) == (0, "queued")
    draining.clear()
    assert (go_on(session).status, go_on(other).status) == ("finished", "finished")
    # Each has paid once.
    assert (toy.vendor.balances["a-1"], len(toy.vendor.calls)) == (99_000, 2)


def test_handing_on_counts_for_no_attempt_and_forgets_none(toy: Toy, agent: Agent) -> None:
    """However often programs are replaced, a call that keeps failing ends after as many attempts as ever."""
    toy.vendor.before += [ToolFailure(FailureKind.UNAVAILABLE, "closed") for _ in range(9)]
    session = work(toy, agent, pay(), TELL, DONE)
    for attempt in (1, 2):
        assert (session.status, session.attempts) == ("sleeping", attempt)
        Session.objects.update(wake_at=timezone.now())
        sweep_once()
        held = claim()
        draining.set()
        work_session(held)
        draining.clear()
        session.refresh_from_db()
        assert (session.status, session.attempts) == ("queued", attempt)
        go_on(session)
    assert session.status == "finished"
    assert len(toy.vendor.calls) == 3
    assert Invocation.objects.get(tool="pay").state == "failed"
    assert [e.type for e in stream(session)].count("session.handed_on") == 2


def test_signal_of_celery_begins_the_end() -> None:
    worker_shutting_down.send(sender="worker@test", sig="SIGTERM", how="Warm", exitcode=0)
    assert draining.is_set()
