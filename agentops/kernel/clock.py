"""The one place that reads the wall clock."""

from datetime import UTC, datetime


def utcnow() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(UTC)


def isoformat(moment: datetime) -> str:
    """Return ``moment`` in UTC as it is hashed: microseconds always, ``Z`` at the end.

    Raises ValueError when ``moment`` has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone cannot be recorded")
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
