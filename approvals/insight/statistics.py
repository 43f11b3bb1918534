"""The few formulas of this package (pure)."""

from collections.abc import Sequence
from itertools import groupby

CONFIDENCE = 0.95
"""Of every bound that is shown."""


def upper_bound(trials: int) -> float:
    """Return the one-sided upper bound of a share of which none was seen in so many trials, between 0 and 1.

    The bound of C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26 (1934), 404-413: the share p at which seeing none has probability 1 - CONFIDENCE,
    so that (1 - p) ** trials = 1 - CONFIDENCE. Raises ValueError when there were no trials.
    """
    if trials < 1:
        raise ValueError("no trials, no bound")
    return float(1 - (1 - CONFIDENCE) ** (1 / trials))


def brier(answers: Sequence[tuple[int, bool]]) -> float:
    """Return how far sureness was from what came out: 0 is perfect, 0.25 is a coin, 1 is surely wrong each time.

    ``answers`` are (per cent of sureness, whether it was right). The score of G. W. Brier, "Verification of forecasts
    expressed in terms of probability", Monthly Weather Review 78 (1950), 1-3, in its form for two outcomes. Raises
    ValueError when there are none.
    """
    if not answers:
        raise ValueError("no answers, no score")
    return sum((percent / 100 - right) ** 2 for percent, right in answers) / len(answers)


def longest_run(marks: Sequence[bool]) -> int:
    """Return how many true marks stand in a row at most."""
    return max((sum(1 for _ in run) for mark, run in groupby(marks) if mark), default=0)
