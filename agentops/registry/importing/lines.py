"""Reading a byte stream line by line in constant memory (pure)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MOST_LINE_BYTES = 1024 * 1024
_CHUNK = 64 * 1024


@dataclass(frozen=True)
class Line:
    """A line with its end. Of a longer one than MOST_LINE_BYTES only the beginning is kept (``cut``).

    ``quotes`` counts the double quotes in what was dropped.
    """

    number: int
    raw: bytes
    cut: bool = False
    quotes: int = 0


def lines_of(stream: BinaryIO, *, most: int = MOST_LINE_BYTES) -> Iterator[Line]:
    """Yield the lines of ``stream``, numbered from 1, without a byte order mark."""
    number = 0
    while raw := stream.readline(most):
        number += 1
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if len(raw) < most or raw.endswith(b"\n"):
            yield Line(number, raw)
            continue
        quotes = 0
        cut = False
        while rest := stream.readline(_CHUNK):
            cut = True
            quotes += rest.count(b'"')
            if rest.endswith(b"\n"):
                break
        yield Line(number, raw, cut, quotes)


def text_of(raw: bytes) -> str:
    """Return bytes as text; what is not UTF-8 becomes half surrogate pairs, which the row's checks refuse."""
    return raw.decode("utf-8", "surrogateescape")
