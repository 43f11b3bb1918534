"""The formulas against published values and against themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.insight.statistics import at_share, brier, longest_run, middle_of, upper_bound


def test_upper_bound_without_events_is_the_rule_of_three() -> None:
    assert upper_bound(0, 100) == pytest.approx(0.0295, abs=1e-4)
    assert upper_bound(0, 20) == pytest.approx(0.1391, abs=1e-4)


def test_upper_bound_with_events_is_that_of_the_tables() -> None:
    # One-sided 97.5 % bounds are the upper ends of the two-sided 95 % intervals of Clopper and Pearson.
    assert upper_bound(1, 10, confidence=0.975) == pytest.approx(0.4450, abs=1e-4)
    assert upper_bound(5, 20, confidence=0.975) == pytest.approx(0.4910, abs=1e-4)


@given(st.integers(0, 60), st.integers(1, 400))
def test_upper_bound_lies_above_what_was_seen_and_falls_with_trials(events: int, more: int) -> None:
    trials = events + more
    bound = upper_bound(events, trials)
    assert events / trials < bound <= 1
    assert upper_bound(events, trials + 50) < bound


@pytest.mark.parametrize("counts", [(1, 0), (-1, 5), (6, 5)])
def test_upper_bound_refuses_counts_that_cannot_be(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="is no share"):
        upper_bound(*counts)


def test_brier_of_the_extremes() -> None:
    assert brier([(100, True), (100, True)]) == 0
    assert brier([(50, True), (50, False)]) == 0.25
    assert brier([(100, False)]) == 1
    with pytest.raises(ValueError, match="no score"):
        brier([])


def test_order_statistics() -> None:
    assert (middle_of([]), middle_of([3, 1, 2])) == (None, 2)
    assert (at_share([], 0.9), at_share([5], 0.9), at_share(list(range(1, 11)), 0.9)) == (None, 5, 9)
    assert (longest_run([]), longest_run([True, True, False, True])) == (0, 2)
