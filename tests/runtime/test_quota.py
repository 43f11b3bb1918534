"""A provider that may be asked so many times a minute, shared by all workers and fairly between tenants."""

import heapq
import threading
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.conf import settings as django_settings
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from agentops.gateway.breakers import Breakers, breakers_of, report_failure
from agentops.gateway.models import Breaker
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import FinalAnswer, PlanContext, PlannerUnavailable, Subject, Turn
from agentops.runtime import quota
from agentops.runtime.models import QuotaSecond
from agentops.runtime.providers import ask_planner
from agentops.runtime.quota import wait_for_turn
from agentops.runtime.quota_rule import LONGEST_WAIT, Second, wait_of

NORTH, SOUTH, WEST = UUID(int=1), UUID(int=2), UUID(int=3)
NOW = 1_000_000


def calls(tenant: UUID, *seconds: int) -> list[Second]:
    return [Second(tenant, NOW + second, calls=1) for second in seconds]


def waits(tenant: UUID, *seconds: int) -> list[Second]:
    return [Second(tenant, NOW + second, waits=1) for second in seconds]


def ask(seconds: Iterable[Second], tenant: UUID = NORTH, per_minute: int = 4) -> int:
    return wait_of(seconds, tenant_id=tenant, now=NOW, per_minute=per_minute)


def test_tenant_alone_may_use_it_all_and_then_waits_until_a_call_is_a_minute_old() -> None:
    assert ask(calls(NORTH, -3, -2, -1)) == 0
    assert ask(calls(NORTH, -50, -3, -2, -1)) == 11
    assert ask(calls(NORTH, -60, -3, -2, -1)) == 1
    assert ask(calls(NORTH, -61, -3, -2, -1)) == 0


def test_what_nobody_else_wants_is_anybodys() -> None:
    assert ask([*calls(NORTH, -9, -8, -7), *calls(SOUTH, -5)], SOUTH) == 52
    assert ask([*calls(NORTH, -9, -8), *calls(SOUTH, -5)], NORTH) == 0


def test_what_others_wait_for_within_their_share_is_theirs() -> None:
    seconds = [*calls(NORTH, -20, -10, -9), *waits(SOUTH, 3)]
    assert ask(seconds, NORTH) == 41
    assert ask(seconds, SOUTH) == 0
    beyond = [*calls(SOUTH, -9, -8), *calls(NORTH, -7), *waits(SOUTH, 3)]
    assert ask(beyond, NORTH) == 0
    assert ask([*beyond, *calls(NORTH, -1)], WEST) == 52, "nothing is free although nobody has its share"


def test_those_who_wait_are_told_one_after_the_other() -> None:
    full = calls(NORTH, -40, -30, -20, -10)
    told = [ask([*full, *waits(NORTH, *range(1, waiting + 1))]) for waiting in range(6)]
    assert told == [21, 31, 41, 51, 61, 61]


def test_somebody_who_did_not_come_back_is_forgotten() -> None:
    assert ask([*calls(NORTH, -3, -2, -1), *waits(SOUTH, -9)]) > 0
    assert ask([*calls(NORTH, -3, -2, -1), *waits(SOUTH, -10)]) == 0


def simulate(per_minute: int, sessions: dict[UUID, list[int]], until: int) -> list[tuple[int, UUID]]:
    """Let sessions that begin at the given seconds each make one call, and return when who made it."""
    due = [(second, number, tenant) for tenant, begun in sessions.items() for number, second in enumerate(begun)]
    heapq.heapify(due)
    seconds: Counter[tuple[UUID, int, str]] = Counter()
    made = []
    while due and due[0][0] <= until:
        now, number, tenant = heapq.heappop(due)
        came_back = min((key for key in seconds if key[0] == tenant and key[2] == "w" and key[1] <= now), default=None)
        if came_back is not None:
            seconds[came_back] -= 1
        seconds = +seconds
        rows = [Second(t, s, calls=n * (what == "c"), waits=n * (what == "w")) for (t, s, what), n in seconds.items()]
        wait = wait_of(
            [row for row in rows if row.second >= now - 60], tenant_id=tenant, now=now, per_minute=per_minute
        )
        assert 0 <= wait <= LONGEST_WAIT
        if wait:
            seconds[tenant, now + wait, "w"] += 1
            heapq.heappush(due, (now + wait, number, tenant))
        else:
            seconds[tenant, now, "c"] += 1
            made.append((now, tenant))
    return made


