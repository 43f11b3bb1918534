from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from billing_agent.connectors.periods import Period, Split, period_from, split
from tests.billing_agent.subscribers import at

NOVEMBER = Period(at("2026-11-01"), at("2026-12-01"))
VIENNA = ZoneInfo("Europe/Vienna")

moments = st.integers(0, 90 * 366 * 86_400).map(lambda seconds: at("2000-01-01") + timedelta(seconds=seconds))
periods = st.builds(
    lambda start, seconds: Period(start, start + timedelta(seconds=seconds)), moments, st.integers(1, 400 * 86_400)
)
prices = st.integers(0, 10**12)


def ends(start: str, interval: str, anchor: int, count: int) -> list[str]:
    """Return the days on which ``count`` periods end, one after the other."""
    found, moment = [], at(start)
    for _ in range(count):
        moment = period_from(moment, interval, anchor).end
        found.append(moment.date().isoformat())
    return found


@pytest.mark.parametrize(
    ("start", "interval", "anchor", "expected"),
    [
        ("2026-11-15", "month", 15, ["2026-12-15", "2027-01-15"]),
        ("2026-01-31", "month", 31, ["2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"]),
        ("2028-01-31", "month", 31, ["2028-02-29", "2028-03-31"]),
        ("2027-12-30", "month", 30, ["2028-01-30", "2028-02-29", "2028-03-30"]),
        ("2024-02-29", "year", 29, ["2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"]),
        ("2026-02-28", "year", 28, ["2027-02-28", "2028-02-28"]),
        ("2026-12-01", "year", 1, ["2027-12-01"]),
    ],
)
def test_periods_end_on_the_anchor_day_or_the_last_of_a_shorter_month(
    start: str, interval: str, anchor: int, expected: list[str]
) -> None:
    assert ends(start, interval, anchor, len(expected)) == expected


def test_a_period_keeps_the_time_of_day() -> None:
    assert period_from(at("2026-01-31T17:45"), "month", 31) == Period(at("2026-01-31T17:45"), at("2026-02-28T17:45"))


def test_a_period_is_counted_in_utc_whatever_the_clock_on_the_wall_did() -> None:
    # On 2026-10-25 the clocks of Vienna went back by an hour.
    begun = datetime(2026, 10, 1, 2, tzinfo=VIENNA)
    assert period_from(begun, "month", 1) == Period(at("2026-10-01"), at("2026-11-01"))
    wall = Period(datetime(2026, 10, 25, 0, tzinfo=VIENNA), datetime(2026, 10, 26, 0, tzinfo=VIENNA))
    assert wall.seconds == 25 * 3_600
    assert wall.seconds_left(datetime(2026, 10, 25, 12, tzinfo=VIENNA)) == 12 * 3_600


@pytest.mark.parametrize(("interval", "anchor"), [("week", 1), ("", 1), ("month", 0), ("year", 32)])
def test_another_interval_or_anchor_is_refused(interval: str, anchor: int) -> None:
    with pytest.raises(ValueError, match=r"interval|anchor"):
        period_from(at("2026-11-01"), interval, anchor)


def test_a_moment_without_a_zone_is_refused() -> None:
    naive = at("2026-11-01").replace(tzinfo=None)
    for attempt in (
        lambda: period_from(naive, "month", 1),
        lambda: Period(naive, naive + timedelta(days=1)),
        lambda: NOVEMBER.seconds_left(naive),
    ):
        with pytest.raises(ValueError, match="zone"):
            attempt()


@pytest.mark.parametrize("length", [0, -1])
def test_a_period_has_a_length(length: int) -> None:
    with pytest.raises(ValueError, match="length"):
        Period(at("2026-11-01"), at("2026-11-01") + timedelta(seconds=length))


@pytest.mark.parametrize(
    ("price", "moment", "expected"),
    [
        (3_000, "2026-11-01", Split(0, 3_000)),
        (3_000, "2026-10-01", Split(0, 3_000)),
        (3_000, "2026-11-16", Split(1_500, 1_500)),
        (3_000, "2026-12-01", Split(3_000, 0)),
        (3_000, "2027-12-01", Split(3_000, 0)),
        # One of two halves is rounded to the even number, so 0.5 becomes nothing and 1.5 becomes 2.
        (1, "2026-11-16", Split(1, 0)),
        (3, "2026-11-16", Split(1, 2)),
        (0, "2026-11-16", Split(0, 0)),
    ],
)
def test_a_price_is_split_by_the_second(price: int, moment: str, expected: Split) -> None:
    assert split(price, NOVEMBER, at(moment)) == expected


def test_one_second_is_one_unit_of_a_price_that_has_as_many() -> None:
    assert split(NOVEMBER.seconds, NOVEMBER, at("2026-11-01") + timedelta(seconds=1)) == Split(1, NOVEMBER.seconds - 1)


def test_a_negative_price_is_refused() -> None:
    with pytest.raises(ValueError, match="price"):
        split(-1, NOVEMBER, at("2026-11-16"))


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-11-16T09:30", "2026-11-16T00:00"),
        ("2026-11-16T23:59", "2026-11-16T00:00"),
        ("2026-10-20T09:30", "2026-11-01T00:00"),
        ("2026-12-20T09:30", "2026-12-01T00:00"),
    ],
)
def test_a_change_counts_from_the_beginning_of_the_day_within_the_period(now: str, expected: str) -> None:
    assert NOVEMBER.counted_from(at(now)) == at(expected)


def test_a_change_on_the_first_day_counts_from_the_beginning_of_the_period() -> None:
    period = Period(at("2026-11-01T10:00"), at("2026-12-01T10:00"))
    assert period.counted_from(at("2026-11-01T18:00")) == period.start


@settings(max_examples=150)
@given(prices, periods, moments)
def test_both_parts_come_to_the_price_and_neither_is_outside_of_it(
    price: int, period: Period, moment: datetime
) -> None:
    parts = split(price, period, moment)
    assert parts.used_minor + parts.unused_minor == price
    assert 0 <= parts.unused_minor <= price


@settings(max_examples=150)
@given(prices, periods, moments, st.integers(0, 500 * 86_400))
def test_later_never_leaves_more(price: int, period: Period, moment: datetime, seconds: int) -> None:
    later = moment + timedelta(seconds=seconds)
    assert split(price, period, later).unused_minor <= split(price, period, moment).unused_minor


@settings(max_examples=150)
@given(prices, st.integers(0, 10**9), periods, moments)
def test_a_higher_price_never_leaves_less(price: int, more: int, period: Period, moment: datetime) -> None:
    assert split(price, period, moment).unused_minor <= split(price + more, period, moment).unused_minor


@settings(max_examples=150)
@given(moments, st.sampled_from(["month", "year"]), st.integers(1, 31))
def test_the_next_period_begins_where_the_last_one_ended_and_ends_in_the_next_month(
    start: datetime, interval: str, anchor: int
) -> None:
    period = period_from(start, interval, anchor)
    months = (period.end.year - start.year) * 12 + period.end.month - start.month
    assert months == (12 if interval == "year" else 1)
    assert period.end.day == anchor or (period.end + timedelta(days=1)).month != period.end.month
    assert period.end.timetz() == start.timetz()
