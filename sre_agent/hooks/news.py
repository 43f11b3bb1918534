"""What is new about an alert in what is told of it (pure). Messages come late, twice, and in any order."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sre_agent.hooks.told import Told


class News(StrEnum):
    """What follows from one telling."""

    BEGAN = "began"
    AGAIN = "again"
    ENDED = "ended"
    OLD = "old"


@dataclass(frozen=True)
class Known:
    """What is known of a fingerprint: since when it fires, and until when it did."""

    began_at: datetime
    ended_at: datetime | None


def news_of(known: Known | None, told: Told) -> News:
    """Return what ``told`` adds to what is ``known`` of its fingerprint's latest alert.

    An alert is its fingerprint and when it began. Its end is the last that is heard of it; whatever began before the
    latest one is old. But one that still fires ends with every end that lies after its beginning: two senders that
    watch the same thing do not agree to the second on when it began.
    """
    if known is None or (told.began_at > known.began_at and not told.goes_on):
        return News.BEGAN
    if known.ended_at is not None:
        return News.OLD
    if told.is_over:
        ends_it = told.began_at == known.began_at or told.goes_on
        return News.ENDED if ends_it or (told.ended_at is not None and told.ended_at >= known.began_at) else News.OLD
    return News.AGAIN if told.began_at == known.began_at or told.goes_on else News.OLD


def in_order(told: Iterable[Told]) -> list[Told]:
    """Return what one message tells in the order in which it happened: of one alert, that it fires before its end."""
    return sorted(told, key=lambda one: (one.began_at, one.is_over))
