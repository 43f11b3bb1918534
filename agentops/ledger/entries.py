"""Reading the log with its events, in the order of the index, and the checkpoints that were signed over it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from agentops.kernel.canonical import JSON, loads
from agentops.kernel.clock import isoformat
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.leaf import Leaf
from agentops.ledger.payloads import Opened, Raw, read_payloads

AT_ONCE = 1_000
"""So many entries are read by one query."""

Record = dict[str, JSON]


class EventGone(AgentOpsError):
    """The log has an entry whose event is not there any more."""

    code = "EVENT_GONE"
    next_step = "Somebody changed the ledger's tables. Run manage.py ledger verify."


@dataclass(frozen=True)
class Recorded:
    """The columns of an event. ``payload_digest`` and ``leaf_hash`` have 32 bytes unless somebody changed them."""

    at: datetime
    tenant_id: UUID
    type: str
    actor: str
    refs: JSON
    facts: JSON
    payload_digest: bytes | None
    leaf_hash: bytes


@dataclass(frozen=True)
class Entry:
    """One index of the log. ``event`` is None when its row is gone; ``body`` is the payload as it is stored."""

    index: int
    stream: UUID
    position: int
    leaf_hash: bytes
    chain_hash: bytes
    event: Recorded | None
    body: Raw | None

    @property
    def leaf(self) -> Leaf:
        """What is hashed of the event. Raises EventGone."""
        event = self.present
        return Leaf(
            self.stream,
            self.position,
            event.at,
            event.tenant_id,
            event.type,
            event.actor,
            event.refs,
            event.facts,
            event.payload_digest,
        )

    @property
    def present(self) -> Recorded:
        """The event. Raises EventGone."""
        if self.event is None:
            raise EventGone(f"the event of index {self.index} ({self.stream}:{self.position}) is gone")
        return self.event


_EVENT = "v.at, v.tenant_id, v.type, v.actor, v.refs::text, v.facts::text, v.payload_digest, v.leaf_hash, p.body"
_ENTRIES = f"""
SELECT e.index, e.stream, e.position, e.leaf_hash, e.chain_hash, {_EVENT}
FROM ledger_entry e
LEFT JOIN ledger_event v ON v.stream = e.stream AND v.position = e.position
LEFT JOIN ledger_payload p ON p.stream = e.stream AND p.position = e.position
WHERE e.index >= %s AND e.index < %s ORDER BY e.index LIMIT %s"""  # noqa: S608 - constants of this module
_END = 2**62


def entries(start: int = 0, stop: int | None = None) -> Iterator[Entry]:
    """Yield the entries from ``start`` up to, not including, ``stop``, AT_ONCE at a time; what is gone is skipped."""
    last = _END if stop is None else stop
    while rows := _rows(_ENTRIES, [start, last, AT_ONCE]):
        for row in rows:
            yield _entry(row)
        start = rows[-1][0] + 1


def entry_of(stream: UUID, position: int) -> Entry | None:
    """Return the entry of an event, None when the sequencer has not taken it."""
    found = _rows("SELECT index FROM ledger_entry WHERE stream = %s AND position = %s", [stream, position])
    return next(entries(found[0][0], found[0][0] + 1), None) if found else None


def _entry(row: tuple) -> Entry:  # type: ignore[type-arg] # as the query says
    index, stream, position, leaf, chain, at, tenant, type_, actor, refs, facts, digest, event_leaf, body = row
    event = None
    if at is not None:
        held = None if digest is None else bytes(digest)
        event = Recorded(at, tenant, type_, actor, loads(refs), loads(facts), held, bytes(event_leaf))
    return Entry(index, stream, position, bytes(leaf), bytes(chain), event, body)


_WAITING = f"""
SELECT -1, v.stream, v.position, v.leaf_hash, v.leaf_hash, {_EVENT}
FROM ledger_event v
LEFT JOIN ledger_entry e ON e.stream = v.stream AND e.position = v.position
LEFT JOIN ledger_payload p ON p.stream = v.stream AND p.position = v.position
WHERE e.stream IS NULL AND (v.stream, v.position) > (%s, %s) ORDER BY v.stream, v.position LIMIT %s"""  # noqa: S608


def waiting() -> Iterator[Entry]:
    """Yield the events that have no index yet, as entries of index -1 without a chain."""
    after, position = UUID(int=0), -1
    while rows := _rows(_WAITING, [after, position, AT_ONCE]):
        yield from map(_entry, rows)
        after, position = rows[-1][1:3]


def leaf_record(entry: Entry) -> Record:
    """Return the nine fields that the leaf hash covers, as they are hashed. Raises EventGone."""
    event = entry.present
    return {
        "stream": str(entry.stream),
        "position": entry.position,
        "at": isoformat(event.at),
        "tenant": str(event.tenant_id),
        "type": event.type,
        "actor": event.actor,
        "refs": event.refs,
        "facts": event.facts,
        "payload": None if event.payload_digest is None else event.payload_digest.hex(),
    }


def event_record(entry: Entry) -> Record:
    """Return an event as an export has it: the nine fields, index, leaf hash and chain. Raises EventGone."""
    placed = {"index": entry.index, "leaf": entry.present.leaf_hash.hex(), "chain": entry.chain_hash.hex()}
    return leaf_record(entry) | placed


def proof_record(entry: Entry, path: list[bytes], *, body: bool) -> Record:
    """Return what proves one event: index, the nine fields and the path; with ``body`` the payload and its salt."""
    proof: Record = {"index": entry.index, "event": leaf_record(entry), "path": [node.hex() for node in path]}
    read = read_payloads([(entry.stream, entry.position, entry.body)])[0]
    if body and isinstance(read, Opened):
        proof |= {"salt": read.salt.hex() or None, "body": read.value}
    return proof


@dataclass(frozen=True)
class Signed:
    """A checkpoint as it is stored: the columns say what the note says, and witnesses' cosignatures are under it."""

    size: int
    root: bytes
    chain_hash: bytes
    note: str


def signed_checkpoints(*, upto: int | None = None) -> Iterator[Signed]:
    """Yield the stored checkpoints of at most ``upto`` events, the smallest first."""
    after = -1
    sql = f"{_SIGNED} WHERE size > %s AND size <= %s ORDER BY size LIMIT %s"
    while rows := _rows(sql, [after, _END if upto is None else upto, AT_ONCE]):
        yield from map(_signed, rows)
        after = rows[-1][0]


def last_checkpoint(*, quorum: int = 0) -> Signed | None:
    """Return the largest stored checkpoint that ``quorum`` witnesses cosigned, None before the first."""
    cosigned = "(SELECT count(DISTINCT witness) FROM ledger_cosignature w WHERE w.size = c.size) >= %s"
    rows = _rows(f"{_SIGNED} WHERE {cosigned} ORDER BY size DESC LIMIT 1", [quorum])
    return _signed(rows[0]) if rows else None


def checkpoint_of(size: int) -> Signed | None:
    """Return the checkpoint of this size, None when none was signed."""
    rows = _rows(f"{_SIGNED} WHERE size = %s", [size])
    return _signed(rows[0]) if rows else None


_SIGNED = """SELECT size, root, chain_hash, note ||
coalesce((SELECT string_agg(w.line, '' ORDER BY w.id) FROM ledger_cosignature w WHERE w.size = c.size), '')
FROM ledger_checkpoint c"""


def _signed(row: tuple[int, Raw, Raw, str]) -> Signed:
    return Signed(row[0], bytes(row[1]), bytes(row[2]), row[3])


def _rows(sql: str, values: list[Any]) -> list[tuple]:  # type: ignore[type-arg] # as each query says
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
