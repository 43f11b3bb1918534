"""What pages of requests show of their data: frozen dataclasses.

The queue's own are in `queue_presenters`, those of the page of one request in `request_presenters`. Nothing here reads
a database, a clock or Django.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agentops.console.marks import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A field of a record before and after. An empty side means there is no such value."""

    label: str
    before: Text
    after: Text
    note: str = ""


Tone = Literal["", "request", "record", "untrusted", "invented"]
"""Who put a value there, as a colour: somebody who may decide, the house's records, somebody outside, nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a value was found.

    `words` are the tool and the path in what it returned, `document` what was read, `within` the place in its text,
    `how` the form in which it stands there. `step` is the session's event, None when the source is no step.
    """

    step: int | None
    words: Text
    document: Text = ()
    within: str = ""
    how: Text = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CameFrom:
    """One origin of an argument: its word, tone and icon, and where it was found.

    `values` counts the values of this origin when an argument has several origins, else it is 0. `more` counts the
    places that are not named.
    """

    word: str
    tone: Tone
    icon: str
    values: int = 0
    in_request: bool = False
    places: Sequence[Place] = ()
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of an argument's text; `marked` when a compliance finding is about it."""

    text: Text
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of the call, whole.

    `long` values are folded, and approving needs them opened: the page then sends `opened=<name>`.
    An uninspectable value has no text; `note` says what it is. `pieces` are the value once more when something in it
    is marked. `tone` colours the row of a value that nobody trusted gave and on which the effect depends.
    """

    name: str
    value: Text
    size: str
    long: bool = False
    note: str = ""
    uninspectable: bool = False
    came_from: Sequence[CameFrom] = ()
    tone: Tone = ""
    pieces: Sequence[Piece] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """What raises or lowers a score: `points` with their sign; its bar from `start`, both in hundredths."""

    words: str
    points: str
    raises: bool
    start: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPart:
    """How risky the call was when it was proposed, 0 to 100. `score` is None for one that was not scored.

    `band` is the range of scores that have this `level`; `marks` are where bands begin.
    """

    score: int | None
    level: str
    band: str
    version: str
    marks: Sequence[int]
    factors: Sequence[Factor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a compliance pack says about a text. `argument` is its row's number, 0 when there is none."""

    pack: str
    version: int
    rule: str
    argument: int
    words: Text
    forbids: bool
