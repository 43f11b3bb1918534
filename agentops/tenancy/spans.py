"""The time that a report is about, in whole days of the reader's zone."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.http import QueryDict
from django.utils import timezone

PRESETS = (7, 30, 90)
USUAL = 30
MOST_DAYS = 366


@dataclass(frozen=True)
class Span:
    """From the beginning of the day ``first`` to the end of the day ``last``. ``note`` says what was not understood."""

    first: date
    last: date
    begins: datetime
    ends: datetime
    preset: int | None
    note: str = ""

    @property
    def query(self) -> str:
        """The span as the query text of an address."""
        return f"days={self.preset}" if self.preset else f"from={self.first.isoformat()}&to={self.last.isoformat()}"


def read_span(parameters: QueryDict, now: datetime) -> Span:
    """Return the span that an address asks for: ``days`` or ``from`` and ``to``; the last 30 days when it cannot be."""
    today = timezone.localtime(now).date()
    asked_first, asked_last = parameters.get("from", ""), parameters.get("to", "")
    if not asked_first and not asked_last:
        days = parameters.get("days", "")
        known = days.isascii() and days.isdecimal() and len(days) < 4 and int(days) in PRESETS
        note = "" if known or not days else f"There is no such time, so these are the last {USUAL} days."
        return _last(int(days) if known else USUAL, today, note)
    first, last = _date(asked_first), _date(asked_last) if asked_last else today
    if first is None or last is None or first > last:
        return _last(USUAL, today, f"These are no two dates in order, so these are the last {USUAL} days.")
    last = min(last, today)
    if first > last:
        return _last(USUAL, today, f"These days are yet to come, so these are the last {USUAL} days.")
    note = ""
    if (last - first).days >= MOST_DAYS:
        first, note = last - timedelta(days=MOST_DAYS - 1), f"At most {MOST_DAYS} days are counted, so it begins later."
    return _span(first, last, None, note)


def _date(text: str) -> date | None:
    try:
        found = date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
    # The zones of the first and the last years that a date can hold lead out of what a time can hold.
    return found if found is not None and 1970 <= found.year <= 9990 else None


def _last(days: int, today: date, note: str) -> Span:
    return _span(today - timedelta(days=days - 1), today, days, note)


def _span(first: date, last: date, preset: int | None, note: str) -> Span:
    zone = timezone.get_current_timezone()
    begins = datetime.combine(first, time.min, tzinfo=zone)
    ends = datetime.combine(last + timedelta(days=1), time.min, tzinfo=zone)
    return Span(first, last, begins, ends, preset, note)