begun = st.lists(st.integers(0, 200), max_size=25)


@given(st.integers(1, 12), begun, begun, begun)
def test_no_span_of_sixty_seconds_holds_more_and_everybody_gets_there(
    per_minute: int, north: list[int], south: list[int], west: list[int]
) -> None:
    made = simulate(per_minute, {NORTH: north, SOUTH: south, WEST: west}, until=200 + 62 * 80)
    seconds = [second for second, _ in made]
    for first, last in zip(seconds, seconds[per_minute:], strict=False):
        # Each call is made somewhere in its second, so these may be as little as last - first - 1 apart.
        assert last - first > 60
    assert len(made) == len(north) + len(south) + len(west)


def test_tenant_with_few_sessions_is_not_starved_by_one_with_many() -> None:
    made = simulate(12, {NORTH: [0] * 300, SOUTH: [30] * 12, WEST: [200] * 4}, until=400)
    south = [second for second, tenant in made if tenant == SOUTH]
    west = [second for second, tenant in made if tenant == WEST]
    assert south[5] <= 30 + 62
    assert south[11] <= 30 + 2 * 62
    assert west[3] <= 200 + 62
    north = Counter(second // 61 for second, tenant in made if tenant == NORTH)
    assert north[0] == 12, "nobody else was there"
    assert all(north[minute] >= 4 for minute in range(1, 6))


# -- The table -----------------------------------------------------------------------------------------


class Clock:
    """The database's second, as the test wants it."""

    now = NOW


@pytest.fixture
def clock(settings, db: None, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Three calls a minute, of a minute that passes when the test says so."""
    settings.AGENT_MODEL_PER_MINUTE = 3
    clock = Clock()
    monkeypatch.setattr(quota, "_now", lambda: clock.now)
    return clock


def test_without_a_limit_nothing_is_asked(db: None, django_assert_num_queries) -> None:
    assert django_settings.AGENT_MODEL_PER_MINUTE == 0
    with django_assert_num_queries(0):
        assert wait_for_turn(NORTH) == 0


def test_turns_are_given_out_and_come_back(clock: Clock) -> None:
    assert [wait_for_turn(NORTH) for _ in range(5)] == [0, 0, 0, 61, 61]
    clock.now += 20
    assert wait_for_turn(SOUTH) == 41
    clock.now += 41
    assert wait_for_turn(NORTH) == 0


def test_whoever_comes_back_no_longer_counts_as_waiting(clock: Clock) -> None:
    for _ in range(5):
        wait_for_turn(NORTH)
    clock.now += 61
    assert [wait_for_turn(NORTH) for _ in range(2)] == [0, 0]
    assert not QuotaSecond.objects.filter(waits__gt=0).exists()


def test_rows_of_the_past_are_removed(clock: Clock) -> None:
    for _ in range(200):
        wait_for_turn(NORTH)
        wait_for_turn(SOUTH)
        clock.now += 30
    assert QuotaSecond.objects.count() <= 12


def test_waiting_tenant_keeps_the_other_from_more_than_its_share(clock: Clock) -> None:
    for _ in range(3):
        assert wait_for_turn(NORTH) == 0
    assert wait_for_turn(SOUTH) == 61
    clock.now += 61
    assert [wait_for_turn(NORTH) == 0 for _ in range(3)] == [True, True, False]
    assert wait_for_turn(SOUTH) == 0


def test_the_clock_is_the_databases(settings, db: None) -> None:
    settings.AGENT_MODEL_PER_MINUTE = 1
    before = utcnow().timestamp()
    assert wait_for_turn(NORTH) == 0
    assert QuotaSecond.objects.get().second == pytest.approx(before, abs=30)


@pytest.mark.django_db(transaction=True)
def test_of_twenty_workers_as_many_ask_as_may(settings) -> None:
    settings.AGENT_MODEL_PER_MINUTE = 7
    start = threading.Barrier(20)

    def turn(number: int) -> int:
        try:
            start.wait(30)
            return wait_for_turn(NORTH if number % 2 else SOUTH)
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        told = list(pool.map(turn, range(20)))
    assert told.count(0) == 7
    assert all(1 <= wait <= 61 for wait in told if wait)


# -- Asking a model ------------------------------------------------------------------------------------


CONTEXT = PlanContext(UUID(int=5), "", "", Subject("work", "w-1", "", "", "", None, utcnow()), (), (), utcnow())
DONE = FinalAnswer("done")


@pytest.fixture
def model(settings, db: None) -> None:
    settings.AGENT_MODEL, settings.AGENT_MODEL_KEY = "openai:small", "k"


def think(*script: object, tenant: UUID = NORTH) -> Turn:
    planner = ScriptedPlanner(script)  # type: ignore[arg-type]
    return ask_planner(planner, CONTEXT, tenant_id=tenant, breakers=Breakers(tenant, breakers_of(tenant)))


def refused(*script: object, tenant: UUID = NORTH) -> PlannerUnavailable:
    with pytest.raises(PlannerUnavailable) as error:
        think(*script, tenant=tenant)
    return error.value


def down(kind: FailureKind = FailureKind.UNAVAILABLE, retry_after: float | None = None) -> PlannerUnavailable:
    return PlannerUnavailable(kind, "It is down.", retry_after=retry_after)


def test_playbook_has_neither_quota_nor_breaker(clock: Clock) -> None:
    for _ in range(9):
        assert think(DONE).proposal == DONE
        assert refused(down()).counts
    assert not Breaker.objects.exists()
    assert not QuotaSecond.objects.exists()


def test_whoever_has_no_turn_is_told_when_and_it_counts_as_no_attempt(clock: Clock, model: None) -> None:
    for _ in range(3):
        assert think(DONE).proposal == DONE
    error = refused(AssertionError("the model was asked"))
    assert (error.kind, error.counts) == (FailureKind.RATE_LIMIT, False)
    assert error.retry_after == 61


def test_provider_that_keeps_failing_is_off_for_every_tenant_until_a_probe_works(model: None) -> None:
    for tenant in (NORTH, SOUTH, NORTH, SOUTH, NORTH):
        assert refused(down(), tenant=tenant).counts
    error = refused(AssertionError("the model was asked"), tenant=WEST)
    assert (error.kind, error.counts) == (FailureKind.UNAVAILABLE, True)
    assert error.retry_after == pytest.approx(30, abs=5)
    assert error.message.startswith("openai kept failing and is off until ")
    Breaker.objects.update(retry_at=utcnow())
    assert think(DONE, tenant=WEST).proposal == DONE
    assert Breaker.objects.get().state == "closed"


def test_provider_that_asks_for_patience_gets_it_without_an_attempt_being_counted(model: None) -> None:
    for _ in range(5):
        assert not refused(down(FailureKind.RATE_LIMIT, 90.0)).counts
    error = refused(AssertionError("the model was asked"))
    assert (error.counts, error.retry_after) == (False, pytest.approx(90, abs=5))


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.NOT_FOUND, FailureKind.VALIDATION])
def test_wrong_key_or_name_turns_nothing_off(model: None, kind: FailureKind) -> None:
    for _ in range(9):
        assert refused(down(kind)).kind is kind
    assert not Breaker.objects.exists()


def test_turn_is_not_used_up_while_the_provider_is_off(clock: Clock, model: None) -> None:
    for _ in range(5):
        report_failure(tenant_id=None, name="provider:openai", kind=FailureKind.TIMEOUT, words="Too slow.")
    refused(DONE)
    assert not QuotaSecond.objects.exists()
