"""Text by somebody outside, and whether a value comes from it, in whatever form it hides there (pure).

What is found here is never trusted, so that a search may be generous: it only tells a person from where a value is.
"""

import re
from bisect import bisect_right
from decimal import Decimal
from typing import Any, NamedTuple

from agentops.policy.forms import decoded_runs, place, plain, squeezed, unfolded
from agentops.policy.moments import Moments, has_day, has_time, moment_of, moments_in
from agentops.policy.numbers import number_of, writings
from agentops.policy.traces import NOWHERE, Origin, Trace, Where

MOST_FOREIGN = 200_000
"""Characters that are kept for searching. Beyond them every value that is found nowhere counts as untrusted."""

MOST_DECODED = 200_000
"""Characters that encoded runs in those texts may give. Beyond them likewise."""

MOST_TIMED = 40_000
"""Characters of them that are looked through for dates and times. Beyond them likewise for these."""

_UNFOUND = Trace(Origin.UNTRUSTED, how="not found in what was kept")
_SHORT = 4
_PIECE = 4
_MOST_PIECED = 200
_SPELLED = re.compile(r"[\s(\[]+(?:at|dot|punkt)[\s)\]]+", re.I)


class _Text(NamedTuple):
    text: str
    origin: Origin
    where: Where
    span: tuple[int, int] | None = None  # of the run that this was decoded from
    how: str = ""


_Found = tuple[_Text, tuple[int, int]]
"""A text, and where in it something stands."""


class _Haystack:
    """Squeezed texts, one after another, so that one search looks through all of them."""

    def __init__(self) -> None:
        self._joined = ""
        self._starts: list[int] = []
        self._texts: list[_Text] = []

    def extend(self, texts: list[tuple[str, _Text]]) -> None:
        pieces = [self._joined]
        at = len(self._joined)
        for form, text in texts:
            if form:
                self._starts.append(at)
                self._texts.append(text)
                pieces.append(form + "\n")
                at += len(form) + 1
        self._joined = "".join(pieces)

    def find(self, needle: str) -> _Found | None:
        at = self._joined.find(needle)
        if at < 0:
            return None
        index = bisect_right(self._starts, at) - 1
        text, at = self._texts[index], at - self._starts[index]
        return text, place(text.text, at, at + len(needle))

    def __contains__(self, needle: str) -> bool:
        return needle in self._joined


class Foreign:
    """The texts of THIRD and UNTRUSTED leaves. They are kept as they are, and put into forms when one is searched."""

    def __init__(self) -> None:
        self.overflowed = False
        self._size = 0
        self._decoded = 0
        self._waiting: list[_Text] = []
        self._texts: list[_Text] = []
        self._squeezed = {Origin.UNTRUSTED: _Haystack(), Origin.THIRD: _Haystack()}
        self._moments: list[tuple[Moments, _Text]] = []
        self._timed = 0
        self._timing = MOST_TIMED

    def add(self, text: str, origin: Origin, where: Where) -> None:
        """Note one text. ``origin`` is THIRD or UNTRUSTED."""
        room = MOST_FOREIGN - self._size
        if len(text) > room:
            self.overflowed = True
            text = text[:room]
        if text:
            self._size += len(text)
            self._waiting.append(_Text(text, origin, where))

    def overflow(self) -> None:
        """Note that something was read that is not kept here."""
        self.overflowed = True

    def trace(self, value: Any) -> Trace:
        """Return where the value stands: UNTRUSTED before THIRD, else NOWHERE, or UNTRUSTED beyond the bound."""
        if not self._waiting and not self._texts:
            return self._missing()
        self._prepare()
        for origin in (Origin.UNTRUSTED, Origin.THIRD):
            found = self._search(value, self._squeezed[origin], origin)
            if found is not None:
                return found
        return self._moment(value) or self._missing()

    def _missing(self) -> Trace:
        return _UNFOUND if self.overflowed else NOWHERE

    def _prepare(self) -> None:
        if not self._waiting:
            return
        forms: dict[Origin, list[tuple[str, _Text]]] = {Origin.UNTRUSTED: [], Origin.THIRD: []}
        for text in self._waiting:
            for reading in (text, *self._readings(text)):
                forms[text.origin].append((squeezed(reading.text), reading))
                self._texts.append(reading)
        for origin, found in forms.items():
            self._squeezed[origin].extend(found)
        self._waiting.clear()

    def _readings(self, text: _Text) -> list[_Text]:
        found = []
        for how, decoded, start, end in decoded_runs(text.text):
            self._decoded += len(decoded)
            if self._decoded > MOST_DECODED:
                self.overflowed = True
                break
            found.append(_Text(decoded, text.origin, text.where, (start, end), how))
        if " at " in text.text and (spelled := _SPELLED.sub("", text.text)) != text.text:
            found.append(_Text(spelled, text.origin, text.where, (0, len(text.text)), "spelled out"))
        return found

    def _search(self, value: Any, haystack: _Haystack, origin: Origin) -> Trace | None:
        number = number_of(value)
        if number is not None and (not isinstance(value, str) or len(value) <= 12):
            return self._number(number, origin)
        text = str(value)
        for how, reading in unfolded(text):
            needle = squeezed(reading)
            if len(needle) < _SHORT:
                found = self._word([plain(reading)], origin) if not how else None
            else:
                found = haystack.find(needle)
            if found is not None:
                return _trace(*found, how)
        return self._pieced(squeezed(text), haystack)

    def _number(self, number: Decimal, origin: Origin) -> Trace | None:
        found = self._word(sorted(writings(number), key=len, reverse=True), origin)
        return _trace(*found, "") if found else None

    def _word(self, words: list[str], origin: Origin) -> _Found | None:
        """Find one of some words that are too short, or too numeric, to be found within others."""
        for text in self._texts:
            lower = text.text.lower() if text.origin is origin else ""
            for word in words:
                if word and word in lower and (match := _alone(word).search(lower)):
                    return text, match.span()
        return None

    def _pieced(self, needle: str, haystack: _Haystack) -> Trace | None:
        """Pieces of at least four letters, each of which stands there, one after another."""
        if not 2 * _PIECE <= len(needle) <= _MOST_PIECED:
            return None
        at = 0
        while at < len(needle):
            size = min(_PIECE, len(needle) - at)
            if needle[at : at + size] not in haystack:
                return None
            while at + size < len(needle) and needle[at : at + size + 1] in haystack:
                size += 1
            # What is left may be too short to mean anything: then it is taken together with its neighbour.
            at += size
        first = haystack.find(needle[:_PIECE])
        return _trace(*first, "joined from pieces") if first else None

    def _moment(self, value: Any) -> Trace | None:
        moment = moment_of(value) if isinstance(value, str) else None
        if moment is None:
            return None
        for text in self._texts[self._timed :]:
            self._timing -= len(text.text)
            found = moments_in(text.text) if self._timing >= 0 else Moments()
            if found.spans:
                self._moments.append((found, text))
        self._timed = len(self._texts)
        for found, text in self._moments:
            days = not moment.days or any(has_day(found.days, day) for day in moment.days)
            if days and all(has_time(found.times, time, found.lengths) for time in moment.times):
                return Trace(text.origin, text.where.source, text.where.document, found.spans[0], "date")
        return _UNFOUND if self._timing < 0 else None


def _alone(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.,]){re.escape(word)}(?!\w|[.,]\d)")


def _trace(text: _Text, span: tuple[int, int], how: str) -> Trace:
    form = " ".join(word for word in (how, text.how) if word)
    return Trace(text.origin, text.where.source, text.where.document, text.span or span, form)
