"""The forms in which one and the same text may be written, and what they have in common (pure).

Two strengths, for two uses. ``plain`` only undoes what does not change the meaning: case, spaces, quotes, dashes,
wide letters. It decides whether a value is the one that somebody trusted wrote. ``squeezed`` and ``unfolded`` undo what
hides a value as well: look-alike letters, invisible characters, spaces between letters, encodings. They only decide
whether a value stands in a text that is not trusted, so that a look-alike never becomes the real thing.
"""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
"""Characters that are not seen: they join, direct or vary others."""

SIGNS = re.compile("[\u247d-\u2487\u320e-\u321e\u3300-\u33ff\ufdf0-\ufdff]")
"""Signs that stand for whole words, up to 18 letters. They hide nothing but would make a text many times longer."""

_MARKS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´`ʼ", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
    }
)
_QUOTES = " \t\r\n\f\v\"'`‘’‚‛“”„‟«»"
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")

# Letters of other scripts that look like Latin ones, after NFKD and without their accents. Not complete, and need not
# be: it serves only to find a value in a text that is not trusted, and to tell that a value looks like another.
_ALIKE_ROWS = {
    "a": "аɑαΑАⲁ",
    "b": "вЬьƄВΒ",
    "c": "сϲСⅽƈ",
    "d": "ԁɗⅾ",
    "e": "еЕΕєҽεЄ",
    "f": "ғϝ",
    "g": "ɡԍɢց",
    "h": "һНΗհнℎ",
    "j": "јЈյ",
    "k": "кКΚκ",
    "l": "ӏІіɩıΙιɪ|Ⅰ",
    "m": "мМΜⅿ",
    "n": "ոпΝиղη",
    "o": "оОοΟօσ٥۵०",
    "p": "рРρΡ",
    "q": "ԛգ",
    "r": "гɾᴦ",
    "s": "ѕЅʂ",
    "t": "тТΤτ",
    "u": "υцսʋ",
    "v": "ѵνѴⅴ",
    "w": "ԝѡωшԜ",
    "x": "хХχΧ×",
    "y": "уУүγΥ",
    "z": "ᴢΖζʐ",
}
_ALIKE = {
    **{ord(other): latin for latin, others in _ALIKE_ROWS.items() for other in others},
    **{
        ord(other.casefold()): latin
        for latin, others in _ALIKE_ROWS.items()
        for other in others
        if len(other.casefold()) == 1
    },
    ord("0"): "o",
    ord("1"): "l",
    ord("i"): "l",
}
_ASCII_SQUEEZED = {
    code: _ALIKE.get(ord(chr(code).lower()), chr(code).lower()) if chr(code).isalnum() else None for code in range(128)
} | {ord("|"): None}
_STEP = 256
_NOT_WORD = re.compile(r"[\W_]+")


def plain(text: str) -> str:
    """Return ``text`` without what does not change its meaning: case, spaces, kinds of quotes and dashes, width."""
    if text.isascii():
        return " ".join(text.lower().split())
    text = INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(text.translate(_MARKS).casefold().split())


def unquoted(text: str) -> str:
    """Return ``text`` without the quotes and spaces around it."""
    return text.strip(_QUOTES)


