"""A text as others may write it: unescaped, and without what only stands between its letters (pure).

Each view knows which characters of the text each of its bytes came from. Views are made of UTF-8 bytes, so that an
escape of one byte and one of a whole character come out alike.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress

MOST_LEVELS = 3
"""How many times a text is unescaped: what was encoded for a page, in an address, inside JSON."""

_ESCAPES = re.compile(
    rb"\\u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})"
    rb"|(?:%|\\x)([0-9a-fA-F]{2})|\\([\"'\\/bfnrt])|&#[xX]([0-9a-fA-F]{1,6});|&#([0-9]{1,7});|&(amp|lt|gt|quot|apos);"
)
_NAMED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}

# Spaces, dashes and characters that nobody sees, as UTF-8.
_UNSEEN = re.compile(
    rb"\xc2[\x80-\xa0\xad]|\xe2\x80[\x80-\x95\xa8-\xaf]|\xe2\x81[\x9f-\xaf]|\xe2\x88\x92|\xe3\x80\x80|\xef\xbb\xbf"
    rb"|\xef\xb8[\x80-\x8f]|\xf3\xa0[\x80-\x87][\x80-\xbf]"
)
_BETWEEN = bytes([*range(0x21), 0x7F]) + b"-+"
_NO_LETTER = bytes(byte for byte in range(256) if not (byte < 128 and chr(byte).isalnum()))
_IS_BETWEEN, _IS_NO_LETTER = frozenset(_BETWEEN), frozenset(_NO_LETTER)


def as_bytes(text: str) -> bytes:
    """Return ``text`` as UTF-8, halves of surrogate pairs included."""
    return text.encode("utf-8", "surrogatepass")


def solid(raw: bytes) -> bytes:
    """Return ``raw`` without spaces, dashes, plus signs and characters that nobody sees."""
    return (raw if raw.isascii() else _UNSEEN.sub(b"", raw)).translate(None, _BETWEEN)


def packed(raw: bytes) -> bytes:
    """Return the ASCII letters and digits of ``raw``."""
    return raw.translate(None, _NO_LETTER)


def levels(raw: bytes, most: int = MOST_LEVELS) -> Iterator[bytes]:
    """Yield ``raw``, and what it is unescaped once, twice, as long as that changes something."""
    yield raw
    for _ in range(most):
        if b"\\" not in raw and b"%" not in raw and b"&" not in raw:
            return
        raw, changed = _ESCAPES.subn(_unescaped, raw)
        if not changed:
            return
        yield raw


def _unescaped(match: re.Match[bytes]) -> bytes:
    unit, byte, letter, code, number, name = match.groups()
    if unit is not None:
        text = bytes.fromhex(unit.replace(b"\\u", b"").decode()).decode("utf-16-be", "surrogatepass")
        return as_bytes(text)
    if byte is not None:
        return bytes.fromhex(byte.decode())
    if letter is not None:
        return _LETTERS.get(letter, letter)
    if name is not None:
        return _NAMED[name]
    point = int(code, 16) if code is not None else int(number)
    return as_bytes(chr(point)) if point <= 0x10FFFF else match.group()


@dataclass(frozen=True)
class View:
    """Bytes, and for each of them the characters ``[start, end)`` of the text that it came from."""

    raw: bytes
    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, text: str) -> "View":
        """Return the text itself."""
        if text.isascii():
            return cls(text.encode(), list(range(len(text))), list(range(1, len(text) + 1)))
        starts = [place for place, char in enumerate(text) for _ in as_bytes(char)]
        return cls(as_bytes(text), starts, [place + 1 for place in starts])

    def unescaped(self) -> "View | None":
        """Return the view unescaped once, None when that changes nothing."""
        if not _ESCAPES.search(self.raw):
            return None
        raw, starts, ends, done = bytearray(), list[int](), list[int](), 0
        for match in _ESCAPES.finditer(self.raw):
            begin, end = match.span()
            new = _unescaped(match)
            raw += self.raw[done:begin] + new
            starts += self.starts[done:begin] + [self.starts[begin]] * len(new)
            ends += self.ends[done:begin] + [self.ends[end - 1]] * len(new)
            done = end
        return View(bytes(raw + self.raw[done:]), starts + self.starts[done:], ends + self.ends[done:])

    def solid(self) -> "View":
        """Return the view as the function ``solid`` does."""
        keep = [byte not in _IS_BETWEEN for byte in self.raw]
        if not self.raw.isascii():
            for match in _UNSEEN.finditer(self.raw):
                keep[match.start() : match.end()] = [False] * (match.end() - match.start())
        return self._only(keep)

    def packed(self) -> "View":
        """Return the view as the function ``packed`` does."""
        return self._only([byte not in _IS_NO_LETTER for byte in self.raw])

    def _only(self, keep: list[bool]) -> "View":
        raw = bytes(compress(self.raw, keep))
        return View(raw, list(compress(self.starts, keep)), list(compress(self.ends, keep)))

    def spans(self, pattern: bytes) -> Iterator[tuple[int, int]]:
        """Yield the characters of the text that ``pattern`` stands for, wherever the view has it, none twice."""
        place = self.raw.find(pattern)
        while place >= 0:
            yield self.starts[place], self.ends[place + len(pattern) - 1]
            place = self.raw.find(pattern, place + len(pattern))
