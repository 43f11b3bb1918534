"""Numbers and amounts as people write them, and one step of arithmetic."""

from decimal import Decimal

import pytest

from agentops.policy.computed import computed
from agentops.policy.numbers import number_of, numbers_in, writings


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,000.50", ["1000.50"]),
        ("1.000,50", ["1000.50"]),
        ("1000.5", ["1000.5"]),
        ("1 000,50", ["1000.50"]),
        ("1'000.50", ["1000.50"]),
        ("1,000", ["1000"]),
        ("1.500", ["1500", "1.500"]),
        ("12,5", ["12.5"]),
        ("1,000,000", ["1000000"]),
        ("-12", ["-12"]),
        ("$1,000.", ["1000"]),
        ("5k", ["5000"]),
        ("2 million", ["2000000"]),
        ("50 cents", ["0.5"]),
        ("twelve dollars", ["12"]),
        ("pay twelve", ["12"]),
        ("v1.2.3 and the 7th", []),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, values: list[str]) -> None:
    assert [number.value for number in numbers_in(text)] == [Decimal(value) for value in values]


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("$12", 2),
        ("12 USD", 2),
        ("USD 12", 2),
        ("12€", 2),
        ("12.00 dollars", 2),
        ("¥1200", 0),
        ("1200 JPY", 0),
        ("12", None),
        ("KWD 1", 3),
        ("MAX 12", None),
    ],
)
def test_money_has_the_digits_of_its_currency(text: str, scale: int | None) -> None:
    assert [number.scale for number in numbers_in(text)] == [scale]


@pytest.mark.parametrize(
    "text",
    [
        "up to $100",
        "at most 100",
        "no more than 100 euros",
        "max 100",
        "a maximum of 100",
        "under 100",
        "not exceeding 100",
        "100 or less",
        "100 at most",
        "<= 100",
        "Up to a total of USD 100",
    ],
)
def test_a_limit_is_seen(text: str) -> None:
    assert [number.bound for number in numbers_in(text)] == [True]


@pytest.mark.parametrize("text", ["pay 100", "100 more", "underneath 100", "topmost 100"])
def test_what_is_no_limit_is_none(text: str) -> None:
    assert [number.bound for number in numbers_in(text)] == [False]


@pytest.mark.parametrize(
    "value", [True, None, float("nan"), float("inf"), 10**30, "x", "12 and 13", "50%", "", [], "9" * 41]
)
def test_what_is_no_one_number_is_none(value: object) -> None:
    assert number_of(value) is None


def test_writings_are_read_as_the_number_or_as_its_cents() -> None:
    assert {"1200", "1,200", "1.200", "12.00", "12,00", "12"} <= writings(Decimal(1200))


@pytest.mark.parametrize(
    ("wanted", "how"),
    [
        ("15", "sum"),
        ("5", "difference"),
        ("20", "product"),
        ("3.33", "equal part"),
        ("1.5", "per cent"),
        ("11.5", "per cent"),
        ("8.5", "per cent"),
        ("10.01", None),
        ("1000", None),
        ("0", None),
    ],
)
def test_one_step_of_arithmetic(wanted: str, how: str | None) -> None:
    numbers = [Decimal(10), Decimal(5)]
    assert computed(Decimal(wanted), numbers, factors=[Decimal(2), Decimal(3)], shares=[Decimal(15)]) == how


def test_the_sum_of_all_is_found() -> None:
    assert computed(Decimal(111), [Decimal(1), Decimal(10), Decimal(100)], factors=(), shares=()) == "sum of all"
