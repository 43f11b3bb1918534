"""Dates, times and lengths of time as people write them."""

import pytest

from agentops.policy.moments import moment_of, moments_in


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-15",
        "2024/05/15",
        "15.05.2024",
        "15/05/2024",
        "05/15/2024",
        "May 15, 2024",
        "May 15th 2024",
        "15 May 2024",
        "15th of May, 2024",
        "the 15th of may 2024",
        "15-May-2024",
        "Wednesday, 15 May 2024",
        "15.5.24",
    ],
)
def test_days_are_read_as_people_write_them(text: str) -> None:
    moment = moment_of(text)
    assert moment is not None
    assert (2024, 5, 15) in moment.days


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10:00", 36_000),
        ("10 AM", 36_000),
        ("10am", 36_000),
        ("10 a.m.", 36_000),
        ("10 PM", 79_200),
        ("12 am", 0),
        ("12 pm", 43_200),
        ("noon", 43_200),
        ("midnight", 0),
        ("10.30 pm", 81_000),
        ("10:30:15", 37_815),
        ("10 o'clock", 36_000),
    ],
)
def test_times_are_read_as_people_write_them(text: str, seconds: int) -> None:
    assert moments_in(text).times == {seconds}


def test_ranges_and_lengths_are_read() -> None:
    found = moments_in("From May 10th to 12th, 2024, 9-11 am, for 90 minutes or half an hour, then 2 weeks")
    assert found.days == {(2024, 5, 10), (2024, 5, 12)}
    assert found.times == {9 * 3600, 11 * 3600}
    assert found.lengths == {90, 30, 2 * 7 * 1440}


@pytest.mark.parametrize(
    "text",
    [
        "2024-13-45",
        "May 40",
        "25:99",
        "2024-05-15 and other words",
        "2024-05-15 25:00",
        "2024-05-15T10:00:00+09:00",
        "for 2 hours",
    ],
)
def test_what_is_no_one_moment_is_none(text: str) -> None:
    assert moment_of(text) is None
