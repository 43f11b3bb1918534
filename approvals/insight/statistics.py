"""The few formulas of this package (pure)."""

from collections.abc import Sequence
from itertools import groupby
from math import ceil, exp, lgamma, log
from statistics import median

CONFIDENCE = 0.95
"""Of every bound that is shown."""

_STEPS = 60
"""Halvings of [0, 1]; after 53 of them a double cannot be told from its neighbour."""


def upper_bound(events: int, trials: int, *, confidence: float = CONFIDENCE) -> float:
    """Return the one-sided upper bound of a share of which ``events`` in ``trials`` were seen, between 0 and 1.

    The bound of C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26 (1934), 404-413: the share p at which so few events have probability 1 - confidence.
    Without any event that is 1 - (1 - confidence) ** (1 / trials). Raises ValueError for counts that cannot be.
    """
    if not 0 <= events <= trials or not 0 < confidence < 1:
        raise ValueError(f"{events} of {trials} is no share, or {confidence} is no confidence")
    if events == trials:
        return 1.0
    if events == 0:
        return float(1 - (1 - confidence) ** (1 / trials))
    low, high = events / trials, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _at_most(events, trials, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(events: int, trials: int, share: float) -> float:
    """Return the binomial probability of at most so many events. Logarithms, as the factorials are beyond a double."""
    if share >= 1:
        return 0.0
    total = 0.0
    for k in range(events + 1):
        ways = lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1)
        total += exp(ways + k * log(share) + (trials - k) * log(1 - share))
    return total


def brier(answers: Sequence[tuple[int, bool]]) -> float:
    """Return how far sureness was from what came out: 0 is perfect, 0.25 is a coin, 1 is surely wrong each time.

    ``answers`` are (per cent of sureness, whether it was right). The score of G. W. Brier, "Verification of forecasts
    expressed in terms of probability", Monthly Weather Review 78 (1950), 1-3, in its form for two outcomes. Raises
    ValueError when there are none.
    """
    if not answers:
        raise ValueError("no answers, no score")
    return sum((percent / 100 - right) ** 2 for percent, right in answers) / len(answers)


def middle_of(values: Sequence[float]) -> float | None:
    """Return the median, None of nothing."""
    return median(values) if values else None


def at_share(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that so large a share of the values does not exceed, None of nothing."""
    if not values:
        return None
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def longest_run(marks: Sequence[bool]) -> int:
    """Return how many true marks stand in a row at most."""
    return max((sum(1 for _ in run) for mark, run in groupby(marks) if mark), default=0)
