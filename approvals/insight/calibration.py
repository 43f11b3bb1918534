"""How well a person's sureness fits what came out (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

from approvals.insight.statistics import brier

LEAST = 5
"""Fewer answers say nothing about anybody, and would tell whose they are."""

BINS = ((50, 60), (60, 70), (70, 80), (80, 90), (90, 101))
SIDE = 200
"""The plot's width and height for 50 to 100 per cent."""


@dataclass(frozen=True)
class Bin:
    """Answers of about the same sureness: how sure on average, and how many of them were right, in per cent."""

    label: str
    answers: int
    right: int
    sure: float
    share: float

    @property
    def x(self) -> float:
        """Where its mark stands in the plot, from the left."""
        return round((self.sure - 50) * SIDE / 50, 1)

    @property
    def y(self) -> float:
        """Where its mark stands in the plot, from the top. Shares run from 0 to 100."""
        return round(SIDE - self.share * SIDE / 100, 1)

    @property
    def radius(self) -> int:
        """The more answers, the larger the mark."""
        return 4 + min(self.answers, 10) // 2

    @property
    def words(self) -> str:
        """What the bin says about itself."""
        gap = self.sure - self.share
        if self.answers < LEAST:
            return "too few to tell"
        if abs(gap) < 10:
            return "about right"
        return "too sure" if gap > 0 else "surer than you said"


@dataclass(frozen=True)
class Calibration:
    """All answers: how many, how many right, the Brier score, and the bins that have any."""

    answers: int
    right: int
    score: float
    bins: Sequence[Bin]

    @property
    def share(self) -> int:
        """The share right, in per cent."""
        return round(self.right * 100 / self.answers)

    @property
    def enough(self) -> bool:
        """Whether the sums may be shown to others and mean anything."""
        return self.answers >= LEAST


def calibration_of(answers: Sequence[tuple[int, bool]]) -> Calibration | None:
    """Return the calibration of answers (sureness in per cent, whether right), None of nothing."""
    if not answers:
        return None
    bins = []
    for low, high in BINS:
        inside = [(sure, right) for sure, right in answers if low <= sure < high]
        if inside:
            right = sum(right for _, right in inside)
            sure = sum(sure for sure, _ in inside) / len(inside)
            label = f"{low} to {min(high - 1, 100)} %"
            bins.append(Bin(label, len(inside), right, sure, right * 100 / len(inside)))
    return Calibration(len(answers), sum(right for _, right in answers), brier(answers), bins)
