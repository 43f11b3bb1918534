"""Reading the log: its head, its leaves, and proofs about it.

What is stored are the leaf hashes and the roots of full subtrees of 256^level leaves, as in the tiles of C2SP's
tlog-tiles. Everything else is computed from at most 256 hashes a level, so no read grows with the log. The log is
append-only: whatever is asked about a size that was once reached has the same answer for ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.chain import GENESIS
from agentops.ledger.merkle import consistency_proof, inclusion_proof, perfect_root, root_of

TILE_LEVELS = 8
TILE = 1 << TILE_LEVELS
"""So many hashes of one level are stored or read together."""

Place = tuple[int, int]


class LogIncomplete(AgentOpsError):
    """A hash is asked for that the log does not have: it is shorter than that, or it was tampered with."""

    code = "LOG_INCOMPLETE"
    next_step = "Compare with the size of the log. When it should be there, run manage.py ledger verify."


@dataclass(frozen=True)
class TreeHead:
    """The log at one size: the root of RFC 6962 over its leaves, and the last link of the chain, 32 bytes each."""

    size: int
    root: bytes
    chain_hash: bytes


def tree_head(size: int | None = None) -> TreeHead:
    """Return the log as it is, or as it was when it had ``size`` entries. Raises LogIncomplete when it never had."""
    if size is None:
        size = log_size()
    return TreeHead(size, root_of(size, Tiles(size)), chain_at(size))


def log_size() -> int:
    """Return how many entries the log has."""
    row = _one("SELECT size FROM ledger_head", [])
    return 0 if row is None else int(row[0])


def chain_at(size: int) -> bytes:
    """Return the link of the chain that covers the first ``size`` entries. Raises LogIncomplete."""
    if size == 0:
        return GENESIS
    row = _one("SELECT chain_hash FROM ledger_entry WHERE index = %s", [size - 1])
    if row is None:
        raise LogIncomplete(f"the log has no entry {size - 1}")
    return bytes(row[0])


def leaf_hashes(start: int, stop: int) -> list[bytes]:
    """Return the leaf hashes of the entries from ``start`` up to, not including, ``stop``. Raises LogIncomplete."""
    rows = _all("SELECT leaf_hash FROM ledger_entry WHERE index >= %s AND index < %s ORDER BY index", [start, stop])
    return _whole(rows, start, stop, "leaf hashes")


def subtree_roots(level: int, start: int, stop: int) -> list[bytes]:
    """Return the roots over 256^``level`` leaves with an index from ``start`` up to, not including, ``stop``.

    Level 0 is the leaf hashes. Raises LogIncomplete when one of them is not there (yet).
    """
    if level == 0:
        return leaf_hashes(start, stop)
    rows = _all(
        "SELECT hash FROM ledger_subtree WHERE level = %s AND index >= %s AND index < %s ORDER BY index",
        [level, start, stop],
    )
    return _whole(rows, start, stop, f"subtrees of level {level}")


def index_of(stream: UUID, position: int) -> int | None:
    """Return the index that an event has in the log, None when the sequencer has not taken it yet."""
    row = _one("SELECT index FROM ledger_entry WHERE stream = %s AND position = %s", [stream, position])
    return None if row is None else int(row[0])


def inclusion(index: int, size: int) -> list[bytes]:
    """Return the proof that the entry ``index`` is in the log of ``size`` entries. Raises BadProof, LogIncomplete."""
    return inclusion_proof(index, size, Tiles(size))


def consistency(old: int, new: int) -> list[bytes]:
    """Return the proof that the log of ``new`` entries begins with that of ``old``. Raises BadProof, LogIncomplete."""
    return consistency_proof(old, new, Tiles(new))


class Tiles:
    """``get`` of ledger.merkle over the stored hashes of a log of ``size`` entries; each tile is read once."""

    def __init__(self, size: int) -> None:
        """Read nothing yet."""
        self._size = size
        self._read: dict[Place, list[bytes]] = {}

    def __call__(self, level: int, index: int) -> bytes:
        """Return the root over the 2^level leaves from ``index * 2^level`` on. Raises LogIncomplete."""
        stored, above = divmod(level, TILE_LEVELS)
        start = index << above
        tile, place = divmod(start, TILE)
        hashes = self._tile(stored, tile)
        return perfect_root(hashes[place : place + (1 << above)])

    def _tile(self, stored: int, tile: int) -> list[bytes]:
        found = self._read.get((stored, tile))
        if found is None:
            stop = min((tile + 1) * TILE, self._size >> (stored * TILE_LEVELS))
            found = self._read[stored, tile] = subtree_roots(stored, tile * TILE, stop)
        return found


def _whole(rows: list[tuple[bytes]], start: int, stop: int, what: str) -> list[bytes]:
    if len(rows) != max(stop - start, 0):
        raise LogIncomplete(f"of the {what} from {start} to {stop} the log has {len(rows)}")
    return [bytes(row[0]) for row in rows]


def _all(sql: str, values: Sequence[int | UUID]) -> list[tuple[bytes]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        return list(cursor.fetchall())


def _one(sql: str, values: Sequence[int | UUID]) -> tuple[bytes] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        row: tuple[bytes] | None = cursor.fetchone()
        return row
