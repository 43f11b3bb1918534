"""Hours and holidays as people write them, such as "Mon-Fri 09:00-17:00, 18:00-20:00; Sat 10:00-14:00" (pure)."""

import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from approvals.clock.hours import DAY_MINUTES, minutes_of

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MOST_SPANS = 8
"""Spans of one day."""

Week = list[list[list[str]]]

_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_SPLIT = re.compile(r"[;\n]+")
_LINE = re.compile(r"([a-z][a-z,\s-]*?)\s*(\d.*)", re.ASCII | re.IGNORECASE)
_SPAN = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})", re.ASCII)
_LONG = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class WeekUnreadable(ValueError):
    """A text that says no week. Its message is for the person who typed it."""


def parse_week(text: str) -> Week:
    """Return seven lists, Monday first, of pairs of local times "HH:MM". Raises WeekUnreadable."""
    week: Week = [[] for _ in DAYS]
    for line in filter(None, (part.strip() for part in _SPLIT.split(text.translate(_DASHES)))):
        found = _LINE.fullmatch(line)
        if found is None:
            raise WeekUnreadable(f"“{line[:60]}” is not readable. Write days, then times: Mon-Fri 09:00-17:00.")
        spans = [_span(part) for part in found[2].split(",")]
        for day in _days(found[1]):
            week[day] += spans
    if not any(week):
        raise WeekUnreadable("Name at least one day with times, such as Mon-Fri 09:00-17:00.")
    for day in range(7):
        week[day].sort()
    _check_overlaps(week)
    return week


def _span(text: str) -> list[str]:
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise WeekUnreadable(f"“{text.strip()[:40]}” is no span of time. Write it like 09:00-17:00.")
    pair = [f"{int(found[1]):02}:{found[2]}", f"{int(found[3]):02}:{found[4]}"]
    try:
        minutes_of(*pair)
    except ValueError as error:
        whole = "00:00-24:00 is the whole day."
        raise WeekUnreadable(f"“{text.strip()[:40]}” is no span of time: {whole}") from error
    return pair


def _days(text: str) -> list[int]:
    days: list[int] = []
    for part in text.split(","):
        first, dash, last = (each.strip() for each in part.partition("-"))
        begin = _day(first)
        end = _day(last) if dash else begin
        days += [day % 7 for day in range(begin, end + 1 if end >= begin else end + 8)]
    if len(set(days)) < len(days):
        raise WeekUnreadable(f"“{text.strip()[:40]}” names a day twice.")
    return days


def _day(text: str) -> int:
    name = text.lower()
    for number, long in enumerate(_LONG):
        if len(name) >= 2 and long.startswith(name):
            return number
    raise WeekUnreadable(f"“{text[:20]}” is no day. Write Mon, Tue, Wed, Thu, Fri, Sat or Sun.")


def _check_overlaps(week: Week) -> None:
    for day, spans in enumerate(week):
        if len(spans) > MOST_SPANS:
            raise WeekUnreadable(f"{DAYS[day]} has more than {MOST_SPANS} spans.")
        minutes = [minutes_of(*pair) for pair in spans]
        ends_before = [(-1, end - DAY_MINUTES) for _, end in (minutes_of(*pair) for pair in week[day - 1])]
        in_order = [*((begin, end) for begin, end in ends_before if end > 0), *minutes]
        for (_, end), (begin, _) in pairwise(in_order):
            if begin < end:
                raise WeekUnreadable(f"On {DAYS[day]} two spans overlap.")


def week_text(week: Sequence[Sequence[Sequence[str]]]) -> str:
    """Return a week as ``parse_week`` reads it, days with the same times together."""
    groups: list[tuple[int, int, str]] = []
    for day, spans in enumerate(week):
        times = ", ".join("-".join(pair) for pair in spans)
        if groups and groups[-1][2] == times:
            groups[-1] = (groups[-1][0], day, times)
        else:
            groups.append((day, day, times))
    return "; ".join(f"{_range(first, last)} {times}" for first, last, times in groups if times)


def _range(first: int, last: int) -> str:
    return DAYS[first] if first == last else f"{DAYS[first]}-{DAYS[last]}"


def parse_holidays(text: str, *, most: int = 400) -> list[str]:
    """Return ISO dates in order, each once, from a text with one on a line. Raises WeekUnreadable."""
    days: set[date] = set()
    for part in filter(None, re.split(r"[\s,;]+", text)):
        try:
            days.add(date.fromisoformat(part))
        except ValueError as error:
            raise WeekUnreadable(f"“{part[:20]}” is no date. Write it like 2026-12-25.") from error
    if len(days) > most:
        raise WeekUnreadable(f"At most {most} holidays.")
    return [day.isoformat() for day in sorted(days)]
