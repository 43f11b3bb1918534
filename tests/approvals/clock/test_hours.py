"""Working hours: by examples on the days when clocks change, and against counting minutes one by one."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.clock.hours import Hours, NoBusinessTime, add_business, business_between, is_open, minutes_of
from approvals.clock.week import WeekUnreadable, parse_holidays, parse_week, week_text

VIENNA, NEW_YORK, LORD_HOWE = "Europe/Vienna", "America/New_York", "Australia/Lord_Howe"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def hours(text: str, zone: str = VIENNA, holidays: tuple[str, ...] = ()) -> Hours:
    return Hours.of(zone, parse_week(text), holidays)


def at(text: str, zone: str = VIENNA, *, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


OFFICE = hours("Mon-Fri 09:00-17:00")


@pytest.mark.parametrize(
    ("start", "span", "end"),
    [
        ("2026-11-30T09:00", 4 * HOUR, "2026-11-30T13:00"),
        ("2026-11-30T16:00", 4 * HOUR, "2026-12-01T12:00"),
        ("2026-11-27T16:00", 4 * HOUR, "2026-11-30T12:00"),  # over a weekend
        ("2026-11-28T03:00", 4 * HOUR, "2026-11-30T13:00"),  # from inside one
        ("2026-11-30T09:00", 8 * HOUR, "2026-11-30T17:00"),  # to closing time, not to the next opening
        ("2026-11-30T17:00", MINUTE, "2026-12-01T09:01"),
    ],
)
def test_a_deadline_counts_office_hours(start: str, span: timedelta, end: str) -> None:
    assert add_business(at(start), span, OFFICE) == at(end)


def test_a_holiday_has_no_hours() -> None:
    closed = hours("Mon-Fri 09:00-17:00", holidays=("2026-12-01",))
    assert add_business(at("2026-11-30T16:00"), 4 * HOUR, closed) == at("2026-12-02T12:00")


NIGHT = hours("Mon-Sun 22:00-06:00")


def test_a_night_shift_belongs_to_its_first_day() -> None:
    assert add_business(at("2026-11-30T23:00"), 8 * HOUR, NIGHT) == at("2026-12-01T23:00")
    assert add_business(at("2026-11-30T12:00"), 8 * HOUR, NIGHT) == at("2026-12-01T06:00")


def test_a_night_shift_neither_begins_on_a_holiday_nor_runs_into_one() -> None:
    night = hours("Mon-Sun 22:00-06:00", holidays=("2026-12-01",))
    assert business_between(at("2026-11-30T12:00"), at("2026-12-02T12:00"), night) == 2 * HOUR


@pytest.mark.parametrize(
    ("zone", "day", "gone"),
    [
        (VIENNA, "2026-03-29", 1 * HOUR),  # 02:00 becomes 03:00
        (VIENNA, "2026-10-25", -1 * HOUR),  # 03:00 becomes 02:00
        (NEW_YORK, "2026-03-08", 1 * HOUR),
        (NEW_YORK, "2026-11-01", -1 * HOUR),
        (LORD_HOWE, "2026-10-04", HOUR / 2),  # 02:00 becomes 02:30
        (LORD_HOWE, "2026-04-05", -HOUR / 2),
    ],
)
def test_a_day_on_which_clocks_change_has_the_hours_that_pass(zone: str, day: str, gone: timedelta) -> None:
    always = hours("Mon-Sun 00:00-24:00", zone)
    begin = at(f"{day}T00:00", zone)
    end = at(f"{date.fromisoformat(day) + timedelta(days=1)}T00:00", zone)
    assert business_between(begin, end, always) == 24 * HOUR - gone == end.astimezone(UTC) - begin.astimezone(UTC)
    assert add_business(begin, 12 * HOUR, always) == begin.astimezone(UTC) + 12 * HOUR


def test_hours_inside_the_hour_that_is_left_out_are_none() -> None:
    early = hours("Mon-Sun 02:00-03:00")
    assert business_between(at("2026-03-28T12:00"), at("2026-03-29T12:00"), early) == timedelta()
    assert add_business(at("2026-03-28T12:00"), HOUR, early) == at("2026-03-30T03:00")


def test_the_hour_that_comes_twice_counts_twice() -> None:
    early = hours("Mon-Sun 02:15-02:45")
    assert business_between(at("2026-10-25T00:00"), at("2026-10-25T12:00"), early) == HOUR
    first, second = at("2026-10-25T02:30"), at("2026-10-25T02:30", fold=1)
    assert business_between(first, second, early) == HOUR / 2
    assert add_business(first, HOUR / 2, early) == second.astimezone(UTC)


def test_a_day_that_an_island_left_out() -> None:
    samoa = hours("Mon-Sun 09:00-17:00", "Pacific/Apia")
    begin, end = at("2011-12-29T00:00", "Pacific/Apia"), at("2012-01-01T00:00", "Pacific/Apia")
    assert business_between(begin, end, samoa) == 16 * HOUR  # there was no 30 December


def test_hours_that_hardly_ever_come_are_no_hours() -> None:
    with pytest.raises(NoBusinessTime):
        add_business(at("2026-11-30T09:00"), timedelta(days=30), hours("Mon 09:00-09:01"))


TIMES = st.integers(0, 24 * 12 - 1).map(lambda fives: f"{fives // 12:02}:{fives % 12 * 5:02}")
SPANS = st.tuples(TIMES, TIMES).filter(lambda pair: pair[0] != pair[1])
WEEKS = st.lists(st.lists(SPANS, max_size=3), min_size=7, max_size=7).filter(any)
NEAR_CHANGES = st.sampled_from(
    [
        (VIENNA, datetime(2026, 3, 28, tzinfo=UTC)),
        (VIENNA, datetime(2026, 10, 24, tzinfo=UTC)),
        (NEW_YORK, datetime(2026, 3, 7, tzinfo=UTC)),
        (NEW_YORK, datetime(2026, 10, 31, tzinfo=UTC)),
        (LORD_HOWE, datetime(2026, 4, 4, tzinfo=UTC)),
        (LORD_HOWE, datetime(2026, 10, 3, tzinfo=UTC)),
        ("Asia/Kathmandu", datetime(2026, 6, 1, tzinfo=UTC)),
    ]
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Hours, datetime]:
    """Hours, and a moment within a day of a change of the clock."""
    zone, day = draw(NEAR_CHANGES)
    free = draw(st.lists(st.integers(-1, 3), max_size=2))
    holidays = [(day + timedelta(days=days)).date().isoformat() for days in free]
    return Hours.of(zone, draw(WEEKS), holidays), day + draw(st.integers(0, 36 * 60)) * MINUTE


@given(cases(), st.integers(0, 2 * 24 * 60))
@settings(max_examples=60)
def test_it_agrees_with_counting_minutes(case: tuple[Hours, datetime], minutes: int) -> None:
    week, start = case
    counted = sum(is_open(start + minute * MINUTE, week) for minute in range(minutes))
    assert business_between(start, start + minutes * MINUTE, week) == counted * MINUTE


@given(cases(), st.timedeltas(timedelta(), timedelta(days=3)), st.timedeltas(timedelta(), timedelta(days=3)))
@settings(max_examples=150)
def test_it_is_additive_and_monotone(case: tuple[Hours, datetime], first: timedelta, second: timedelta) -> None:
    week, start = case
    one = add_business(start, first, week)
    both = add_business(start, first + second, week)
    assert start <= one <= both
    assert add_business(one, second, week) == both
    assert business_between(start, both, week) == first + second
    assert business_between(start, one, week) + business_between(one, both, week) == first + second
    assert business_between(both, start, week) == -(first + second)


@given(cases(), st.timedeltas(timedelta(), timedelta(days=2)), st.timedeltas(timedelta(), timedelta(days=2)))
@settings(max_examples=100)
def test_who_starts_later_ends_no_earlier(case: tuple[Hours, datetime], later: timedelta, span: timedelta) -> None:
    week, start = case
    assert add_business(start, span, week) <= add_business(start + later, span, week)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("Mon-Fri 09:00-17:00, 18:00-20:00", "Mon-Fri 09:00-17:00, 18:00-20:00"),
        ("monday – friday 9:00–17:00; Sat 10:00-14:00", "Mon-Fri 09:00-17:00; Sat 10:00-14:00"),
        ("Mon,Wed 09:00-12:00\nTue 10:00-11:00", "Mon 09:00-12:00; Tue 10:00-11:00; Wed 09:00-12:00"),
        ("Fri-Mon 22:00-06:00", "Mon 22:00-06:00; Fri-Sun 22:00-06:00"),
        ("Mon-Sun 00:00-24:00", "Mon-Sun 00:00-24:00"),
        ("Sun 20:00-04:00; Mon 04:00-12:00", "Mon 04:00-12:00; Sun 20:00-04:00"),
    ],
)
def test_a_week_is_read_and_said_back(text: str, again: str) -> None:
    assert week_text(parse_week(text)) == again
    assert parse_week(again) == parse_week(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "whenever",
        "Mon-Fri",
        "09:00-17:00",
        "Mon 9-17",
        "Mon 09:00-25:00",
        "Mon 24:00-06:00",
        "Mon 09:61-10:00",
        "Mon 09:00-09:00",
        "Moonday 09:00-17:00",
        "Mon-Fri 09:00-17:00; Mon 16:00-18:00",
        "Mon,Mon 09:00-10:00",
        "Sun 20:00-04:00; Mon 03:00-12:00",
        "Mon 09:00-17:00, 22:00-10:00; Tue 09:00-17:00",
        "Mon ٠٩:٠٠-١٧:٠٠",
    ],
)
def test_what_is_no_week_is_said_to_be_none(text: str) -> None:
    with pytest.raises(WeekUnreadable):
        parse_week(text)


def test_holidays_are_dates() -> None:
    assert parse_holidays("2026-12-26\n2026-12-25, 2026-12-25") == ["2026-12-25", "2026-12-26"]
    with pytest.raises(WeekUnreadable):
        parse_holidays("25.12.2026")


@pytest.mark.parametrize("pair", [("9:00", "17:00"), ("09:00", "24:01"), ("", "10:00"), ("09:00", "09:00")])
def test_what_is_stored_is_checked_when_read(pair: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="no "):
        minutes_of(*pair)
