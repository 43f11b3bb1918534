"""Tax is whole minor units, half to even, and comes back to the unit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing_agent.connectors.taxes import half_even, line_tax, refund_tax


@pytest.mark.parametrize(
    ("numerator", "denominator", "whole"),
    [(5, 10, 0), (15, 10, 2), (25, 10, 2), (26, 10, 3), (-5, 10, 0), (-15, 10, -2), (-25, 10, -2), (-26, 10, -3)],
)
def test_of_two_that_are_as_near_the_even_one_is_taken(numerator: int, denominator: int, whole: int) -> None:
    assert half_even(numerator, denominator) == whole


@pytest.mark.parametrize(
    ("amount", "rate", "tax"),
    [
        (10_000, 1900, 1_900),
        (50, 500, 2),
        (30, 500, 2),
        (70, 500, 4),
        (999, 0, 0),
        (1, 10_000, 1),
        (-10_000, 1900, -1_900),
    ],
)
def test_a_line_is_taxed_in_basis_points(amount: int, rate: int, tax: int) -> None:
    assert line_tax(amount, rate) == tax


def test_a_line_and_its_credit_come_to_no_tax() -> None:
    assert [line_tax(amount, 777) + line_tax(-amount, 777) for amount in range(2_000)] == [0] * 2_000


def test_amounts_that_a_float_cannot_hold_are_exact() -> None:
    assert line_tax(2**53 - 1, 1) == 900_719_925_474
    assert half_even(10**30 + 1, 2) == 5 * 10**29


def test_what_was_billed_without_tax_gives_back_none() -> None:
    assert refund_tax(100, refunded_minor=0, tax_minor=0, total_minor=100) == 0


def test_the_second_part_of_a_refund_knows_the_first() -> None:
    # A third of $1.00 with 50 cents of tax is 16.67 cents of tax each time.
    parts = [refund_tax(33, refunded_minor=before, tax_minor=50, total_minor=99) for before in (0, 33, 66)]
    assert parts == [17, 16, 17]


@given(
    parts=st.lists(st.integers(1, 10_000), min_size=1, max_size=12),
    rate=st.integers(0, 10_000),
)
def test_parts_give_back_the_tax_of_the_whole(parts: list[int], rate: int) -> None:
    total, refunded, given_back = sum(parts), 0, 0
    tax = half_even(total * rate, 20_000)
    for part in parts:
        back = refund_tax(part, refunded_minor=refunded, tax_minor=tax, total_minor=total)
        assert 0 <= back <= part
        refunded, given_back = refunded + part, given_back + back
    assert given_back == tax
