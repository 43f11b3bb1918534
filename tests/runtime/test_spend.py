"""Money of model calls: set aside before, settled after, never more than the limits and never lost."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.kernel.errors import IncidentCode
from agentops.ledger.append import Event, StaleStream
from agentops.ledger.models import LedgerEvent
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import Usage
from agentops.runtime.dispatch import claim
from agentops.runtime.models import Session, SpendDay
from agentops.runtime.operations import start_session
from agentops.runtime.record import Took, record
from agentops.runtime.session import Held
from agentops.runtime.spend import DayOfSpend, LimitReached, Purse, Reservation, Spent, reserve, spend_of
from agentops.runtime.sweep import sweep_once
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
DAY = date(2026, 11, 1)
UTC_ZONE = ZoneInfo("UTC")
ANSWER = Usage(model="m", input_tokens=100, output_tokens=20, cost_micro=40)
SEEN = Event("model.malformed", "agent:x", {}, {}, {"arguments": "", "result": {}})


def begin(toy: Toy, agent: Agent, work_id: str = "w-1") -> Held:
    toy.planner = ScriptedPlanner([])
    toy.add_work(work_id)
    toy.taken.add(work_id)
    start_session(agent=agent, subject_id=work_id, actor="user:bob")
    held = claim()
    assert held is not None
    return held


@pytest.fixture
def held(toy: Toy, agent: Agent) -> Held:
    return begin(toy, agent)


def purse(held: Held, **limits: int | None) -> Purse:
    return replace(Purse(held.tenant_id, held.agent_id, "toy", UTC_ZONE), **limits)  # type: ignore[arg-type]


def ask(held: Held, micro: int = 100, at: datetime = NOON, **limits: int | None) -> Reservation | LimitReached:
    reserved = reserve(
        session_id=held.id, fence=held.fence, purse=purse(held, **limits), micro=micro, at=at, onto=held.reservation
    )
    if isinstance(reserved, Reservation):
        held.reservation = reserved
    return reserved


def settle(held: Held, usage: Usage = ANSWER) -> None:
    record(held, [SEEN], Took(steps=1, usage=usage))


def day(held: Held, on: date = DAY) -> DayOfSpend:
    return spend_of(held.tenant_id, on)


def session_of(held: Held) -> tuple[int, int]:
    row = Session.objects.get(pk=held.id)
    return row.cost_micro, row.reserved_micro


def test_call_is_set_aside_and_then_settled_at_what_it_really_cost(held: Held) -> None:
    ask(held)
    waiting = Spent(reserved_micro=100)
    assert day(held) == DayOfSpend(waiting, ((held.agent_id, waiting),), (("toy", waiting),))
    assert session_of(held) == (0, 100)
    settle(held)
    spent = Spent(spent_micro=40, tokens=120, calls=1)
    assert day(held) == DayOfSpend(spent, ((held.agent_id, spent),), (("toy", spent),))
    assert session_of(held) == (40, 0)
    assert held.reservation is None


def test_call_that_gave_no_answer_costs_nothing(held: Held) -> None:
    ask(held)
    settle(held, Usage(model=""))
    assert (day(held).total, session_of(held)) == (Spent(), (0, 0))


def test_limit_is_reached_by_what_is_spent_and_set_aside_together(toy: Toy, agent: Agent, held: Held) -> None:
    other = begin(toy, agent, "w-2")
    ask(held, 60, tenant_day_micro=100)
    settle(held)
    ask(held, 30, tenant_day_micro=100)
    assert ask(other, 31, tenant_day_micro=100) == LimitReached(IncidentCode.BUDGET_DAY, "tenant", 100)
    assert isinstance(ask(other, 30, tenant_day_micro=100), Reservation)
    assert day(held).total == Spent(spent_micro=40, reserved_micro=60, tokens=120, calls=1)


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        ({"session_micro": 99}, (IncidentCode.BUDGET_COST, "session")),
        ({"agent_day_micro": 99}, (IncidentCode.BUDGET_DAY, "agent")),
        ({"tenant_day_micro": 99}, (IncidentCode.BUDGET_DAY, "tenant")),
        ({"session_micro": 0}, (IncidentCode.BUDGET_COST, "session")),
        ({"tenant_day_micro": 0}, (IncidentCode.BUDGET_DAY, "tenant")),
    ],
    ids=str,
)
def test_limit_that_stands_in_the_way_is_named_and_nothing_is_set_aside(
    held: Held, limits: dict[str, int], reached: tuple[IncidentCode, str]
) -> None:
    refused = ask(held, 100, **limits)
    assert isinstance(refused, LimitReached)
    assert (refused.code, refused.scope.partition(":")[0]) == reached
    assert (day(held), session_of(held)) == (DayOfSpend(Spent(), (), ()), (0, 0))
    assert isinstance(ask(held, 100, session_micro=100, agent_day_micro=100, tenant_day_micro=100), Reservation)


def test_sessions_own_limit_counts_what_it_has_spent(held: Held) -> None:
    ask(held)
    settle(held)
    assert isinstance(ask(held, 61, session_micro=100), LimitReached)
    assert isinstance(ask(held, 60, session_micro=100), Reservation)


def test_second_reservation_before_the_durable_point_joins_the_first(held: Held) -> None:
    ask(held, 100, at=datetime(2026, 11, 1, 23, 59, tzinfo=UTC))
    ask(held, 50, at=datetime(2026, 11, 2, 0, 1, tzinfo=UTC))
    assert day(held).total == Spent(reserved_micro=150)
    settle(held)
    assert day(held).total == Spent(spent_micro=40, tokens=120, calls=1)
    assert day(held, date(2026, 11, 2)).total == Spent()


def test_day_begins_where_the_tenant_is(held: Held) -> None:
    late = datetime(2026, 11, 1, 23, 30, tzinfo=UTC)
    account = replace(purse(held), zone=ZoneInfo("Europe/Berlin"))
    reserved = reserve(session_id=held.id, fence=held.fence, purse=account, micro=1, at=late)
    assert isinstance(reserved, Reservation)
    assert reserved.day == date(2026, 11, 2)


def test_limits_of_one_day_tenant_or_agent_bind_no_other(held: Held) -> None:
    ask(held, 100, tenant_day_micro=100, agent_day_micro=100)
    settle(held, replace(ANSWER, cost_micro=100))
    assert isinstance(ask(held, 1, tenant_day_micro=100), LimitReached)
    assert isinstance(ask(held, 1, at=NOON + timedelta(days=1), tenant_day_micro=100), Reservation)


def test_worker_that_lost_its_session_reserves_nothing(held: Held) -> None:
    with pytest.raises(StaleStream):
        reserve(session_id=held.id, fence=held.fence - 1, purse=purse(held), micro=100, at=NOON)
    lose(held)
    with pytest.raises(StaleStream):
        ask(held)
    assert day(held).total == Spent()


def lose(held: Held) -> None:
    """Let the worker's lease run out."""
    Session.objects.filter(pk=held.id).update(lease_until=timezone.now() - timedelta(seconds=1))
    sweep_once()


