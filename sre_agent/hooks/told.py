"""What a sender tells of one alert, and what its labels say (pure). Everything in it may be written by anybody."""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agentops.kernel.canonical import storable

USUAL_PRIORITY = 2
"""Of an alert that does not say how urgent it is."""
_SEVERITIES = {
    "emergency": 0,
    "fatal": 0,
    "page": 0,
    "critical": 1,
    "high": 1,
    "error": 2,
    "major": 2,
    "warning": 3,
    "warn": 3,
    "minor": 3,
    "low": 3,
    "info": 4,
    "none": 4,
}
_PRIORITY = re.compile(r"p([0-4])\Z", re.IGNORECASE | re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}\Z", re.ASCII)
_PRINT = re.compile(r"[\x21-\x7e]{1,128}\Z", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)\Z", re.ASCII)


@dataclass(frozen=True)
class Told:
    """One alert as its sender tells it: it fires since ``began_at``, or it has ended.

    ``ended_at`` None of one that ``is_over``: its sender does not say when. ``goes_on``: whatever began last under the
    fingerprint is meant, also when it began later. ``service`` and ``area`` are empty when nobody knows.
    """

    fingerprint: str
    rule: str
    service: str
    area: str
    words: str
    priority: int
    began_at: datetime
    is_over: bool = False
    ended_at: datetime | None = None
    goes_on: bool = False


def moment_of(value: object) -> datetime | None:
    """Return a moment as RFC 3339 writes it, in UTC and whole microseconds, None for anything else and for year 1.

    Go writes a time that was never set as the first second of year 1.
    """
    if not isinstance(value, str) or not _MOMENT.match(value):
        return None
    try:
        found = datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if found.year > 1 else None


def fingerprint_of(given: object, labels: Mapping[str, str]) -> str:
    """Return what tells an alert from others: what its sender calls it, or a digest of its labels."""
    if isinstance(given, str) and _PRINT.match(given):
        return given
    written = json.dumps(labels, sort_keys=True).encode()
    return f"labels:{hashlib.sha256(written).hexdigest()}"


def service_of(labels: Mapping[str, str], names: Sequence[str], known: Collection[str]) -> str:
    """Return the service that the labels of these names say, empty when none is a name.

    One that is known goes before the others; otherwise the first name decides. Nothing is made of what is cut or odd.
    """
    said = [labels[name] for name in names if _NAME.match(labels.get(name, ""))]
    return next((one for one in said if one in known), said[0] if said else "")


def area_of(labels: Mapping[str, str], names: Sequence[str]) -> str:
    """Return what these labels say that belongs together, empty when they say nothing."""
    return next((labels[name] for name in names if _NAME.match(labels.get(name, ""))), "")


def priority_of(said: str) -> int:
    """Return the priority that a severity or a priority's name stands for, the usual one when it is no known word."""
    word = said.strip()
    found = _PRIORITY.match(word)
    return int(found[1]) if found else _SEVERITIES.get(word.lower(), USUAL_PRIORITY)


def line_of(text: str, most: int) -> str:
    """Return a text from outside on one line, as a column of ``most`` characters can hold it."""
    return storable(" ".join(text[: 4 * most].split()), most=most)[:most]
