"""Private values that were read, and whether a text holds one of them (pure)."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

from agentops.policy.addresses import MOST_TEXT, readings
from agentops.policy.forms import plain, squeezed, unfolded
from agentops.policy.numbers import number_of, numbers_in
from agentops.policy.traces import Origin, Trace, Where

MOST_PRIVATE = 200_000
"""Characters of private values that are kept. Beyond them no text counts as free of private values."""

_LEAST = 4
_WINDOW = 8
_LONG = 60
_BLOCK = 24
_STRIDE = 16
_WORD = re.compile(r"\w+(?:[.@'-]\w+)*")
_SPELLED = re.compile(r"(?<!\w)(?:\w[\s.,_-]){3,}\w(?!\w)")
_CODES = re.compile(r"(?<!\w)(?=[a-zA-Z_-]*\d)\w[\w-]{4,56}\w(?!\w)")

Known = tuple[str, Origin, Where]
"""A private value in the form in which it is looked for, whose it is, and where it was read."""


class Private:
    """The private leaves. They are put into forms when a text is first looked at."""

    def __init__(self) -> None:
        self.overflowed = False
        self.any = False
        self._size = 0
        self._waiting: list[tuple[Any, Origin, Where]] = []
        # By the first letters, then by length, so that the work does not grow with how many begin alike.
        self._windows: dict[str, dict[int, dict[str, Known]]] = {}
        self._words: dict[str, Known] = {}
        self._numbers: dict[Decimal, Known] = {}

    def add(self, value: Any, origin: Origin, where: Where) -> None:
        """Note one private leaf."""
        if isinstance(value, bool):
            return
        self.any = True
        self._size += len(value) if isinstance(value, str) else _WINDOW
        if self._size > MOST_PRIVATE:
            self.overflowed = True
        else:
            self._waiting.append((value, origin, where))

    def overflow(self) -> None:
        """Note that something was read that is not kept here."""
        self.any = self.overflowed = True

    def within(self, text: str, said: Callable[[str], bool]) -> tuple[Trace, ...]:
        """Return a trace for each private value that ``text`` holds and that was not ``said`` anyway."""
        if not self.any:
            return ()
        if self.overflowed or len(text) > MOST_TEXT:
            return (Trace(Origin.NOWHERE, how="more than can be looked through"),)
        self._prepare()
        found: dict[Where, Trace] = {}
        seen: set[str] = set()
        for how, reading in _readings(text):
            for form, origin, where in self._held(reading):
                if form in seen:
                    continue
                seen.add(form)
                if where not in found and not said(form):
                    found[where] = Trace(origin, where.source, where.document, None, how)
        return tuple(found.values())

    def _prepare(self) -> None:
        for value, origin, where in self._waiting:
            if isinstance(value, str):
                self._text(value, origin, where)
            elif (number := number_of(value)) is not None and abs(number) >= 1000:
                self._numbers.setdefault(number, (str(number), origin, where))
        self._waiting.clear()

    def _text(self, value: str, origin: Origin, where: Where) -> None:
        if len(value.strip()) < _LEAST:
            return
        bare = squeezed(value)
        if len(value) > _LONG:
            for at in range(0, max(1, len(bare) - _BLOCK + 1), _STRIDE):
                self._window(bare[at : at + _BLOCK], origin, where)
            for code in _CODES.findall(value):
                self._text(code, origin, where)
        elif len(bare) >= _WINDOW:
            self._window(bare, origin, where)
        else:
            form = plain(value)
            self._words.setdefault(form, (form, origin, where))

    def _window(self, form: str, origin: Origin, where: Where) -> None:
        if len(form) < _WINDOW:
            return
        for piece in (form, form[::-1]):
            sizes = self._windows.setdefault(piece[:_WINDOW], {})
            sizes.setdefault(len(piece), {}).setdefault(piece, (form, origin, where))

    def _held(self, text: str) -> Iterator[Known]:
        form = squeezed(text) if self._windows else ""
        for at in range(len(form) - _WINDOW + 1):
            sizes = self._windows.get(form[at : at + _WINDOW])
            if sizes:
                places = ((known, form[at : at + size]) for size, known in sizes.items())
                yield from (known[piece] for known, piece in places if piece in known)
        if self._words:
            words = _words(text)
            yield from (known for word, known in self._words.items() if word in words)
        if self._numbers:
            for number in numbers_in(text):
                for value in (number.value, number.value * 100):
                    if value in self._numbers:
                        yield self._numbers[value]


def _readings(text: str) -> Iterator[tuple[str, str]]:
    for index, reading in enumerate(readings(text)):
        yield ("decoded" if index else ""), reading
    if len(text) <= 2_000:
        # What is only turned round is found anyway, see ``_held``.
        yield from ((how, reading) for how, reading in unfolded(text) if how not in ("", "reversed"))


def _words(text: str) -> frozenset[str]:
    """Every one, two or three words of a text that follow each other, forwards and backwards, and words spelled out."""
    form = plain(text)
    words = _WORD.findall(form)
    spelled = [re.sub(r"[\W_]", "", match[0]) for match in _SPELLED.finditer(form)]
    parts = [part for word in words if not word.isalnum() for part in re.split(r"[.@'-]", word)]
    pairs = [" ".join(pair) for pair in pairwise(words)]
    triples = [" ".join(triple) for triple in zip(words, words[1:], words[2:], strict=False)]
    backwards = [word[::-1] for word in words + spelled]
    return frozenset([*words, *spelled, *parts, *pairs, *triples, *backwards])
