"""Text from outside made ready to be shown: what a reader would not see is named, nothing is left out. Pure.

Named are control codes, zero-width, filler and bidi characters, variation selectors and tag characters,
letters of another alphabet inside a Latin word, and runs of blanks that push text out of view. A joiner
inside an emoji and the selector that colours one belong to the picture and stay.
"""

import re
import unicodedata
from collections.abc import Iterator

from agentops.console.marks import Segment, Text

MOST_SPACES = 40
MOST_BREAKS = 8

_LINE_BREAKS = re.compile("\r\n?")
_WORDS = re.compile(r"[^\W\d_]+")
_FILLERS = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_LOOKALIKES = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL")
_TAGS = range(0xE0020, 0xE007F)


def reveal(text: str) -> Text:
    """Return ``text`` with every concealed character as a segment of its own. Empty text gives ()."""
    text = _LINE_BREAKS.sub("\n", text)
    if text.isascii() and text.isprintable() and " " * MOST_SPACES not in text:
        return (Segment(text),) if text else ()
    return tuple(_segments(text))


def reveal_cut(text: str, most: int) -> Text:
    """Return at most ``most`` characters of ``text`` on one line, for summaries; a cut is shown by an ellipsis."""
    line = " ".join(text[: 4 * most].split())
    return reveal(line if len(line) <= most and len(text) <= 4 * most else f"{line[:most]}…")


def _segments(text: str) -> Iterator[Segment]:
    foreign = _foreign_letters(text)
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
    if character in " \u00a0\n\t":
        kind, most = ("\n", MOST_BREAKS) if character == "\n" else (" \u00a0\t", MOST_SPACES)
        length = _run(text, place, kind)
        # The run is judged where it begins; what is left of it must not be judged again.
        begins = place == 0 or text[place - 1] not in kind
        return length if begins and length > most else 0
    if ord(character) in _TAGS:
        return next((n for n, c in enumerate(text[place:]) if ord(c) not in _TAGS), len(text) - place)
    if _is_hidden(character) and not _belongs_to_picture(text, place):
        return _run(text, place, character)
    return 1 if place in foreign else 0


def _run(text: str, place: int, kind: str) -> int:
    end = place
    while end < len(text) and text[end] in kind:
        end += 1
    return end - place


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


def _foreign_letters(text: str) -> frozenset[int]:
    """Places of letters that only look Latin, in words that also hold Latin ones."""
    if text.isascii():
        return frozenset()
    places: set[int] = set()
    for word in _WORDS.finditer(text):
        letters = word.group()
        if letters.isascii():
            continue
        names = [unicodedata.name(letter, "") for letter in letters]
        if any(name.startswith("LATIN") for name in names):
            places.update(word.start() + n for n, name in enumerate(names) if name.startswith(_LOOKALIKES))
    return frozenset(places)


def _name(run: str) -> str:
    first = run[0]
    if first in " \u00a0\t":
        return f"{len(run)} blanks"
    if first == "\n":
        return f"{len(run)} line breaks"
    if ord(first) in _TAGS:
        return "hidden tags: " + "".join(chr(ord(c) - 0xE0000) for c in run)
    kind = {"Cn": "unassigned", "Co": "private use", "Cs": "half a pair"}.get(unicodedata.category(first), "control")
    words = f"U+{ord(first):04X} {unicodedata.name(first, kind).lower()}"
    return words if len(run) == 1 else f"{words} × {len(run)}"
