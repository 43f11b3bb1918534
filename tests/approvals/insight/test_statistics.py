"""The formulas against published values and against themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.insight.statistics import brier, longest_run, upper_bound


def test_upper_bound_is_the_rule_of_three() -> None:
    assert upper_bound(100) == pytest.approx(0.0295, abs=1e-4)
    assert upper_bound(20) == pytest.approx(0.1391, abs=1e-4)


@given(st.integers(1, 400))
def test_upper_bound_leaves_one_chance_in_twenty_and_falls_with_trials(trials: int) -> None:
    bound = upper_bound(trials)
    assert (1 - bound) ** trials == pytest.approx(0.05)
    assert upper_bound(trials + 50) < bound


@pytest.mark.parametrize("trials", [0, -1])
def test_upper_bound_refuses_counts_that_cannot_be(trials: int) -> None:
    with pytest.raises(ValueError, match="no bound"):
        upper_bound(trials)


def test_brier_of_the_extremes() -> None:
    assert brier([(100, True), (100, True)]) == 0
    assert brier([(50, True), (50, False)]) == 0.25
    assert brier([(100, False)]) == 1
    with pytest.raises(ValueError, match="no score"):
        brier([])


def test_longest_run() -> None:
    assert (longest_run([]), longest_run([True, True, False, True])) == (0, 2)
