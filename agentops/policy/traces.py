"""Where a value came from: the answers of ``policy.evidence`` (pure)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Origin(StrEnum):
    """Where a value came from, the most trusted first."""

    REQUEST = "request"  # the person's request, before anything else was read
    OPERATOR = "operator"  # somebody of the house said so in this session
    APPROVED = "approved"  # this exact value was approved in this session
    RECORD = "record"  # a whole value of a record of the house, of a fitting kind
    COMPUTED = "computed"  # a sum, a difference or a share of numbers of the above
    THIRD = "third"  # somebody outside, in a record of the house
    UNTRUSTED = "untrusted"  # text by somebody outside
    NOWHERE = "nowhere"  # nothing that was read holds it: the planner made it up, or hid where it is from


@dataclass(frozen=True, slots=True)
class Trace:
    """Where one value came from.

    ``source`` names it for a person: ``request``, ``operator``, or step, tool and path; ``document`` is what was read;
    ``span`` is where it stands in that text, in characters, the end not included; ``how`` is the form in which it was
    found there, empty when it stands there as it is.
    """

    origin: Origin
    source: str = ""
    document: str = ""
    span: tuple[int, int] | None = None
    how: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """An address, a link or a long number inside a text, and where it came from.

    ``kind`` is email, url, iban or number; ``rest`` stands for the end of a text that is too long to look through.
    """

    text: str
    kind: str
    trace: Trace


NOWHERE = Trace(Origin.NOWHERE)


class Where(NamedTuple):
    """The place of a value that was read: which step, by which tool, what was read, and the path in the result."""

    step: int
    tool: str
    path: str
    document: str = ""

    @property
    def source(self) -> str:
        """The place in words: ``step 3 get_order items[].id``; a text that was made of others has its own name only."""
        return f"step {self.step} {self.tool} {self.path}".rstrip() if self.step >= 0 else self.tool
