"""A bar of counts that stand one after the other (pure)."""

from collections.abc import Iterable, Sequence

WIDTH, GAP = 1_000, 4
"""Of the whole bar, and between two parts of it."""

Bar = tuple[str, int, int]
"""A kind, where its part begins, and how wide it is."""


def bar_of(counts: Iterable[tuple[str, int]], whole: int) -> Sequence[Bar]:
    """Return the parts of a bar that is ``whole`` long, those that count anything. A part is never too thin to see."""
    found, begins = [], 0
    for kind, count in counts:
        ends = begins + count * WIDTH // max(whole, 1)
        if count:
            found.append((kind, begins, max(ends - begins - GAP, 2)))
        begins = ends
    return tuple(found)
