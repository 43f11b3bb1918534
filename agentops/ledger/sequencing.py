"""The sequencer: gives each committed event its place in the log.

Writers only insert events, in any number of transactions at once. What is above the snapshot horizon may still be
followed by something that was begun before it, so ``id > last`` would skip what commits late. The sequencer takes
transactions below the horizon only: of those, everything that will ever be committed is there. It takes whole
transactions, in the order (xid, stream, position), and writes entries, links, full subtrees and its own place in one
transaction a batch. It may stop and be killed anywhere. An advisory lock lets one work, and others do something else.

Transaction ids begin anew in another cluster, so in a database that was restored there, those of its rows say nothing
about what is committed now. Such a database is caught up: every event that can be seen and has no entry gets one,
whatever its transaction. Afterwards the sequencer goes on from where the horizon was when it began to catch up.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

import psycopg
from django.db import InterfaceError, OperationalError, connection, transaction

from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.chain import GENESIS, links
from agentops.ledger.copying import Given, copied_entries, copied_subtrees
from agentops.ledger.log import TILE, subtree_roots
from agentops.ledger.merkle import HASH_BYTES, perfect_root

log = logging.getLogger(__name__)

BATCH = 5_000
"""So many events a transaction, and more only when one transaction wrote more."""

_LOCK = 0x6C6F_6773_6571
_NOTHING_TAKEN = 0

Subtree = tuple[int, int, bytes]
Plain = psycopg.Cursor[Any]


class LogConflict(AgentOpsError):
    """What the log ends with is not what the sequencer wrote last. It stops, so that nothing covers that up."""

    code = "LOG_CONFLICT"
    next_step = "Somebody changed the log's tables. Run manage.py ledger verify, and compare with the checkpoints."


@dataclass(frozen=True)
class _Head:
    """The row of the sequencer's place, and what it was read in.

    ``here`` is the cluster's identifier. All transactions before ``first_open`` have ended, and none from ``next_one``
    on has begun.
    """

    size: int
    chain_hash: bytes
    cursor: int
    system_identifier: int
    resume_at: int | None
    here: int
    first_open: int
    next_one: int

    @property
    def comes_from_elsewhere(self) -> bool:
        """True when its transaction ids are those of another cluster, or of one that was set back."""
        place = self.cursor if self.resume_at is None else self.resume_at
        return self.system_identifier != self.here or place >= self.next_one

    def catching_up(self) -> "_Head":
        """Return the place from which every event is looked at."""
        return replace(self, cursor=_NOTHING_TAKEN, system_identifier=self.here, resume_at=self.first_open - 1)


@dataclass(frozen=True)
class Batch:
    """What one transaction did. ``more`` says that it ended at its limit; ``busy`` that somebody else is at it."""

    given: int
    more: bool = False
    busy: bool = False


def sequence(limit: int | None = None, *, batch: int = BATCH) -> int:
    """Give every event that is due its index, and return how many got one.

    Goes on in transactions of ``batch`` events until nothing is due, ``limit`` is reached or passed, or another
    sequencer is at work. Raises LogConflict.
    """
    given = 0
    while limit is None or given < limit:
        done = sequence_batch(batch if limit is None else min(batch, limit - given))
        given += done.given
        if not done.more:
            break
    return given


def sequence_in_sweep(now: datetime, limit: int) -> int:
    """Sequence what is due, as a duty of the sweep. Returns 0, since nothing becomes due by it.

    The sweep has other duties: a log that cannot go on is reported, and does not keep sessions from going on.
    """
    try:
        sequence(max(limit, 10 * BATCH))
    except (OperationalError, InterfaceError):
        raise
    except AgentOpsError as error:
        log.error("the log stands still: %s", error.in_full)  # noqa: TRY400 - its words say all
    return 0


def sequence_batch(limit: int = BATCH) -> Batch:
    """Do one transaction of it: ``limit`` events, or what the last one of their transactions wrote besides."""
    with transaction.atomic():
        done = _sequence_batch(limit)
    if done.given:
        reach(CrashPoint.LOG_COMMITTED)
    return done


def _sequence_batch(limit: int) -> Batch:
    connection.ensure_connection()
    plain = cast("psycopg.Connection[Any]", connection.connection)
    with connection.wrap_database_errors, plain.cursor(binary=True) as cursor:
        if not _is_true(cursor, _LOCKING, [_LOCK]):
            return Batch(0, busy=True)
        head, is_new = _head(cursor)
        if head.comes_from_elsewhere or (is_new and _is_true(cursor, _FOREIGN)):
            head = head.catching_up()
        found, last, seen = _due(cursor, head, limit)
        after = replace(head, cursor=last)
        more = seen >= limit
        if not more and head.resume_at is not None:
            after, more = replace(head, cursor=head.resume_at, resume_at=None), True
        if found:
            after = _write(cursor, after, found)
        if is_new or found or after != head:
            _keep(cursor, head, after, is_new)
            reach(CrashPoint.LOG_COMMITTING)
        return Batch(len(found), more)


# Estimates of new tables are wrong enough to join with all of them; every batch is small, whatever they say.
_LOCKING = """
SELECT pg_try_advisory_xact_lock(%s::bigint), set_config('enable_seqscan', 'off', true),
  set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)"""


def _is_true(cursor: Plain, sql: str, values: Sequence[int] = ()) -> bool:
    """Return what the first column of a query's one row says."""
    row = cursor.execute(sql, values).fetchone()
    return row is not None and bool(row[0])


