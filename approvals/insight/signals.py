"""Signs that somebody approves without looking (pure). A sign is a reason to talk, never a verdict about a person.

The reading time is what the size of the shown text takes at 250 words a minute. M. Brysbaert, "How many words do we
read per minute?", Journal of Memory and Language 109 (2019), measured 238 for silent reading of prose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from approvals.insight.statistics import longest_run

WORDS_A_MINUTE = 250
CHARACTERS_A_WORD = 6
FLOOR_MS = 3_000
"""Nobody takes in a request faster, however short it is."""

SHARE_READ = 0.25
"""An approval after less than this share of the reading time counts as fast: many skim, and know the form."""

LEAST = 20
"""With fewer decisions than that nothing is said."""

LEAST_DRILLS = 5


@dataclass(frozen=True)
class Seen:
    """One decision: approved or not, how long the page was open (None: unknown), how much it showed, what came."""

    approved: bool
    dwell_ms: int | None
    characters: int
    long: bool
    regretted: bool

    @property
    def reading_ms(self) -> int:
        """How long reading all of it takes."""
        return max(FLOOR_MS, self.characters * 60_000 // (CHARACTERS_A_WORD * WORDS_A_MINUTE))

    @property
    def fast(self) -> bool:
        """Whether it was approved faster than anybody reads it. An unknown time is not fast."""
        return (
            self.approved and self.dwell_ms is not None and self.dwell_ms < max(FLOOR_MS, self.reading_ms * SHARE_READ)
        )


@dataclass(frozen=True)
class Measures:
    """What one person's decisions come to. Shares are 0 to 1, None where there is nothing to share.

    ``dwell`` is the median of the time that the page was open as a share of the reading time. ``streak`` is the
    longest run of fast approvals.
    """

    decided: int
    timed: int
    approved: float | None
    dwell: float | None
    streak: int
    long: float | None
    drills: int
    drills_failed: float | None
    regretted: float | None


@dataclass(frozen=True)
class Limit:
    """When a measure is a sign: ``at`` is where it begins, ``words`` what it means, ``todo`` what helps."""

    name: str
    at: float
    words: str
    todo: str


LIMITS: tuple[Limit, ...] = (
    Limit(
        "approved",
        0.98,
        "Nearly everything was approved.",
        "Look at ten of them together. If all were right, the rule may ask too much: see what would stop it.",
    ),
    Limit(
        "dwell",
        0.25,
        "Half of the pages were open for less than a quarter of the time that reading them takes.",
        "Ask what is read first and what never matters, and whether the queue is too full.",
    ),
    Limit(
        "streak",
        10,
        "Many approvals in a row were faster than anybody reads.",
        "Turn on drills for the queue, or let requests be served one at a time.",
    ),
    Limit(
        "drills_failed",
        0.4,
        "Many drills were answered wrongly.",
        "Go through the lessons of the drills together.",
    ),
    Limit(
        "regretted",
        0.05,
        "Several approvals turned out to be wrong.",
        "Read those requests again together, and see what the page did not make plain.",
    ),
)
"""One table: change what counts as a sign here."""

_LOWER = frozenset({"dwell"})
"""Measures that are a sign when they are low."""


def measures_of(decisions: Sequence[Seen], *, drills: int, drills_failed: int) -> Measures:
    """Return what decisions, in their order, and answers to drills come to."""
    approvals = [seen for seen in decisions if seen.approved]
    shares = [seen.dwell_ms / seen.reading_ms for seen in decisions if seen.dwell_ms is not None]
    return Measures(
        decided=len(decisions),
        timed=len(shares),
        approved=_share(len(approvals), len(decisions)),
        dwell=median(shares) if len(shares) >= LEAST else None,
        streak=longest_run([seen.fast for seen in decisions]),
        long=_share(sum(seen.long for seen in decisions), len(decisions)),
        drills=drills,
        drills_failed=_share(drills_failed, drills) if drills >= LEAST_DRILLS else None,
        regretted=_share(sum(seen.regretted for seen in approvals), len(approvals)),
    )


def signs_of(measures: Measures) -> list[Limit] | None:
    """Return the limits that are passed, None when there are too few decisions to tell."""
    if measures.decided < LEAST:
        return None
    found = []
    for limit in LIMITS:
        value: float | None = getattr(measures, limit.name)
        if value is not None and (value < limit.at if limit.name in _LOWER else value >= limit.at):
            found.append(limit)
    return found


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
