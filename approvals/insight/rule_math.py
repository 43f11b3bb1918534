"""Whether people have answered one question alike so often that it need not be asked (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from approvals.insight.statistics import upper_bound

LEAST = 20
LEAST_PEOPLE = 2

Outcome = Literal["approved", "rejected", "edited", "regretted"]


@dataclass(frozen=True)
class Past:
    """An earlier equal call: the measured value of what would be limited, what it came to, and who approved it."""

    value: int
    outcome: Outcome
    people: frozenset[int]


@dataclass(frozen=True)
class Evidence:
    """So many equal calls with values up to ``most`` were approved by so many people, and none turned out wrong.

    ``bound`` is the share of them that may be wrong all the same, at 95 % confidence.
    """

    calls: int
    people: int
    most: int
    bound: float


def evidence_of(history: Sequence[Past], value: int) -> Evidence | None:
    """Return what equal calls say about one with this ``value``, None when it is too little.

    Values from the smallest on at which somebody said no, mended the call or was sorry tell nothing, and neither does
    a value above the largest that was seen.
    """
    wrong = [past.value for past in history if past.outcome != "approved"]
    below = [past for past in history if past.outcome == "approved" and (not wrong or past.value < min(wrong))]
    people = frozenset().union(*(past.people for past in below))
    if len(below) < LEAST or len(people) < LEAST_PEOPLE:
        return None
    most = max(past.value for past in below)
    if value > most:
        return None
    return Evidence(len(below), len(people), most, upper_bound(len(below)))
