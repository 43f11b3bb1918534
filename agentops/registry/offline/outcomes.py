"""What becomes of a wish (pure): changes to propose, things to say, and what goes to a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Change:
    """A write to propose. ``about`` names it ("the cancellation of order #W1"), ``done`` tells that it happened.

    ``{amount}`` in ``done`` stands for what was really moved.
    """

    tool: str
    arguments: dict[str, Any]
    about: str
    done: str


@dataclass(frozen=True)
class Said:
    """An answer for the customer that comes from look-ups. ``source`` tells a person where from."""

    words: str
    source: str


@dataclass(frozen=True)
class Declined:
    """Something that the records clearly rule out. ``words`` tell the customer why."""

    words: str
    about: str


@dataclass(frozen=True)
class Handed:
    """Something for a person. ``about`` is what was asked, ``why`` is for the person, ``words`` for the customer."""

    about: str
    why: str
    words: str = ""


Outcome = Change | Said | Declined | Handed


def unique(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes, each once, in their order."""
    kept: list[Outcome] = []
    for outcome in outcomes:
        if outcome not in kept:
            kept.append(outcome)
    return kept