def test_what_a_lost_worker_had_set_aside_counts_as_spent(held: Held) -> None:
    ask(held)
    settle(held)
    ask(held, 70)
    lose(held)
    spent = Spent(spent_micro=110, tokens=120, calls=2)
    assert day(held) == DayOfSpend(spent, ((held.agent_id, spent),), (("toy", spent),))
    assert session_of(held) == (110, 0)
    with pytest.raises(StaleStream):
        settle(held)
    assert day(held).total == spent


def test_lost_worker_without_a_reservation_costs_nothing(held: Held) -> None:
    ask(held)
    settle(held)
    lose(held)
    assert (day(held).total.spent_micro, session_of(held)) == (40, (40, 0))


def test_what_was_lost_before_midnight_counts_on_its_own_day(held: Held) -> None:
    ask(held, 70, at=datetime(2026, 11, 1, 23, 59, tzinfo=UTC))
    lose(held)
    assert day(held).total == Spent(spent_micro=70, calls=1)
    assert SpendDay.objects.values_list("day", flat=True).distinct().get() == DAY


def test_half_and_four_fifths_of_a_days_limit_are_told_once(held: Held) -> None:
    def warnings() -> list[tuple[str, int]]:
        found = LedgerEvent.objects.filter(type="budget.warned", facts__has_key="day").order_by("at", "position")
        return [(event.facts["kind"], event.facts["percent"]) for event in found]

    def spend(micro: int) -> None:
        ask(held, micro, tenant_day_micro=1000)
        settle(held, replace(ANSWER, cost_micro=micro))

    spend(499)
    assert warnings() == []
    spend(1)
    spend(100)
    assert warnings() == [("tenant_day", 50)]
    spend(300)
    spend(50)
    assert warnings() == [("tenant_day", 50), ("tenant_day", 80)]
    ask(held, 1, agent_day_micro=1100)
    assert warnings()[2:] == [("agent_day", 50), ("agent_day", 80)]


