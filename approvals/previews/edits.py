"""The shortest way from one list to another, with bounded work (pure).

E. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986. The work grows with the number of differences, which
is limited, so that no text can be made that keeps a page from being shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """From ``before[a:b]`` to ``after[c:d]``, which are ``equal`` or not. Blocks follow each other without gaps."""

    equal: bool
    a: int
    b: int
    c: int
    d: int


def blocks(before: Sequence[str], after: Sequence[str], *, most: int) -> list[Block] | None:
    """Return the blocks that lead from ``before`` to ``after``; None when more than ``most`` items differ."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    first, second = before[head : len(before) - tail], after[head : len(after) - tail]
    pairs = _pairs(first, second, most)
    if pairs is None:
        return None
    equal = [(n, n) for n in range(head)] + [(head + x, head + y) for x, y in pairs]
    equal += [(len(before) - tail + n, len(after) - tail + n) for n in range(tail)]
    return list(_merged(equal, len(before), len(after)))


def _pairs(before: Sequence[str], after: Sequence[str], most: int) -> list[tuple[int, int]] | None:
    """Return the places of items that stay, in order. ``reach[k]`` is how far one gets on diagonal k."""
    if not before or not after:
        return [] if len(before) + len(after) <= most else None
    reach, steps = {1: 0}, []
    for cost in range(min(most, len(before) + len(after)) + 1):
        steps.append(dict(reach))
        for k in range(-cost, cost + 1, 2):
            down = k == -cost or (k != cost and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            while x < len(before) and x - k < len(after) and before[x] == after[x - k]:
                x += 1
            reach[k] = x
            if x >= len(before) and x - k >= len(after):
                return _walked_back(steps, len(before), len(after))
    return None


def _walked_back(steps: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    found = []
    for cost in range(len(steps) - 1, -1, -1):
        reach, k = steps[cost], x - y
        down = k == -cost or (k != cost and reach[k - 1] < reach[k + 1])
        came_x = reach[k + 1] if down else reach[k - 1]
        came_y = came_x - (k + 1 if down else k - 1)
        while x > came_x and y > came_y and x > 0 and y > 0:
            x, y = x - 1, y - 1
            found.append((x, y))
        x, y = came_x, came_y
    return found[::-1]


def _merged(equal: list[tuple[int, int]], size: int, new_size: int) -> Iterator[Block]:
    a = c = place = 0
    while place < len(equal):
        x, y = equal[place]
        if (a, c) != (x, y):
            yield Block(False, a, x, c, y)
        length = 1
        while place + length < len(equal) and equal[place + length] == (x + length, y + length):
            length += 1
        yield Block(True, x, x + length, y, y + length)
        a, c, place = x + length, y + length, place + length
    if (a, c) != (size, new_size):
        yield Block(False, a, size, c, new_size)