_CLUSTER = """
SELECT (SELECT system_identifier FROM pg_control_system()),
  pg_snapshot_xmin(pg_current_snapshot())::text, pg_snapshot_xmax(pg_current_snapshot())::text"""

_HEAD = """
SELECT h.size, h.chain_hash, h.cursor::text, h.system_identifier, h.resume_at::text,
  (SELECT chain_hash FROM ledger_entry WHERE index = h.size - 1), EXISTS (SELECT FROM ledger_entry WHERE index = h.size)
FROM ledger_head h"""

# Transactions of the future in a log that has no head yet: the events were restored here before they had a log.
_FOREIGN = "SELECT EXISTS (SELECT FROM ledger_event WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()))"

_LAST = "SELECT index, chain_hash FROM ledger_entry ORDER BY index DESC LIMIT 1"


def _head(cursor: Plain) -> tuple[_Head, bool]:
    """Return the place, and whether it has no row yet. A log whose head was lost goes on where its entries end."""
    cluster = cursor.execute(_CLUSTER).fetchone()
    assert cluster is not None  # noqa: S101 - a SELECT without FROM has a row
    now = (int(cluster[0]), int(cluster[1]), int(cluster[2]))
    row = cursor.execute(_HEAD).fetchone()
    if row is None:
        end = cursor.execute(_LAST).fetchone()
        size, chain = (0, GENESIS) if end is None else (end[0] + 1, end[1])
        return _Head(size, chain, _NOTHING_TAKEN, now[0], None, *now), True
    size, chain, place, system_identifier, resume_at, ends_with, goes_on = row
    if (ends_with or GENESIS) != chain or goes_on:
        raise LogConflict(f"the log does not end with entry {size - 1} as it was written")
    resume = None if resume_at is None else int(resume_at)
    return _Head(size, chain, int(place), system_identifier, resume, *now), False


_DUE = """
WITH candidate AS MATERIALIZED (
  SELECT xid, stream, position, leaf_hash FROM ledger_event
  WHERE xid > %s::text::xid8 {below}
  ORDER BY xid FETCH FIRST (%s::bigint) ROWS WITH TIES
)
SELECT uuid_send(c.stream), c.position, c.leaf_hash, c.xid::text, e.index IS NOT NULL
FROM candidate c LEFT JOIN ledger_entry e ON e.stream = c.stream AND e.position = c.position
ORDER BY c.xid, c.stream, c.position"""

