"""Texts of others in Markdown, so that they are read as they are and change nothing around them. Pure.

Safe in CommonMark and in GitHub's extensions. Characters that cannot be seen are written by their number.
"""

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote

LONGEST_LINE, LONGEST_CELL, LONGEST_FENCED = 2_000, 300, 8_000

_MARKS = re.compile(r"([\\`*_{}\[\]<>#+\-|!~&=:@^$])")
_NUMBER = re.compile(r"^(\d+)([.)])")
_WWW = re.compile(r"www\.", re.IGNORECASE)
_FENCE = re.compile(r"`+")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def line(text: str, most: int = LONGEST_LINE) -> str:
    """Return a text as one line of running text."""
    return _escaped(clipped(" ".join(seen(text).split()), most))


def cell(text: str) -> str:
    """Return a text as the cell of a table."""
    return line(text, LONGEST_CELL)


def quoted(text: str) -> str:
    """Return a text as a quotation, line by line, empty for a text without words."""
    lines = [" ".join(each.split()) for each in clipped(seen(text), LONGEST_LINE).strip().split("\n")]
    return "" if lines == [""] else "\n".join(f"> {_escaped(each)}".rstrip() for each in _spaced(lines))


def fenced(text: str) -> str:
    """Return a text as a block of code that nothing in it ends."""
    kept = clipped(seen(text), LONGEST_FENCED)
    longest = max((len(run) for run in _FENCE.findall(kept)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}text\n{kept}\n{fence}"


def link(words: str, url: str) -> str:
    """Return a link to one of this program's own pages."""
    return f"[{line(words)}]({quote(url, safe='/:?=#&-._~')})"


def seen(text: str) -> str:
    """Return a text whose unseen characters are written by their number; lines end as they do on Unix."""
    unix = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return "".join(_shown(character) for character in unix)


def clipped(text: str, most: int) -> str:
    """Return at most so many characters of a text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _shown(character: str) -> str:
    unseen = character != "\n" and unicodedata.category(character) in _UNSEEN
    return f"(U+{ord(character):04X})" if unseen else character


def _escaped(text: str) -> str:
    marked = _MARKS.sub(r"\\\1", text)
    return _WWW.sub(lambda found: f"{found[0][:-1]}\\.", _NUMBER.sub(r"\1\\\2", marked))


def _spaced(lines: Iterable[str]) -> Iterable[str]:
    """Yield the lines, with an empty one between two, so that each stays one."""
    for number, each in enumerate(lines):
        if number:
            yield ""
        yield each
