"""What the screens are made from: events and questions to people, as values. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID


@dataclass(frozen=True)
class Told:
    """An event with its payload read. ``size`` is that of the payload in bytes; a huge one is left out of ``body``.

    ``erased_at`` is when the payload was erased, None while it can be read.
    """

    position: int
    at: datetime
    type: str
    actor: str
    refs: dict[str, str]
    facts: dict[str, Any]
    body: dict[str, Any]
    size: int
    erased_at: datetime | None = None

    @property
    def invocation(self) -> str:
        """The id of the call that the event belongs to, or nothing."""
        return self.refs.get("invocation", "")

    @property
    def request(self) -> str:
        """The id of the approval request that the event belongs to, or nothing."""
        return self.refs.get("request", "")


@dataclass(frozen=True)
class RequestSummary:
    """A question to people in a few words. ``effect`` holds text from outside; ``level`` is its tier, 1 to 3."""

    pk: UUID
    code: str
    session_id: UUID
    position: int
    invocation_id: UUID
    effect: str
    level: Literal[1, 2, 3]
    queue: str
    state: str
    due: datetime
    your_turn: bool = False


@dataclass(frozen=True)
class Waiting:
    """Pending requests of a tenant: the most urgent ones, and how many there are."""

    first: Sequence[RequestSummary]
    total: int
