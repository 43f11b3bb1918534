"""Two texts line by line, with what differs inside a line, and every blank that differs (pure).

The characters of both texts are in the lines as they were, so that putting the pieces together gives the text back. The
work is bounded: texts that differ too much are shown whole, one after the other, and the reader is told so.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Literal

from agentops.console.lookalikes import lookalikes
from agentops.console.marks import Segment, Text
from agentops.console.reveal import MOST_BREAKS, reveal_line
from approvals.previews.edits import Block, blocks

MOST_LINES = 4_000
MOST_DIFFERENT = 400
MOST_INSIDE = 120
LONGEST_INSIDE = 2_000
LEAST_ALIKE = 0.3
"""Share of a line that must stay for the rest of it to be marked; else the whole line is the change."""

NO_LINE_END = Segment("", True, "no line end")
TOO_DIFFERENT = "These texts differ too much to be compared line by line. Both are shown whole."
ONLY_BLANKS = "Only blanks and line ends differ. Each is named where it stands."
COMPOSED = "Both look the same, but are made of other characters. A program tells them apart."

EMPTY_LINES = "There are {} empty lines in a row. Read what stands below them."

_EMPTY = re.compile(r"\n(?:[^\S\n]*\n)+")
_TOKENS = re.compile(r"\w+|\s|[^\w\s]")
_NOTHING: frozenset[int] = frozenset()
_Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of characters of a line; ``changed``: it is not in the line that stands opposite."""

    text: Text
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line of one side. ``number`` is its place in that side, from 1."""

    kind: Literal["same", "del", "add"]
    number: int
    pieces: tuple[Piece, ...]

    @property
    def sign(self) -> str:
        """The sign in the margin, so that colour is not all that tells the sides apart."""
        return {"same": "", "del": "−", "add": "+"}[self.kind]


@dataclass(frozen=True, slots=True)
class Row:
    """What stands side by side. None: nothing stands opposite."""

    left: Line | None
    right: Line | None


@dataclass(frozen=True, slots=True)
class Diff:
    """The rows, and what has to be said about them."""

    rows: tuple[Row, ...]
    note: str = ""

    @property
    def two_sided(self) -> bool:
        """Whether there is anything to put side by side."""
        return any(row.left for row in self.rows) and any(row.right for row in self.rows)

    @property
    def unified(self) -> list[Line]:
        """The lines in one column: of each run of differences first what goes, then what comes."""
        found: list[Line] = []
        for same, rows in groupby(self.rows, lambda row: row.right is not None and row.right.kind == "same"):
            run = list(rows)
            if not same:
                found += [row.left for row in run if row.left]
            found += [row.right for row in run if row.right]
        return found


def diff(before: str, after: str) -> Diff:
    """Compare two texts."""
    was, now = _lines(before), _lines(after)
    note = _said_of(before, after)
    gap = max(_empty_lines(before), _empty_lines(after))
    found = None
    if max(len(was), len(now)) <= MOST_LINES:
        found = blocks(was, now, most=MOST_DIFFERENT)
    if found is None:
        found = [Block(False, 0, len(was), 0, len(now))]
        note = TOO_DIFFERENT if before and after else note
    ends_differ = bool(before and after) and before.endswith("\n") != after.endswith("\n")
    sides = _Side(was, _marked(was, before), ends_differ), _Side(now, _marked(now, after), ends_differ)
    rows = tuple(_rows(found, *sides, inside=note != TOO_DIFFERENT))
    return Diff(rows, " ".join(filter(None, (note, EMPTY_LINES.format(gap) if gap > MOST_BREAKS else ""))))


def looks_same(before: str, after: str) -> bool:
    """Return whether two texts that differ would look the same in a table."""
    return bool(_said_of(before, after))


def _said_of(before: str, after: str) -> str:
    if before == after or not before or not after:
        return ""
    if before.split() == after.split():
        return ONLY_BLANKS
    return COMPOSED if unicodedata.normalize("NFC", before) == unicodedata.normalize("NFC", after) else ""


def _empty_lines(text: str) -> int:
    return max((gap.group().count("\n") - 1 for gap in _EMPTY.finditer(text)), default=0)


@dataclass(frozen=True, slots=True)
class _Side:
    """``marked`` are the places of lookalikes, by line. One text ends in a line end and the other not: it is said."""

    lines: Sequence[str]
    marked: Mapping[int, frozenset[int]]
    ends_differ: bool


def _marked(lines: Sequence[str], text: str) -> Mapping[int, frozenset[int]]:
    found: dict[int, set[int]] = {}
    starts = list(accumulate(map(len, lines), initial=0))
    for place in lookalikes(text):
        line = bisect_right(starts, place) - 1
        found.setdefault(line, set()).add(place - starts[line])
    return {line: frozenset(places) for line, places in found.items()}


def _lines(text: str) -> list[str]:
    """Return the lines with their ends: only LF ends one, so that nothing else can."""
    return [line for line in re.split("(?<=\n)", text) if line]


def _rows(found: Sequence[Block], was: _Side, now: _Side, *, inside: bool) -> Iterator[Row]:
    for block in found:
        if block.equal:
            for a, c in zip(range(block.a, block.b), range(block.c, block.d), strict=True):
                left = Line("same", a + 1, _pieces(was, a))
                yield Row(left, Line("same", c + 1, left.pieces))
            continue
        for n in range(max(block.b - block.a, block.d - block.c)):
            a, c = block.a + n, block.c + n
            goes, comes = a < block.b, c < block.d
            spans: tuple[_Spans, _Spans] = ((), ())
            if inside and goes and comes:
                spans = _inside(was.lines[a], now.lines[c])
            yield Row(
                Line("del", a + 1, _pieces(was, a, spans[0], marks=True)) if goes else None,
                Line("add", c + 1, _pieces(now, c, spans[1], marks=True)) if comes else None,
            )


def _inside(was: str, now: str) -> tuple[_Spans, _Spans]:
    """Return what of two lines differs, as spans of characters; nothing when that is most of them."""
    if max(len(was), len(now)) > LONGEST_INSIDE:
        return (), ()
    first, second = _TOKENS.findall(was), _TOKENS.findall(now)
    found = blocks(first, second, most=MOST_INSIDE)
    if found is None:
        return (), ()
    same = sum(len(token) for block in found if block.equal for token in first[block.a : block.b])
    if same < LEAST_ALIKE * max(len(was), len(now)):
        return (), ()
    changed = [block for block in found if not block.equal]
    return (
        [_span(first, block.a, block.b) for block in changed],
        [_span(second, block.c, block.d) for block in changed],
    )


def _span(tokens: Sequence[str], begin: int, end: int) -> tuple[int, int]:
    start = sum(map(len, tokens[:begin]))
    return start, start + sum(map(len, tokens[begin:end]))


def _pieces(side: _Side, place: int, spans: _Spans = (), *, marks: bool = False) -> tuple[Piece, ...]:
    """Return a line in pieces. ``marks``: it differs, so that its blanks at the end, and its tabs, are named."""
    line = side.lines[place]
    ended = line.endswith("\n")
    body = line[:-1] if ended else line
    changed = [False] * len(body)
    for begin, end in spans:
        changed[begin : min(end, len(body))] = [True] * (min(end, len(body)) - begin)
    found = list(_runs(body, side.marked.get(place, _NOTHING), changed, marks=marks))
    if marks and not ended and side.ends_differ:
        found.append(Piece((NO_LINE_END,), True))
    return tuple(found)


def _runs(body: str, marked: frozenset[int], changed: Sequence[bool], *, marks: bool) -> Iterator[Piece]:
    ends = len(body.rstrip()) if marks else len(body)
    at = 0
    for segment in reveal_line(body, marked):
        begin, at = at, at + len(segment.text)
        if segment.concealed:
            yield Piece((segment,), any(changed[begin:at]))
            continue
        places = range(begin, at)
        for (differs, blank), run in groupby(
            places, lambda n: (changed[n], _blank(body[n], marks, changed[n], n >= ends))
        ):
            text = "".join(body[n] for n in run)
            yield Piece((Segment(text, bool(blank), _blanks_named(text) if blank else ""),), differs)


def _blank(character: str, marks: bool, changed: bool, at_end: bool) -> str:
    """Return the blank when it has to be named: it differs, ends a line that does, or only looks like a space."""
    if not character.isspace():
        return ""
    return character if changed or at_end or (marks and character != " ") else ""


def _blanks_named(run: str) -> str:
    name = {" ": "space", "\t": "tab"}.get(run[0]) or unicodedata.name(run[0], "blank").lower()
    return name if len(run) == 1 else f"{len(run)} {name}s"