def test_spend_is_told_by_workstream_and_agent_in_one_query(
    toy: Toy, agent: Agent, held: Held, django_assert_num_queries: Callable[[int], object]
) -> None:
    for number in range(2, 9):
        other = begin(toy, agent, f"w-{number}")
        account = replace(purse(other), workstream=f"stream {number}")
        reserved = reserve(session_id=other.id, fence=other.fence, purse=account, micro=number, at=NOON)
        assert isinstance(reserved, Reservation)
        other.reservation = reserved
        settle(other, replace(ANSWER, cost_micro=number))
    with django_assert_num_queries(1):  # type: ignore[attr-defined]
        told = day(held)
    assert told.total.spent_micro == 35
    assert [(name, spent.spent_micro) for name, spent in told.workstreams] == [
        (f"stream {number}", number) for number in range(8, 1, -1)
    ]
    assert told.agents == ((held.agent_id, told.total),)


# -- Races ---------------------------------------------------------------------------------------------


def at_once(acts: list[Callable[[], object]]) -> list[object]:
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> object:
        try:
            start.wait(30)
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


@pytest.mark.django_db(transaction=True)
def test_twenty_sessions_at_once_never_set_aside_more_than_the_limit(toy: Toy, agent: Agent) -> None:
    helds = [begin(toy, agent, f"w-{number}") for number in range(1, 21)]
    limits = {"tenant_day_micro": 750, "agent_day_micro": 1550}
    got = at_once([lambda held=held: ask(held, **limits) for held in helds])  # type: ignore[misc]
    assert sum(isinstance(one, Reservation) for one in got) == 7
    assert day(helds[0]).total == Spent(reserved_micro=700)
    assert sum(session_of(held)[1] for held in helds) == 700


@pytest.mark.django_db(transaction=True)
def test_sessions_that_reserve_settle_and_are_lost_at_once_add_up(toy: Toy, agent: Agent) -> None:
    helds = [begin(toy, agent, f"w-{number}") for number in range(1, 13)]
    settled: list[int] = []

    def work(held: Held) -> None:
        for _ in range(6):
            if isinstance(ask(held, 50, tenant_day_micro=2_000), LimitReached):
                return
            assert day(held).total.spent_micro + day(held).total.reserved_micro <= 2_000
            settle(held)
            settled.append(40)

    at_once([lambda held=held: work(held) for held in helds])  # type: ignore[misc]
    assert sum(settled) <= 2_000
    for held in helds[:3]:
        ask(held, 10)
        lose(held)
    told = day(helds[0])
    assert told.total == Spent(sum(settled) + 30, 0, 120 * len(settled), len(settled) + 3)
    assert told.agents[0][1] == told.workstreams[0][1] == told.total
    assert sum(session_of(held)[0] for held in helds) == told.total.spent_micro
