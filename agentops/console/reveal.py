"""Text from outside made ready to be shown: what a reader would not see is named, nothing is left out. Pure.

Named are control codes, zero-width, filler and bidi characters, variation selectors and tag characters, heaps of
combining marks, what passes for another character (``lookalikes``), and runs of blanks that push text out of view. A
joiner inside an emoji and the selector that colours one belong to the picture and stay.
"""

import unicodedata
from collections.abc import Callable, Iterator

from agentops.console.lookalikes import lookalikes
from agentops.console.marks import Segment, Text

MOST_SPACES = 40
MOST_BREAKS = 8
MOST_COMBINED = 3
"""Combining marks on one letter; no writing needs more."""

_BLANKS = " \t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_SPACE = _BLANKS + "\n"
_FILLERS = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_TAGS = range(0xE0020, 0xE007F)


def reveal(text: str) -> Text:
    """Return ``text`` with every concealed character as a segment of its own. Empty text gives ().

    A line may end in CR LF. A carriage return alone is named: on a terminal it writes over what stands before it.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.isprintable() and " " * MOST_SPACES not in text:
        return (Segment(text),) if text else ()
    return tuple(_segments(text, lookalikes(text)))


def reveal_line(line: str, marked: frozenset[int]) -> Text:
    """Return one line of a text. ``marked`` are the places in it that ``lookalikes`` found in the whole text.

    A carriage return is named here also at the end of the line.
    """
    if line.isascii() and line.isprintable() and " " * MOST_SPACES not in line:
        return (Segment(line),) if line else ()
    return tuple(_segments(line, marked))


def reveal_cut(text: str, most: int) -> Text:
    """Return at most ``most`` characters of ``text`` on one line, for summaries; a cut is shown by an ellipsis."""
    line = " ".join(text[: 4 * most].split())
    return reveal(line if len(line) <= most and len(text) <= 4 * most else f"{line[:most]}…")


def _segments(text: str, foreign: frozenset[int]) -> Iterator[Segment]:
    shown, place = "", 0
    while place < len(text):
        length = _concealed_at(text, place, foreign)
        if not length:
            shown += text[place]
            place += 1
            continue
        if shown:
            yield Segment(shown)
            shown = ""
        run = text[place : place + length]
        yield Segment(run, True, _name(run))
        place += length
    if shown:
        yield Segment(shown)


def _concealed_at(text: str, place: int, foreign: frozenset[int]) -> int:
    """Return how many characters from ``place`` on make up one concealed run, 0 when this one is visible."""
    character = text[place]
    if character in _SPACE:
        return _space_at(text, place)
    if ord(character) in _TAGS:
        return _length(text, place, lambda c: ord(c) in _TAGS)
    if _is_hidden(character):
        return 0 if _belongs_to_picture(text, place) else _run(text, place, character)
    if _combines(character):
        begins = place == 0 or not _combines(text[place - 1])
        length = _length(text, place, _combines) if begins else 0
        return length if length > MOST_COMBINED else 0
    return 1 if place in foreign else 0


def _space_at(text: str, place: int) -> int:
    """A run is judged where it begins: first by the lines in all of it, then by the blanks in a row."""
    before = text[place - 1] if place else ""
    if not before or before not in _SPACE:
        length = _run(text, place, _SPACE)
        if text.count("\n", place, place + length) > MOST_BREAKS:
            return length
    if text[place] == "\n" or (before and before in _BLANKS):
        return 0
    length = _run(text, place, _BLANKS)
    return length if length > MOST_SPACES else 0


def _run(text: str, place: int, kind: str) -> int:
    return _length(text, place, kind.__contains__)


def _length(text: str, place: int, belongs: Callable[[str], bool]) -> int:
    end = place
    while end < len(text) and belongs(text[end]):
        end += 1
    return end - place


def _combines(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me") and not _is_hidden(character)


def _is_hidden(character: str) -> bool:
    if character in "\n\t ":
        return False
    return (
        character in _FILLERS
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
        or unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
    )


def _belongs_to_picture(text: str, place: int) -> bool:
    before = text[place - 1] if place else ""
    after = text[place + 1 : place + 2]
    if text[place] == "\ufe0f":
        return bool(before) and unicodedata.category(before) == "So"
    return (
        text[place] == "\u200d"
        and bool(after)
        and unicodedata.category(after) == "So"
        and (before == "\ufe0f" or (bool(before) and unicodedata.category(before) in ("So", "Sk")))
    )


def _name(run: str) -> str:
    first = run[0]
    if first in _SPACE:
        breaks = run.count("\n")
        blanks = [f"{len(run) - breaks} blanks"] if len(run) > breaks else []
        return " and ".join([f"{breaks} line breaks", *blanks]) if breaks else blanks[0]
    if first == "\r":
        return "U+000D carriage return" if len(run) == 1 else f"U+000D carriage return × {len(run)}"
    if _combines(first) and len(run) > MOST_COMBINED:
        return f"{len(run)} combining marks, the first U+{ord(first):04X}"
    if ord(first) in _TAGS:
        return "hidden tags: " + "".join(chr(ord(c) - 0xE0000) for c in run)
    kind = {"Cn": "unassigned", "Co": "private use", "Cs": "half a pair"}.get(unicodedata.category(first), "control")
    words = f"U+{ord(first):04X} {unicodedata.name(first, kind).lower()}"
    return words if len(run) == 1 else f"{words} × {len(run)}"