class Taken:
    """The characters of a text that are spoken for."""

    __slots__ = ("_marks",)

    def __init__(self, size: int, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._marks = bytearray(size)
        for start, end in spans:
            self.take(start, end)

    def take(self, start: int, end: int) -> None:
        """Mark the characters from ``start`` to ``end``."""
        self._marks[start:end] = b"\1" * len(self._marks[start:end])

    def touches(self, start: int, end: int) -> bool:
        """Return whether any character from ``start`` to ``end`` is marked."""
        return self._marks.find(1, start, end) >= 0


def lowered(text: str) -> str:
    """Return ``text`` with A to Z in lower case and nothing else changed: the form of names that machines compare."""
    return text.translate(_LOWER)


def squeezed(text: str) -> str:
    """Return only the letters and digits of ``text``, in one case, look-alikes and accented letters as plain ones."""
    if text.isascii():
        return text.translate(_ASCII_SQUEEZED)
    text = unicodedata.normalize("NFKD", SIGNS.sub("", text)).casefold().translate(_ALIKE)
    return _NOT_WORD.sub("", text)


def place(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span in ``text`` of the characters ``start`` to ``end`` of its squeezed form."""
    return _before(text, start + 1) - 1, _before(text, end)


def _before(text: str, size: int) -> int:
    """Return how many characters of ``text`` give the first ``size`` of its squeezed form."""
    at = 0
    while at < len(text):
        step = len(squeezed(text[at : at + _STEP]))
        if step >= size:
            break
        size -= step
        at += _STEP
    for index in range(at, min(len(text), at + _STEP)):
        size -= len(squeezed(text[index]))
        if size <= 0:
            return index + 1
    return len(text)


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_HEX = re.compile(r"(?:0x)?(?:[0-9a-fA-F]{2}){4,}")
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")
_ENTITY = re.compile(r"&#?\w{2,31};")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_SPLITTERS = re.compile(r"[\s\"'`.,;:|·•-]+")

MOST_UNFOLDED = 48
"""How many readings of one text are looked at."""


def from_base64(text: str) -> str | None:
    """Return the text that ``text`` is base64 of, in either alphabet, or None."""
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    if len(bare) % 4 == 1:
        return None
    try:
        return _readable(base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None


def from_hex(text: str) -> str | None:
    """Return the text that ``text`` is the hexadecimal bytes of, or None."""
    try:
        return _readable(bytes.fromhex(text.removeprefix("0x")))
    except ValueError:
        return None


def _readable(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) >= 3 and all(char.isprintable() or char.isspace() for char in text) else None


def unescaped(text: str) -> str:
    """Return ``text`` with percent, HTML and backslash escapes undone."""
    if "%" in text and _PERCENT.search(text):
        text = unquote(text, errors="replace")
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    if "\\" in text:
        text = _ESCAPED.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
    return text


def _once(text: str) -> Iterator[tuple[str, str]]:
    """Yield the whole text as one encoding less would have it."""
    bare = text.strip()
    escaped = unescaped(bare)
    if escaped != bare:
        yield "escaped", escaped
    if not bare.isascii():
        narrow = INVISIBLE.sub("", unicodedata.normalize("NFKC", bare))
        if narrow != bare:
            yield "other characters", narrow
    joined = _SPLITTERS.sub("", bare)
    for form in (bare,) if joined == bare else (bare, joined):
        yield from _decoded(form)


def unfolded(text: str, *, depth: int = 3) -> Iterator[tuple[str, str]]:
    """Yield (how, text) for what ``text`` as a whole may be a writing of: itself first, then decoded and reversed.

    At most MOST_UNFOLDED readings, at most ``depth`` encodings deep, fewer for a long text.
    """
    seen = {text}
    layer = [("", text)]
    yield "", text
    for _ in range(depth if len(text) <= 500 else min(depth, 2) if len(text) <= 2_000 else 0):
        deeper: list[tuple[str, str]] = []
        for how, known in layer:
            for name, found in (*_once(known), ("reversed", known[::-1])):
                if found in seen or len(seen) >= MOST_UNFOLDED:
                    continue
                seen.add(found)
                named = f"{name} {how}".strip() if how else name
                deeper.append((named, found))
                yield named, found
        layer = deeper


_PARTING = re.compile(r"[/=_-]+")
_RUN = re.compile(r"[A-Za-z0-9+/_=-]{10,}")


def decoded_runs(text: str, *, depth: int = 2) -> Iterator[tuple[str, str, int, int]]:
    """Yield (how, decoded, start, end) for every encoded run inside ``text``; places are those of the outermost run.

    A text with percent, HTML or backslash escapes is also yielded whole, without them.
    """
    escaped = unescaped(text)
    if escaped != text:
        yield "escaped", escaped, 0, len(text)
        if depth > 1:
            for how, decoded, _, _ in decoded_runs(escaped, depth=depth - 1):
                yield how, decoded, 0, len(text)
    for match in _RUN.finditer(text):
        found = list(_decoded(match[0]))
        if not found:
            found = [pair for piece in _PARTING.split(match[0]) if len(piece) >= 10 for pair in _decoded(piece)]
        for how, decoded in found:
            yield how, decoded, match.start(), match.end()
            if depth > 1:
                for inner, deeper, _, _ in decoded_runs(decoded, depth=depth - 1):
                    yield f"{inner} {how}", deeper, match.start(), match.end()


def _decoded(run: str) -> Iterator[tuple[str, str]]:
    if run.isalpha() and run[1:].islower():
        return  # a word
    if _HEX.fullmatch(run) and (decoded := from_hex(run)) is not None:
        yield "hex", decoded
    if _BASE64.fullmatch(run) and (decoded := from_base64(run)) is not None:
        yield "base64", decoded
