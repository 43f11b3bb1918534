"""The sweep looks after what roles have to do by the calendar: bounded, once, and for each tenant by itself."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Barrier
from uuid import UUID

import pytest
from django.db import DatabaseError, connection

from agentops.agents.models import Agent
from agentops.kernel.clock import utcnow
from agentops.registry import roles
from agentops.registry.schedule import Run, ScheduleSpec
from agentops.runtime import schedules
from agentops.runtime.freezing import freeze
from agentops.runtime.schedule_models import RoleSchedule
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Tenant
from tests.factories.people import Cast
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db


@dataclass
class Calendar:
    """What is due, by tenant; ``runs`` are the tenants that were looked after, in their order."""

    due: dict[UUID, int] = field(default_factory=dict)
    broken: dict[UUID, Exception] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    runs: list[UUID] = field(default_factory=list)

    def run(self, tenant_id: UUID, now: datetime, limit: int) -> Run:
        self.runs.append(tenant_id)
        if tenant_id in self.broken:
            raise self.broken[tenant_id]
        count = min(self.due.get(tenant_id, 0), limit)
        self.due[tenant_id] = self.due.get(tenant_id, 0) - count
        return Run(["A thing"] * count, list(self.refused))


@pytest.fixture
def calendar(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Calendar]:
    calendar = Calendar()
    spec = ScheduleSpec("due", "What is due", timedelta(minutes=5), calendar.run)
    known = (replace(roles.get_role("toy"), schedules=(spec,)),)
    monkeypatch.setattr(roles, "all_roles", lambda: known)
    return calendar


def only() -> RoleSchedule:
    return RoleSchedule.objects.get()


def test_what_is_due_is_done_and_looked_after_again_later(calendar: Calendar, agent: Agent) -> None:
    calendar.due[agent.tenant_id] = 3
    before = utcnow()
    sweep_once()
    row = only()
    assert (row.tenant_id, row.role, row.name, row.done) == (agent.tenant_id, agent.role, "due", 3)
    assert (row.leased_until, row.failed_since, row.words) == (None, None, "")
    assert row.due_at >= before + timedelta(minutes=5)
    sweep_once()
    assert calendar.runs == [agent.tenant_id]
    RoleSchedule.objects.update(due_at=utcnow())
    sweep_once()
    assert len(calendar.runs) == 2


def test_what_is_too_much_for_one_sweep_goes_on_with_the_next(calendar: Calendar, agent: Agent) -> None:
    calendar.due[agent.tenant_id] = 250
    seen = []
    for _ in range(4):
        sweep_once()
        seen.append(only().done)
    assert seen == [100, 200, 250, 250]


def test_a_tenant_whose_run_fails_is_seen_and_stops_nobody_else(
    calendar: Calendar, agent: Agent, cast: Cast, caplog: pytest.LogCaptureFixture
) -> None:
    other = Agent.objects.create(tenant=cast.other, role=agent.role, name="Other")
    calendar.due[other.tenant_id] = 1
    calendar.broken[agent.tenant_id] = DatabaseError("words of a library")
    with caplog.at_level(logging.ERROR):
        sweep_once()
    assert set(calendar.runs) == {agent.tenant_id, other.tenant_id}
    rows = {row.tenant_id: row for row in RoleSchedule.objects.all()}
    failed, fine = rows[agent.tenant_id], rows[other.tenant_id]
    assert (fine.done, fine.failed_since) == (1, None)
    assert (failed.words, failed.done, failed.leased_until) == ("DatabaseError, see the log.", 0, None)
    assert schedules.INCIDENT in caplog.text
    since = failed.failed_since
    assert since is not None
    RoleSchedule.objects.update(due_at=utcnow())
    sweep_once()
    failed.refresh_from_db()
    assert failed.failed_since == since
    calendar.broken.clear()
    RoleSchedule.objects.update(due_at=utcnow())
    sweep_once()
    failed.refresh_from_db()
    assert (failed.failed_since, failed.words) == (None, "")


def test_what_is_refused_is_told(calendar: Calendar, agent: Agent) -> None:
    calendar.refused = [f"thing {number}: no\x00" for number in range(12)]
    sweep_once()
    row = only()
    assert (row.refused, row.words.count("\n"), "\x00" in row.words) == (12, 9, False)


def test_a_tenant_that_is_frozen_waits_and_one_tool_of_it_is_not_the_tenant(calendar: Calendar, agent: Agent) -> None:
    freeze(tenant_id=agent.tenant_id, agent_id=None, tool="pay", actor="user:bob", reason="Why.")
    sweep_once()
    assert len(calendar.runs) == 1
    freeze(tenant_id=agent.tenant_id, agent_id=None, tool="", actor="user:bob", reason="Why.")
    RoleSchedule.objects.update(due_at=utcnow())
    sweep_once()
    assert len(calendar.runs) == 1


def test_a_sweep_that_died_leaves_its_lease_and_the_next_one_goes_on_after_it(calendar: Calendar, agent: Agent) -> None:
    calendar.broken[agent.tenant_id] = KeyboardInterrupt()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        sweep_once()
    calendar.broken.clear()
    calendar.due[agent.tenant_id] = 1
    sweep_once()
    assert only().done == 0
    RoleSchedule.objects.update(leased_until=utcnow() - timedelta(seconds=1))
    sweep_once()
    assert only().done == 1


def test_a_tenant_without_an_agent_of_the_role_has_no_schedule(calendar: Calendar, agent: Agent) -> None:
    Tenant.objects.create(slug="west", name="West Goods")
    sweep_once()
    assert calendar.runs == [agent.tenant_id]


@pytest.mark.django_db(transaction=True)
def test_two_sweeps_at_once_look_after_a_tenant_once(calendar: Calendar, agent: Agent) -> None:
    RoleSchedule.objects.all().delete()
    barrier = Barrier(4)

    def sweep(_: int) -> None:
        try:
            barrier.wait(20)
            schedules.run_schedules()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(sweep, range(4)))
    assert calendar.runs == [agent.tenant_id]