# The horizon is the first transaction of this statement's snapshot that may still write here. One of another database
# cannot, and would hold up the log for as long as it is open. Whatever is not known to be one counts as one of ours:
# the activity is read after the snapshot was taken, so a transaction that has ended since then is one, too.
_HORIZON = """
COALESCE(
  (SELECT x FROM pg_snapshot_xip(pg_current_snapshot()) x
   WHERE NOT EXISTS (
     SELECT FROM pg_stat_get_activity(NULL) a
     WHERE a.backend_xid = x::xid
       AND a.datid <> (SELECT oid FROM pg_database WHERE datname = current_database()))
   ORDER BY x LIMIT 1),
  pg_snapshot_xmax(pg_current_snapshot()))"""

_BELOW_HORIZON = _DUE.format(below=f"AND xid < {_HORIZON}")
_ALL_THERE_IS = _DUE.format(below="")


def _due(cursor: Plain, head: _Head, limit: int) -> tuple[list[Given], int, int]:
    """Return (stream, position, leaf hash) of what has no entry, the last transaction of it, and how many were seen.

    Rows of transactions that were taken before they came here, from another cluster, are seen once again.
    """
    sql = _BELOW_HORIZON if head.resume_at is None else _ALL_THERE_IS
    rows = cursor.execute(sql, [str(head.cursor), limit]).fetchall()
    if not rows:
        return [], head.cursor, 0
    found = [(stream, position, leaf) for stream, position, leaf, _, is_there in rows if not is_there]
    for stream, position, leaf in found:
        if len(leaf) != HASH_BYTES:
            raise LogConflict(f"the event {stream.hex()}:{position} has a leaf hash of {len(leaf)} bytes")
    return found, int(rows[-1][3]), len(rows)


def _write(cursor: Plain, head: _Head, found: Sequence[Given]) -> _Head:
    """Write entries and subtrees, and return the head that is after them."""
    leaves = [leaf for _, _, leaf in found]
    chain = links(head.chain_hash, leaves)
    with cursor.copy("COPY ledger_entry (index, stream, position, leaf_hash, chain_hash) FROM STDIN BINARY") as copy:
        copy.write(copied_entries(head.size, found, chain))
    reach(CrashPoint.LOG_COPIED)
    subtrees = _subtrees(head.size, leaves)
    if subtrees:
        with cursor.copy("COPY ledger_subtree (level, index, hash) FROM STDIN BINARY") as copy:
            copy.write(copied_subtrees(subtrees))
    return replace(head, size=head.size + len(leaves), chain_hash=chain[-1])


def _subtrees(size: int, hashes: Sequence[bytes]) -> list[Subtree]:
    """Return (level, index, root) of the subtrees that become full when ``hashes`` follow ``size`` leaves."""
    made: list[Subtree] = []
    level, start = 0, size
    while start // TILE < (start + len(hashes)) // TILE:
        first = start // TILE
        row = [*subtree_roots(level, first * TILE, start), *hashes]
        hashes = [perfect_root(row[n : n + TILE]) for n in range(0, len(row) - TILE + 1, TILE)]
        level, start = level + 1, first
        made.extend((level, index, found) for index, found in enumerate(hashes, first))
    return made


_INSERT = """
INSERT INTO ledger_head (id, size, chain_hash, cursor, system_identifier, resume_at)
VALUES (1, %s, %s, %s::text::xid8, %s, %s::text::xid8)"""

_UPDATE = """
UPDATE ledger_head SET size = %s, chain_hash = %s, cursor = %s::text::xid8, system_identifier = %s,
  resume_at = %s::text::xid8
WHERE size = %s"""


def _keep(cursor: Plain, before: _Head, after: _Head, is_new: bool) -> None:
    resume_at = None if after.resume_at is None else str(after.resume_at)
    values = [after.size, after.chain_hash, str(after.cursor), after.system_identifier, resume_at]
    if is_new:
        cursor.execute(_INSERT, values)
    elif cursor.execute(_UPDATE, [*values, before.size]).rowcount != 1:
        raise LogConflict(f"the head of the log is no longer at {before.size} entries")
