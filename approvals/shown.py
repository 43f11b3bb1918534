"""The signed moment at which a person was shown a request's page.

The form carries it, so that the time from showing to deciding is measured without trusting the browser, and what
somebody typed can be kept when their login has run out meanwhile. It proves nothing else and allows no decision.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.core import signing

SALT = "approvals.shown"
LONGEST = timedelta(hours=24)
_LONGEST_TEXT = 300


@dataclass(frozen=True)
class Shown:
    """Which request was shown to whom, and when."""

    request_id: UUID
    person_id: int
    at: datetime


def seal(*, request_id: UUID, person_id: int, at: datetime) -> str:
    """Return the text that the form carries."""
    return signing.dumps([request_id.hex, person_id, round(at.timestamp() * 1000)], salt=SALT)


def opened(text: str) -> Shown | None:
    """Return what a form carried, None when it was not made by ``seal``."""
    if len(text) > _LONGEST_TEXT:
        return None
    try:
        request_id, person_id, at = signing.loads(text, salt=SALT)
    except signing.BadSignature:
        return None
    return Shown(UUID(request_id), int(person_id), datetime.fromtimestamp(at / 1000, UTC))


def seen_by(text: str, *, request_id: UUID, person_id: int) -> Shown | None:
    """Return what a form carried if it is about this request and this person."""
    found = opened(text)
    return found if found and (found.request_id, found.person_id) == (request_id, person_id) else None


def again(text: str, *, request_id: UUID, person_id: int, now: datetime) -> str:
    """Return the text for a form that is shown ``now``: its own when it comes back to whom it was shown, else anew."""
    if seen_by(text, request_id=request_id, person_id=person_id):
        return text
    return seal(request_id=request_id, person_id=person_id, at=now)


def dwell_ms(text: str, *, request_id: UUID, person_id: int, now: datetime) -> int | None:
    """Return how long the person had the page before ``now``, a day at most. None for a text that is not theirs."""
    found = seen_by(text, request_id=request_id, person_id=person_id)
    if found is None or found.at > now:
        return None
    return round(min(now - found.at, LONGEST).total_seconds() * 1000)
