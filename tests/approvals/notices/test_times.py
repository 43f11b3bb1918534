"""When people are told, on their own clocks, with every minute of a year's changes looked at."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from approvals.notices.times import Habits, due_at, is_quiet, quiet_end, wait_after

ZONES = ("UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca")
VIENNA = ZoneInfo("Europe/Vienna")
FAR = datetime(2030, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def nights(begins: str, ends: str, zone: ZoneInfo = VIENNA, digest: int = 0) -> Habits:
    return Habits(zone, time.fromisoformat(begins), time.fromisoformat(ends), timedelta(minutes=digest))


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("2026-11-30 11:00", "2026-11-30 11:00"),  # noon
        ("2026-11-30 21:30", "2026-12-01 06:00"),  # 22:30, until 7
        ("2026-11-30 23:30", "2026-12-01 06:00"),  # after midnight
        ("2026-12-01 06:00", "2026-12-01 06:00"),  # the end belongs to the day
        ("2026-03-28 22:00", "2026-03-29 05:00"),  # the clock is set forward in that night
        ("2026-10-24 21:00", "2026-10-25 06:00"),  # and back
    ],
)
def test_quiet_hours_end_when_the_own_clock_says_so(now: str, due: str) -> None:
    assert due_at(at(now), nights("22:00", "07:00"), urgent=False, until=FAR) == at(due)


def test_time_that_the_clock_jumps_over_ends_with_the_jump() -> None:
    assert quiet_end(at("2026-03-29 00:30"), nights("22:00", "02:30")) == at("2026-03-29 01:00")


def test_time_that_comes_twice_ends_each_time() -> None:
    habits = nights("22:00", "02:30")
    assert quiet_end(at("2026-10-24 23:00"), habits) == at("2026-10-25 00:30")
    assert quiet_end(at("2026-10-25 01:10"), habits) == at("2026-10-25 01:30")


def test_urgent_waits_for_nothing() -> None:
    now = at("2026-11-30 23:00")
    assert due_at(now, nights("22:00", "07:00", digest=60), urgent=True, until=FAR) == now


def test_digest_gathers_what_comes_in_one_stretch() -> None:
    habits = nights("22:00", "07:00", digest=30)
    times = ["2026-11-30 11:00:01", "2026-11-30 11:10", "2026-11-30 11:30"]
    assert {due_at(at(now), habits, urgent=False, until=FAR) for now in times} == {at("2026-11-30 11:30")}
    assert due_at(at("2026-11-30 20:50"), habits, urgent=False, until=FAR) == at("2026-12-01 06:00")


def test_digest_leaves_time_to_decide() -> None:
    now = at("2026-11-30 11:01")
    due = due_at(now, nights("22:00", "07:00", digest=240), urgent=False, until=now + timedelta(minutes=40))
    assert due == now + timedelta(minutes=10)


def test_same_time_twice_is_no_quiet_time() -> None:
    assert not is_quiet(at("2026-11-30 11:00"), nights("12:00", "12:00"))


@given(
    zone=st.sampled_from(ZONES),
    now=st.integers(0, 525_000).map(lambda minutes: at("2026-01-01") + minutes * MINUTE),
    begins=st.times(),
    ends=st.times(),
)
def test_quiet_end_is_the_first_minute_outside(zone: str, now: datetime, begins: time, ends: time) -> None:
    begins, ends = begins.replace(second=0, microsecond=0), ends.replace(second=0, microsecond=0)
    habits = Habits(ZoneInfo(zone), begins, ends)
    expected = now
    while is_quiet(expected, habits):
        expected += MINUTE
    assert quiet_end(now, habits) == expected


@given(
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(["2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01"]),
    minute=st.integers(-600, 1500),
    begins=st.integers(0, 23),
    ends=st.sampled_from([time(1, 30), time(1, 45), time(2), time(2, 15), time(2, 30), time(3), time(3, 10)]),
)
@example(zone="Europe/Vienna", day="2026-03-29", minute=0, begins=3, ends=time(2))
@example(zone="Europe/Vienna", day="2026-03-28", minute=600, begins=3, ends=time(2))
def test_quiet_end_on_days_on_which_clocks_are_set(zone: str, day: str, minute: int, begins: int, ends: time) -> None:
    now = at(day) + minute * MINUTE
    habits = Habits(ZoneInfo(zone), time(begins), ends)
    expected = now
    while is_quiet(expected, habits):
        expected += MINUTE
    assert quiet_end(now, habits) == expected


@given(attempts=st.integers(1, 20), jitter=st.floats(0, 1, exclude_max=True))
def test_wait_grows_and_stays_bounded(attempts: int, jitter: float) -> None:
    wait = wait_after(attempts, jitter=jitter).total_seconds()
    assert 0.8 * min(15 * 2 ** (attempts - 1), 3600) <= wait <= 1.2 * 3600
