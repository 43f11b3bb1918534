"""Dates, times and lengths of time in texts, in the ways in which people write them (pure)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

Day = tuple[int | None, int, int]
"""Year, month, day; the year is None where a text does not say it."""

_MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
_MONTH_OF = {name[:size]: index for index, name in enumerate(_MONTHS, 1) for size in {3, 4, len(name)}}
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_COUNTS = {
    "a": 1.0,
    "an": 1.0,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "five": 5.0,
    "six": 6.0,
    "half an": 0.5,
}
_UNITS = {"m": 1, "h": 60, "d": 1440, "w": 10080}
_TO = r"\s?(?:-|–|to|and|until|till|through|/)\s?(?:the )?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"

_ISO = re.compile(r"(?<![\d.])(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?![\d-])")
_NUMERIC = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?![\d-])")
_DAY_FIRST = re.compile(rf"\b(?:({_DAY}){_TO})?({_DAY})(?: of)?[ -](?:({_MONTH})\b\.?)(?:,? ?-?(\d{{4}})\b)?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\b\.?[ -](?:the )?({_DAY})\b(?:{_TO}({_DAY})\b(?!:))?(?:,? (\d{{4}})\b(?!:))?")
_HALF = r"(?:a\.?m\b\.?|p\.?m\b\.?)"
_CLOCK = re.compile(rf"(?<![\d.:-])(\d{{1,2}}):(\d{{2}})(?::(\d{{2}})(?:\.0+)?)?(?!\d)\s?({_HALF})?")
_HOUR = re.compile(
    rf"(?<![\d.:])(?:(\d{{1,2}})(?:[:.](\d{{2}}))?{_TO})?(\d{{1,2}})(?:\.(\d{{2}}))?\s?(?:({_HALF})|o'clock\b)"
)
_AT = re.compile(r"\b(?:at|from) (\d{1,2})(?![\d:.,%]|\s?(?:[ap]\.?m|o'clock|usd|eur|dollars|euros|per))\b")
_NAMED = re.compile(r"\b(noon|midday|midnight)\b")
_LENGTH = re.compile(
    r"(?<![\d.])(\d{1,4}(?:\.\d{1,2})?|half an|an?|one|two|three|four|five|six)[\s-]?"
    r"(minutes?|mins?|hours?|hrs?|h|days?|weeks?)\b"
)
_PLAIN = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[t ](\d\d):(\d\d)(?::(\d\d)(?:\.0+)?)?(?:z|\+00:00)?)?")
_REST = re.compile(
    r"(?:[\s,.;()t]|z\b|\+00:?00|utc|gmt|\bat\b|\bon\b|\bthe\b|\b(?:mon|tues?|wednes|wed|thurs?|thu|fri|satur|sat|sun)(?:day)?\b)*"
)


@dataclass(frozen=True, slots=True)
class Moments:
    """The days, the times (seconds of the day), the lengths (minutes) of a text, and where they stand in it."""

    days: frozenset[Day] = frozenset()
    times: frozenset[int] = frozenset()
    lengths: frozenset[int] = frozenset()
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class _Found:
    days: set[Day] = field(default_factory=set)
    times: set[int] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)
    spans: list[tuple[int, int]] = field(default_factory=list)


def moments_in(text: str) -> Moments:
    """Return the moments that ``text`` names. What can be read in two ways is there twice."""
    text = text.lower()
    if not any(char.isdigit() for char in text) and not _NAMED.search(text) and not _LENGTH.search(text):
        return Moments()
    found = _Found()
    _days(text, found)
    _times(_blanked(text, found.spans), found)
    for match in _LENGTH.finditer(text):
        amount, unit = match.groups()
        minutes = (_COUNTS.get(amount) or float(amount if amount[0].isdigit() else 0)) * _UNITS[unit[0]]
        found.lengths.add(round(minutes))
        found.spans.append(match.span())
    return Moments(frozenset(found.days), frozenset(found.times), frozenset(found.lengths), tuple(found.spans))


def moment_of(value: str) -> Moments | None:
    """Return a text that is one day, one time of day or both, and nothing else; None for anything else."""
    text = value.strip().lower()
    if not 3 <= len(text) <= 60 or (text.isalpha() and not _NAMED.fullmatch(text)):
        return None
    if match := _PLAIN.fullmatch(text):
        return _plain_moment(match)
    found = moments_in(text)
    if not found.spans or found.lengths or len(found.times) > 1:
        return None
    if len(found.days) > 1 and not _NUMERIC.search(text):
        return None
    return found if _REST.fullmatch(_blanked(text, found.spans)) else None


def _plain_moment(match: re.Match[str]) -> Moments | None:
    year, month, day, *clock = match.groups()
    if not _exists(int(year), int(month), int(day)):
        return None
    hour, minute, second = (int(part or 0) for part in clock)
    if hour > 23 or minute > 59 or second > 59:
        return None
    times = frozenset({hour * 3600 + minute * 60 + second}) if clock[0] else frozenset[int]()
    return Moments(frozenset({(int(year), int(month), int(day))}), times, frozenset(), (match.span(),))


def _blanked(text: str, spans: list[tuple[int, int]] | tuple[tuple[int, int], ...]) -> str:
    pieces, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            pieces += [text[at:start], " " * (end - max(at, start))]
            at = end
    return "".join(pieces) + text[at:]


def _days(text: str, found: _Found) -> None:
    for match in _ISO.finditer(text):
        _add(found, match, [(int(match[1]), int(match[2]), int(match[3]))])
    for match in _NUMERIC.finditer(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        year += 2000 if year < 100 else 0
        readings: list[Day] = [(year, second, first)]
        if match[2] != ".":
            readings.append((year, first, second))
        _add(found, match, readings)
    for match in _DAY_FIRST.finditer(text):
        year_said = int(match[4]) if match[4] else None
        _add(found, match, [(year_said, _MONTH_OF[match[3]], day) for day in _numbers(match[1], match[2])])
    for match in _MONTH_FIRST.finditer(text):
        year_said = int(match[4]) if match[4] else None
        _add(found, match, [(year_said, _MONTH_OF[match[1]], day) for day in _numbers(match[2], match[3])])


def _numbers(*texts: str | None) -> Iterator[int]:
    for text in texts:
        if text:
            yield int(re.sub(r"\D", "", text))


def _add(found: _Found, match: re.Match[str], days: list[Day]) -> None:
    real = [(year, month, day) for year, month, day in days if _exists(year, month, day)]
    if real:
        found.days.update(real)
        found.spans.append(match.span())


def _exists(year: int | None, month: int, day: int) -> bool:
    try:
        date(2024 if year is None else year, month, day)
    except ValueError:
        return False
    return True


def _times(text: str, found: _Found) -> None:
    for match in _CLOCK.finditer(text):
        _clock(found, match, match[1], match[2], match[4], match[3])
    for match in _HOUR.finditer(text):
        _clock(found, match, match[3], match[4], match[5])
        if match[1]:
            _clock(found, match, match[1], match[2], match[5])
    for match in _AT.finditer(text):
        hour = int(match[1])
        if hour < 24:
            found.times |= {hour * 3600, (hour + 12) * 3600} if hour < 12 else {hour * 3600}
            found.spans.append(match.span(1))
    for match in _NAMED.finditer(text):
        found.times.add(0 if match[1] == "midnight" else 12 * 3600)
        found.spans.append(match.span())


def _clock(
    found: _Found, match: re.Match[str], hours: str, minutes: str | None, half: str | None, seconds: str | None = None
) -> None:
    hour, minute, second = int(hours), int(minutes or 0), int(seconds or 0)
    if half and hour <= 12:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    if hour < 24 and minute < 60 and second < 60:
        found.times.add(hour * 3600 + minute * 60 + second)
        found.spans.append(match.span())


def follows(moment: Moments, days: frozenset[Day], times: frozenset[int], lengths: frozenset[int]) -> bool:
    """Return whether the day and the time of ``moment`` are among these, or lie one of the lengths from one of them."""
    # Several days are readings of one ("05/06/2024").
    known = not moment.days or any(has_day(days, day, lengths) for day in moment.days)
    return known and all(has_time(times, time, lengths) for time in moment.times)


def has_day(days: frozenset[Day], day: Day, lengths: frozenset[int] = frozenset()) -> bool:
    """Return whether ``day`` is one of ``days``, or lies one of the ``lengths`` (whole days) after one of them."""
    year, month, number = day
    if day in days or (None, month, number) in days or (year is None and any(other[1:] == day[1:] for other in days)):
        return True
    if year is None:
        return False
    for minutes in lengths:
        if minutes % 1440 == 0 and 0 < minutes <= 1440 * 366:
            before = date(year, month, number) - timedelta(days=minutes // 1440) if year > 1 else None
            if before and ((before.year, before.month, before.day) in days or (None, before.month, before.day) in days):
                return True
    return False


def has_time(times: frozenset[int], time: int, lengths: frozenset[int] = frozenset()) -> bool:
    """Return whether ``time`` is one of ``times``, or lies one of the ``lengths`` after or before one of them."""
    return time in times or any(
        (time - minutes * 60) % 86400 in times or (time + minutes * 60) % 86400 in times
        for minutes in lengths
        if minutes < 1440
    )
