"""The one way to read stored payloads."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agentops.kernel.canonical import JSON, loads
from agentops.ledger.bodies import body_of

Raw = bytes | memoryview


@dataclass(frozen=True)
class Opened:
    """A payload that was read. ``body`` is canonical JSON, ``salt`` empty for one that was never sealed."""

    body: bytes
    salt: bytes = b""

    @property
    def value(self) -> JSON:
        """The payload itself."""
        return loads(self.body)


@dataclass(frozen=True)
class Erased:
    """A payload whose key was destroyed: nobody can read it any more."""

    at: datetime


Read = Opened | Erased | None


def read_payloads(rows: Iterable[tuple[UUID, int, Raw | None]]) -> list[Read]:
    """Return what each stored body holds, None where there is none. Rows are stream, position and body.

    Raises BadBody for what was not stored like that.
    """
    return [None if raw is None else Opened(body_of(raw)) for _, _, raw in rows]
