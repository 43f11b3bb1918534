"""The one way to read stored payloads: plain ones from before the vault, sealed ones, and those that were erased."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agentops.kernel.canonical import JSON, loads
from agentops.ledger.bodies import BadBody, body_of
from agentops.ledger.keys import keys_by_id
from agentops.ledger.sealing import OVERHEAD, BadSeal, DataKey, commitment, is_sealed, key_id_of, unseal

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

    @property
    def commitment(self) -> bytes:
        """What stands in the event for it, unless one of the two was changed."""
        return commitment(self.salt, self.body)


@dataclass(frozen=True)
class Erased:
    """A payload whose key was destroyed: nobody can read it any more."""

    at: datetime


Read = Opened | Erased | None


def read_payloads(rows: Iterable[tuple[UUID, int, Raw | None]]) -> list[Read]:
    """Return what each stored body holds, None where there is none. Rows are stream, position and body.

    One query for all of them, none when no body is sealed. Raises BadBody and BadSeal for what was not stored like
    that, and VaultClosed.
    """
    found = list(rows)
    keys = _keys_of(found)
    return [None if raw is None else _read(stream, position, raw, keys) for stream, position, raw in found]


def _keys_of(rows: Iterable[tuple[UUID, int, Raw | None]]) -> dict[UUID, DataKey | datetime]:
    needed = {key_id_of(raw) for _, _, raw in rows if raw is not None and is_sealed(raw) and len(raw) >= OVERHEAD}
    return keys_by_id(needed) if needed else {}


def _read(stream: UUID, position: int, raw: Raw, keys: dict[UUID, DataKey | datetime]) -> Opened | Erased:
    if not is_sealed(raw):
        return Opened(body_of(raw))
    key = keys.get(key_id_of(raw))
    if key is None:
        raise BadBody(f"the payload of {stream}:{position} is sealed with a key that has no row")
    if isinstance(key, datetime):
        return Erased(key)
    salt, inner = unseal(key, stream, position, raw)
    return Opened(body_of(inner), salt)


def bodies(rows: Iterable[tuple[UUID, int, Raw | None]]) -> list[bytes | None]:
    """Return the canonical JSON of each stored body, None where there is none, or it was erased or spoiled.

    For readers of many records, whom one that cannot be read must not stop.
    """
    found = list(rows)
    keys = _keys_of(found)
    return [_body_or_none(stream, position, raw, keys) for stream, position, raw in found]


def _body_or_none(stream: UUID, position: int, raw: Raw | None, keys: dict[UUID, DataKey | datetime]) -> bytes | None:
    try:
        read = None if raw is None else _read(stream, position, raw, keys)
    except (BadBody, BadSeal):
        return None
    return read.body if isinstance(read, Opened) else None
