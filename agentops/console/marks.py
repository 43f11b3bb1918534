"""Small values that every screen shares: text with concealed characters named, tiers, states, filters.

Nothing here reads a database or knows Django. Times are aware datetimes; templates show them in the
reader's zone. Durations, sums of money and sizes are prepared strings (see `formats`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["ok", "notice", "stop", "gone", "plain", "frozen"]
"""What a state means to a reader: went well, needs somebody, stopped or failed, over, nothing special, switched off."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of characters of one value.

    A concealed segment is shown framed. With a `name` ("U+202E right-to-left override") the name stands
    in place of the character, which is never sent to the browser; without one the text itself was hidden
    (white on white, one pixel) and is shown.
    """

    text: str
    concealed: bool = False
    name: str = ""


Text = tuple[Segment, ...]
"""A value from outside, in order, ready to be shown."""


def plain(text: str) -> Text:
    """One visible segment: for text of our own, which cannot conceal anything. Empty text gives ()."""
    return (Segment(text),) if text else ()


def has_concealed(text: Text) -> bool:
    """Whether any part of the value was hidden from a reader of the original."""
    return any(segment.concealed for segment in text)


_TIERS = {
    1: ("reversible", "undo"),
    2: ("consequential", "diamond"),
    3: ("irreversible", "octagon"),
}


@dataclass(frozen=True, slots=True)
class Tier:
    """How much a mistake would cost: 1 reversible, 2 consequential, 3 irreversible."""

    level: Literal[1, 2, 3]

    @property
    def word(self) -> str:
        """What it means, in one word."""
        return _TIERS[self.level][0]

    @property
    def icon(self) -> str:
        """Its own shape, so that colour is not all that tells tiers apart."""
        return _TIERS[self.level][1]


_STATE_ICONS: dict[Kind, str] = {
    "ok": "check",
    "notice": "gate",
    "stop": "alert",
    "gone": "clock",
    "plain": "play",
    "frozen": "snow",
}


@dataclass(frozen=True, slots=True)
class State:
    """A status or outcome in one or two words, with its mark ("answered", "waits for Refunds")."""

    kind: Kind
    word: str

    @property
    def icon(self) -> str:
        """The mark that stands beside the word."""
        return _STATE_ICONS[self.kind]


@dataclass(frozen=True, slots=True)
class Link:
    """A place to go, with the words that name it."""

    url: str
    label: str


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a filter. An empty value means no restriction."""

    value: str
    label: str
    selected: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """A drop-down above a list; `name` is its parameter in the address."""

    name: str
    label: str
    options: Sequence[Option]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A policy rule that fired: its sentence, its stable code, and what it did ("asks", "denies")."""

    text: str
    code: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UntrustedText:
    """Words of somebody outside, as evidence. Always shown at the hatched edge.

    `source` says where it was ("Ticket 88213"), `author` who is said to have written it.
    """

    source: str
    author: Text
    at: datetime
    body: Text

    @property
    def conceals(self) -> bool:
        """Whether a reader of the original could not see all of it."""
        return has_concealed(self.body) or has_concealed(self.author)
