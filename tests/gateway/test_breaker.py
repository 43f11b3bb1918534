"""The state machine of a breaker, for every order of calls, failures and moments."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.gateway.breaker import (
    ASK_AGAIN,
    COUNTED,
    LONGEST_RETRY_AFTER,
    OPENS_AFTER,
    PROBE_GIVEN_UP,
    BreakerState,
    BreakerView,
    Let,
    Off,
    Probe,
    after_failure,
    after_success,
    begin_probe,
    may_call,
    pause_of,
)
from agentops.kernel.errors import FailureKind

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
FRESH = BreakerView(UUID(int=1), "tool:look")
DOWN = FailureKind.UNAVAILABLE


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def failed(view: BreakerView, times: int, at: datetime = NOW, retry_after: float | None = None) -> BreakerView:
    for _ in range(times):
        view = after_failure(view, DOWN, at, retry_after)
    return view


def probing(view: BreakerView, at: datetime) -> tuple[BreakerView, datetime]:
    probe = may_call(view, at)
    assert isinstance(probe, Probe)
    return begin_probe(view, probe), probe.until


def test_five_failures_in_a_row_open_it_for_half_a_minute() -> None:
    assert isinstance(may_call(failed(FRESH, 4), NOW), Let)
    opened = failed(FRESH, 5)
    assert (opened.state, opened.failures, opened.last_code) == (BreakerState.OPEN, 5, "UNAVAILABLE")
    assert may_call(opened, NOW + seconds(29.9)) == Off(NOW + seconds(30))
    assert may_call(opened, NOW + seconds(30)) == Probe(NOW + seconds(150))


def test_a_success_between_failures_starts_the_count_anew() -> None:
    view = failed(after_success(failed(FRESH, 4)), 4)
    assert view.state is BreakerState.CLOSED
    assert failed(view, 1).state is BreakerState.OPEN


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind not in COUNTED])
def test_refusals_of_the_call_itself_never_count(kind: FailureKind) -> None:
    view = FRESH
    for _ in range(50):
        view = after_failure(view, kind, NOW, 30.0)
    assert view == FRESH
    four = failed(FRESH, 4)
    assert after_failure(four, kind, NOW) == four


def test_each_opening_in_a_row_doubles_the_pause_up_to_ten_minutes() -> None:
    view, at, pauses = failed(FRESH, 5), NOW, []
    for _ in range(7):
        assert view.retry_at is not None
        pauses.append((view.retry_at - at).total_seconds())
        at = view.retry_at
        view, token = probing(view, at)
        view = after_failure(view, DOWN, at, probe=token)
    assert pauses == [30, 60, 120, 240, 480, 600, 600]
    at += seconds(600)
    view, token = probing(view, at)
    closed = after_success(view, probe=token)
    assert closed == replace(FRESH, last_code="UNAVAILABLE")
    assert failed(closed, 5, at).retry_at == at + seconds(30)


def test_longer_wish_of_the_other_side_is_honoured_up_to_an_hour() -> None:
    assert pause_of(1, 12.0) == seconds(30)
    assert pause_of(1, 90.0) == seconds(90)
    assert pause_of(9, 90.0) == seconds(600)
    assert pause_of(1, 1e12) == pause_of(1, float("inf")) == LONGEST_RETRY_AFTER
    assert pause_of(1, float("nan")) == pause_of(1, -5.0) == seconds(30)
    opened = failed(FRESH, 5)
    late = after_failure(opened, FailureKind.RATE_LIMIT, NOW + seconds(1), 300.0)
    assert (late.retry_at, late.opened) == (NOW + seconds(301), 1)
    assert after_failure(opened, DOWN, NOW + seconds(1)) == opened


def test_one_probe_at_a_time_and_only_it_decides() -> None:
    at = NOW + seconds(30)
    view, token = probing(failed(FRESH, 5), at)
    assert may_call(view, at + seconds(1)) == Off(at + seconds(1) + ASK_AGAIN)
    assert may_call(view, token - seconds(1)) == Off(token)
    stranger = token + seconds(1)
    assert after_success(view) == after_success(view, probe=stranger) == view
    assert after_failure(view, DOWN, at) == after_failure(view, DOWN, at, 900.0, probe=stranger) == view
    assert after_success(view, probe=token).state is BreakerState.CLOSED
    assert after_failure(view, DOWN, at, probe=token).state is BreakerState.OPEN


def test_probe_that_is_never_heard_of_is_given_up() -> None:
    view, token = probing(failed(FRESH, 5), NOW + seconds(30))
    assert may_call(view, token) == Probe(token + PROBE_GIVEN_UP)
    second, newer = probing(view, token)
    assert after_success(second, probe=token) == second
    assert after_success(second, probe=newer).state is BreakerState.CLOSED


def test_probe_that_is_refused_has_shown_that_the_other_side_is_there() -> None:
    view, token = probing(failed(FRESH, 5), NOW + seconds(30))
    assert after_failure(view, FailureKind.NOT_FOUND, NOW, probe=token).state is BreakerState.CLOSED
    assert after_failure(view, FailureKind.NOT_FOUND, NOW) == view


def test_failure_without_a_probe_once_the_time_is_over_opens_it_again() -> None:
    opened = failed(FRESH, 5)
    again = after_failure(opened, DOWN, NOW + seconds(31))
    assert (again.opened, again.retry_at) == (2, NOW + seconds(91))


kinds = st.sampled_from(list(FailureKind))
events = st.lists(
    st.tuples(
        st.floats(0, 900),  # seconds since the event before
        st.sampled_from(["call", "straggler"]),
        st.one_of(st.none(), kinds),  # None: it worked
        st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)),
    ),
    max_size=60,
)


@given(events)
def test_in_any_order_of_events_the_machine_keeps_its_promises(history: list[tuple]) -> None:
    view, at = FRESH, NOW
    counted_in_a_row = 0
    for gap, what, kind, retry_after in history:
        at += seconds(gap)
        before, token = view, None
        if what == "call":
            allowed = may_call(view, at)
            if isinstance(allowed, Off):
                assert at < allowed.retry_at <= at + LONGEST_RETRY_AFTER
                continue
            if isinstance(allowed, Probe):
                view, token = begin_probe(view, allowed), allowed.until
                assert isinstance(may_call(view, at), Off), "a second probe at the same time"
                assert isinstance(may_call(view, token), Probe), "a probe that is waited for without end"
        view = (
            after_success(view, probe=token)
            if kind is None
            else after_failure(view, kind, at, retry_after, probe=token)
        )
        counted_in_a_row = 0 if kind is None else counted_in_a_row + (kind in COUNTED)
        if token is not None:
            bad = kind is not None and kind in COUNTED
            assert view.state is (BreakerState.OPEN if bad else BreakerState.CLOSED)
        if before.state is BreakerState.CLOSED and view.state is not BreakerState.CLOSED:
            assert view.failures >= OPENS_AFTER
            assert counted_in_a_row >= OPENS_AFTER
        if view.state is BreakerState.CLOSED:
            assert (view.failures < OPENS_AFTER, view.opened, view.retry_at, view.probe_until) == (True, 0, None, None)
        if view.state is BreakerState.OPEN:
            assert view.opened >= 1
            assert view.retry_at is not None
            assert view.retry_at <= at + LONGEST_RETRY_AFTER
