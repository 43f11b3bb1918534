"""Money adds up: for a customer in a day and in thirty, and for an agent in a day; and races do not pass the sums."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from threading import Event
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.models import F

from agentops.agents.models import Agent
from agentops.kernel.canonical import loads
from agentops.kernel.errors import FailureKind
from agentops.ledger.queries import events_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.registry.tool import ToolFailure
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import MoneyWindow, Session
from agentops.runtime.operations import start_session
from agentops.runtime.windows import LONG, Moved, Place, agent_target, open_sums
from tests.factories.people import Cast
from tests.factories.sums import sums_of_agents, sums_of_targets
from tests.factories.toy import Toy


def pay(toy: Toy, agent: Agent, minor: int, work: str, customer: str = "ann") -> Session:
    """Work a session that looks and pays ``minor`` cents."""
    account = {"ann": "a-1", "bea": "b-1"}[customer]
    toy.add_work(work, customer=customer)
    toy.taken.add(work)
    calls = [ToolCall("look", {"account": account}), ToolCall("pay", {"account": account, "minor": minor})]
    toy.planner = ScriptedPlanner([*calls, FinalAnswer("Done.")])
    session = start_session(agent=agent, subject_id=work, actor="user:bob")
    work_until_quiet()
    return session


def money_of(session: Session) -> dict[str, int]:
    """Return the sums that the session's payment was decided on."""
    [event] = [each for each in events_of(session.pk) if each.type in ("call.intended", "approval.requested")]
    assert event.body is not None
    money: dict[str, int] = loads(event.body)["facts"]["money"]
    return {name: money[f"{name}_minor"] for name in ("customer_day", "customer_30_days", "agent_day")}


def moved_before(cast: Cast, days: int, minor: int, target: str = "customer:ann", family: str = "payment") -> None:
    """Plant what moved some days ago."""
    day = datetime.now(UTC).date() - timedelta(days=days)
    place = Place(cast.tenant.pk, family, "USD", day)
    MoneyWindow.objects.create(
        id=place.row_of(target),
        tenant_id=cast.tenant.pk,
        family=family,
        target=target,
        currency="USD",
        day=day,
        total_minor=minor,
    )


@pytest.mark.django_db
def test_a_payment_counts_for_its_customer_and_its_agent(toy: Toy, agent: Agent) -> None:
    first = pay(toy, agent, 500, "w-1")
    other = pay(toy, agent, 300, "w-2", customer="bea")
    again = pay(toy, agent, 200, "w-3")
    assert money_of(first) == {"customer_day": 500, "customer_30_days": 500, "agent_day": 500}
    assert money_of(other) == {"customer_day": 300, "customer_30_days": 300, "agent_day": 800}
    assert money_of(again) == {"customer_day": 700, "customer_30_days": 700, "agent_day": 1000}
    assert dict(sums_of_targets().values_list("target", "total_minor")) == {"customer:ann": 700, "customer:bea": 300}
    assert list(sums_of_agents().values_list("target", "total_minor")) == [(agent_target(agent.pk), 1000)]


@pytest.mark.django_db
def test_thirty_days_count_with_today_and_no_day_more(toy: Toy, agent: Agent, cast: Cast) -> None:
    moved_before(cast, 1, 10_000)
    moved_before(cast, LONG - 1, 5_000)
    moved_before(cast, LONG, 70_000)
    moved_before(cast, 2, 80_000, target="customer:bea")
    moved_before(cast, 2, 90_000, family="other")
    assert money_of(pay(toy, agent, 500, "w-1")) == {"customer_day": 500, "customer_30_days": 15_500, "agent_day": 500}


@pytest.mark.django_db
def test_another_agent_has_a_sum_of_its_own(toy: Toy, agent: Agent, cast: Cast) -> None:
    second = Agent.objects.create(
        tenant=cast.tenant, role="toy", name="Second", current_version=agent.current_version, owner=None
    )
    pay(toy, agent, 500, "w-1")
    assert money_of(pay(toy, second, 300, "w-2")) == {"customer_day": 800, "customer_30_days": 800, "agent_day": 300}


@pytest.mark.django_db
def test_what_had_no_effect_is_given_back_everywhere(toy: Toy, agent: Agent) -> None:
    toy.vendor.before = [ToolFailure(FailureKind.VALIDATION, "No.")]
    pay(toy, agent, 500, "w-1")
    assert set(MoneyWindow.objects.values_list("total_minor", flat=True)) == {0}
    assert money_of(pay(toy, agent, 200, "w-2")) == {"customer_day": 200, "customer_30_days": 200, "agent_day": 200}


def move(place: Place, agent: UUID, minor: int, *, until: Event | None = None, begun: Event | None = None) -> Moved:
    """Decide about an amount and count it, in a transaction that ends once ``until`` is set; return what it saw."""
    try:
        with transaction.atomic():
            window = open_sums(place, "customer:ann", agent)
            MoneyWindow.objects.filter(pk__in=window.rows).update(total_minor=F("total_minor") + minor)
            if begun is not None:
                begun.set()
            if until is not None:
                assert until.wait(60)
            return window.moved
    finally:
        connection.close()


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
            " WHERE NOT l.granted AND a.datname = current_database()"
        )
        return bool(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("later", "same_agent", "seen"),
    [
        (0, True, Moved(customer_day=100, customer_30_days=100, agent_day=100)),
        (0, False, Moved(customer_day=100, customer_30_days=100, agent_day=0)),
        (1, True, Moved(customer_day=0, customer_30_days=100, agent_day=0)),
    ],
)
def test_who_decides_second_waits_and_counts_what_the_first_moved(later: int, same_agent: bool, seen: Moved) -> None:
    """Also when midnight lies between the two."""
    place, agent = Place(uuid4(), "payment", "USD", date(2026, 11, 30)), uuid4()
    begun, until = Event(), Event()
    after = replace(place, day=place.day + timedelta(days=later))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(move, place, agent, 100, until=until, begun=begun)
        assert begun.wait(60)
        second = pool.submit(move, after, agent if same_agent else uuid4(), 50)
        while not somebody_waits():
            assert not second.done()
        until.set()
        assert (first.result(), second.result()) == (Moved(), seen)


@pytest.mark.django_db(transaction=True)
def test_many_at_once_for_many_customers_miss_nothing_and_nobody_waits_in_a_circle() -> None:
    tenant, agent = uuid4(), uuid4()
    places = [Place(tenant, "payment", "USD", date(2026, 11, 30) + timedelta(days=n % 2)) for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda place: move(place, agent, 10), places))
    for place in places[:2]:
        with transaction.atomic():
            found = open_sums(place, "customer:ann", agent).moved
        assert (found.customer_day, found.agent_day) == (200, 200)
    assert found.customer_30_days == 400
