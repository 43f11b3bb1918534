"""Verifying the ledger where it lies: each column, the log over it, and what else in the database speaks of it.

This finds what was changed with triggers off. It does not find a history that was rewritten as a whole, with every
hash and checkpoint computed anew: for that, give it the checkpoints that others kept and the log's public keys, or
verify an export on another machine (docs/evidence-verify.md).
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from agentops.kernel.canonical import NotCanonical
from agentops.kernel.errors import AgentOpsError
from agentops.ledger import auditverify
from agentops.ledger.chain import GENESIS, link
from agentops.ledger.entries import Entry, entries, signed_checkpoints, waiting
from agentops.ledger.log import TILE
from agentops.ledger.merkle import Frontier, perfect_root
from agentops.ledger.payloads import Erased, Opened, Raw, read_payloads

OWNERS = {"session": "id", "ledger_stream": "id"}
"""The tables whose rows keep a stream's next position, and the column with the stream's id."""

MOST = 1_000
"""So many findings are kept; the rest is counted."""

_TOP_LEVEL = 8


@dataclass(frozen=True)
class Finding:
    """Something that does not hold. ``index`` is None for what has no place in the log (yet).

    ``last`` is the last index that it may be about: a root says that some entry under it was changed, not which.
    """

    kind: str
    what: str
    index: int | None = None
    last: int | None = None

    def covers(self, index: int) -> bool:
        """Tell whether something wrong at ``index`` explains this."""
        return self.index is not None and self.last is not None and self.index <= index <= self.last


@dataclass
class Verified:
    """What a verification found, in the order of the log. ``waiting`` events have no index yet."""

    events: int = 0
    waiting: int = 0
    payloads: int = 0
    erased: int = 0
    checkpoints: int = 0
    findings: list[Finding] = field(default_factory=list)
    more: int = 0

    @property
    def ok(self) -> bool:
        """True when everything holds."""
        return not self.findings

    @property
    def first_bad_index(self) -> int | None:
        """The first index that something is wrong with, None when nothing is, or what is wrong has no index."""
        exact = {found.index for found in self.findings if found.index is not None and found.last is None}
        ranges = [found for found in self.findings if found.last is not None]
        vague = {each.index for each in ranges if each.index is not None and not any(map(each.covers, exact))}
        return min(exact | vague, default=None)

    def note(self, kind: str, what: str, index: int | None = None, last: int | None = None) -> None:
        """Keep a finding."""
        if len(self.findings) < MOST:
            self.findings.append(Finding(kind, what, index, last))
        else:
            self.more += 1


def verify(*, trust: auditverify.Trust | None = None, kept: Sequence[Path] = ()) -> Verified:
    """Compare everything that the database holds of the ledger. Reads in one snapshot, and changes nothing.

    With ``trust`` the signatures of checkpoints are checked too, those in the folders of ``kept`` among them. Raises
    CannotTell of auditverify for a folder that cannot be read.
    """
    found = Verified()
    others = auditverify.Checkpoints(trust) if trust else None
    for folder in kept:
        if others is None:
            raise auditverify.CannotTell("to check what others kept, the public keys of the log are needed")
        others.load_kept(folder)
    with transaction.atomic():
        if not connection.savepoint_ids:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        _Pass(found, trust, others).run()
        _check_rows(found)
    return found


class _Pass:
    """One way through the log, entry by entry, with the tree, the chain and the subtrees computed anew."""

    def __init__(
        self, found: Verified, trust: auditverify.Trust | None, others: auditverify.Checkpoints | None
    ) -> None:
        self.found = found
        self.trust = trust
        self.others = others
        self.tree = Frontier()
        self.chain = GENESIS
        self.agreed = 0
        self.levels: list[list[bytes]] = [[]]
        self.signed = signed_checkpoints()
        self.next_signed = next(self.signed, None)

    def run(self) -> None:
        """Read all entries and what is signed over them."""
        for batch in _batches(entries()):
            self._take(batch)
        self.found.events = self.tree.size
        for later in [self.next_signed, *self.signed] if self.next_signed else []:
            self.found.note("tail", f"a checkpoint signed {later.size} entries", self.tree.size)
        for size in sorted(self.others.rows) if self.others else []:
            if size > self.tree.size:
                self.found.note("tail", f"a checkpoint that was kept signed {size} entries", self.tree.size)
        for size, bads in sorted(self.others.faults.items()) if self.others else []:
            for bad in bads:
                self.found.note(bad.kind, bad.what, max(size - 1, 0))
        self._check_head()
        self._check_subtrees()

    def _take(self, batch: Sequence[Entry]) -> None:
        for entry in batch:
            while self.tree.size < entry.index:
                self.found.note("entry", f"the log has no index {self.tree.size}", self.tree.size)
                # What is missing cannot be computed: from here on the stored chain is followed, the tree is not.
                self._append(bytes(32), None)
            self._check_entry(entry)
            self._append(entry.leaf_hash, entry.chain_hash)
            self._check_signed()
        _check_bodies(batch, self.found)

    def _append(self, leaf: bytes, chain: bytes | None) -> None:
        self.chain = link(self.chain, leaf) if chain is None else chain
        self.tree.append(leaf)
        self.levels[0].append(leaf)
        level = 0
        while level < len(self.levels) and len(self.levels[level]) == TILE:
            root = perfect_root(self.levels[level])
            self.levels[level] = []
            level += 1
            if level == len(self.levels):
                self.levels.append([])
            self.levels[level].append(root)
            self._check_subtree(level, (self.tree.size >> (8 * level)) - 1, root)

    def _check_entry(self, entry: Entry) -> None:
        index, note = entry.index, self.found.note
        if entry.event is None:
            note("event", f"the event {entry.stream}:{entry.position} is gone", index)
        else:
            leaf = _leaf_or_none(entry)
            if leaf != entry.event.leaf_hash:
                note("leaf", f"a column of {entry.stream}:{entry.position} was changed", index)
            if entry.leaf_hash != entry.event.leaf_hash:
                note("entry leaf", f"the log and the event {entry.stream}:{entry.position} have two leaf hashes", index)
        if link(self.chain, entry.leaf_hash) != entry.chain_hash:
            note("chain", "the entry does not follow from the one before it", index)

    def _check_signed(self) -> None:
        size, signed, fits = self.tree.size, self.next_signed, None
        if signed is not None and signed.size <= size:
            self.next_signed = next(self.signed, None)
            self.found.checkpoints += 1
            fits = self._check_checkpoint(signed.root, signed.chain_hash, "a checkpoint")
            fits &= self._check_note(signed.note, signed.size)
        for row in self.others.rows.get(size, ()) if self.others else ():
            if signed is None or signed.size != size:
                self.found.note(
                    "missing checkpoint", f"the one of size {size}, which others kept, is gone", self.agreed
                )
            fits = self._check_checkpoint(row.said.root, row.said.chain or self.chain, "a kept checkpoint") & (
                fits is not False
            )
        if fits:
            self.agreed = size

    def _check_checkpoint(self, root: bytes, chain: bytes, which: str) -> bool:
        """Note what does not fit at the first entry since the last checkpoint that did."""
        size = self.tree.size
        if root != self.tree.root:
            self.found.note("root", f"{which} of size {size} signed other entries", self.agreed, size - 1)
        if chain != self.chain:
            self.found.note("signed chain", f"{which} of size {size} signed another chain", self.agreed, size - 1)
        return (root, chain) == (self.tree.root, self.chain)

    def _check_note(self, note: str, size: int) -> bool:
        """Compare a stored note with its columns, and its signature where the keys are known."""
        try:
            said = auditverify.read_checkpoint(auditverify.read_note(note).text)
            if self.trust is not None:
                auditverify.accept(note, self.trust, index=size - 1)
        except (auditverify.Malformed, auditverify.Bad) as error:
            self.found.note("signature", f"the checkpoint of size {size}: {error}", self.agreed)
            return False
        if said.size != size:
            self.found.note("checkpoint", f"the checkpoint of size {size} says {said.size}", self.agreed)
        fits = self._check_checkpoint(said.root, said.chain or self.chain, "the note of the checkpoint")
        return fits and said.size == size

    def _check_head(self) -> None:
        row = _one("SELECT size, chain_hash FROM ledger_head")
        if row is None:
            if self.tree.size:
                self.found.note("head", "the row of the sequencer's place is gone")
        elif (row[0], bytes(row[1])) != (self.tree.size, self.chain):
            self.found.note("head", f"the head speaks of {row[0]} entries, or of another chain", self.tree.size)

    def _check_subtree(self, level: int, index: int, root: bytes) -> None:
        row = _one("SELECT hash FROM ledger_subtree WHERE level = %s AND index = %s", level, index)
        if row is None or bytes(row[0]) != root:
            what = f"subtree {index} of level {level} is not that of its entries"
            self.found.note("subtree", what, index << 8 * level, ((index + 1) << 8 * level) - 1)

    def _check_subtrees(self) -> None:
        rows = _all("SELECT level, index FROM ledger_subtree WHERE (index + 1) << (8 * level) > %s", self.tree.size)
        for level, index in rows:
            self.found.note("subtree", f"subtree {index} of level {level} has no entries", self.tree.size)


def _leaf_or_none(entry: Entry) -> bytes | None:
    try:
        return entry.leaf.hash
    except (NotCanonical, ValueError):
        return None


def _check_bodies(batch: Sequence[Entry], found: Verified) -> None:
    """Compare payloads with what their events hold of them."""
    stored = [entry for entry in batch if entry.body is not None]
    for entry, read in zip(stored, _reads(stored), strict=True):
        digest = entry.event.payload_digest if entry.event else None
        wrong = ""
        if digest is None:
            wrong = "there is a payload that was never recorded"
        elif isinstance(read, Erased):
            found.erased += 1
        elif isinstance(read, Opened):
            found.payloads += 1
            if hashlib.sha256(read.salt + read.body).digest() != digest:
                wrong = "the payload is not the one that was recorded"
        else:
            wrong = f"the payload cannot be read ({read})"
        if wrong:
            found.note("payload", f"{wrong} at {entry.stream}:{entry.position}", _placed(entry))
    for entry in batch:
        if entry.body is None and entry.event is not None and entry.event.payload_digest is not None:
            found.note("payload", f"the payload is gone at {entry.stream}:{entry.position}", _placed(entry))


def _placed(entry: Entry) -> int | None:
    return None if entry.index < 0 else entry.index


def _reads(stored: Sequence[Entry]) -> Sequence[object]:
    """Return what the bodies hold; where one of them cannot be read, why it cannot."""
    rows = [(entry.stream, entry.position, entry.body) for entry in stored]
    try:
        return read_payloads(rows)
    except (AgentOpsError, ValueError):
        return [_read(row) for row in rows]


def _read(row: tuple[UUID, int, Raw | None]) -> object:
    try:
        return read_payloads([row])[0]
    except (AgentOpsError, ValueError) as error:
        return error


def _check_rows(found: Verified) -> None:
    """Compare tables with each other: what no index speaks of, streams with gaps, streams with another end."""
    _check_waiting(found)
    sql = """SELECT p.stream, p.position FROM ledger_payload p LEFT JOIN ledger_event e
    ON e.stream = p.stream AND e.position = p.position WHERE e.stream IS NULL LIMIT %s"""
    for stream, position in _all(sql, MOST):
        found.note("payload", f"there is a payload without an event at {stream}:{position}", _index(stream, position))
    sql = """SELECT stream, count(*), max(position) FROM ledger_event GROUP BY stream
    HAVING count(*) <> max(position) + 1 LIMIT %s"""
    for stream, count, last in _all(sql, MOST):
        found.note(
            "position", f"stream {stream} has {count} events, and its last position is {last}", _after_gap(stream)
        )
    for (stream,) in _all(_ORPHANS, MOST):
        found.note("stream", f"stream {stream} belongs to nothing", _last(stream))
    for table, key in OWNERS.items():
        sql = f"""SELECT o.{key}, o.position, coalesce(e.upto, 0) FROM {table} o FULL JOIN
        (SELECT stream, max(position) + 1 AS upto FROM ledger_event GROUP BY stream) e ON e.stream = o.{key}
        WHERE o.{key} IS NOT NULL AND o.position <> coalesce(e.upto, 0) LIMIT %s"""  # noqa: S608 - constants
        for stream, due, upto in _all(sql, MOST):
            found.note("stream", f"stream {stream} has {upto} events, and its row speaks of {due}", _last(stream))


_ORPHANS = f"""SELECT DISTINCT e.stream FROM ledger_event e
WHERE {" AND ".join(f"NOT EXISTS (SELECT 1 FROM {table} o WHERE o.{key} = e.stream)" for table, key in OWNERS.items())}
LIMIT %s"""  # noqa: S608 - constants of this module


def _check_waiting(found: Verified) -> None:
    """Check the events that have no index yet."""
    for batch in _batches(waiting()):
        for event in batch:
            found.waiting += 1
            if _leaf_or_none(event) != event.present.leaf_hash:
                found.note("leaf", f"a column of {event.stream}:{event.position} was changed")
        _check_bodies(batch, found)


def _batches(rows: Iterator[Entry]) -> Iterator[list[Entry]]:
    while batch := list(islice(rows, 500)):
        yield batch


def _after_gap(stream: UUID) -> int | None:
    """Return the index of the first event of a stream that does not stand where it should."""
    sql = """SELECT n.index FROM (SELECT e.stream, e.position, row_number() OVER (ORDER BY e.position) - 1 AS due
    FROM ledger_event e WHERE e.stream = %s) o JOIN ledger_entry n USING (stream, position)
    WHERE o.position <> o.due ORDER BY n.index LIMIT 1"""
    row = _one(sql, stream)
    return None if row is None else int(row[0])


def _last(stream: UUID) -> int | None:
    row = _one("SELECT max(index) FROM ledger_entry WHERE stream = %s", stream)
    return None if row is None or row[0] is None else int(row[0])


def _index(stream: UUID, position: int) -> int | None:
    row = _one("SELECT index FROM ledger_entry WHERE stream = %s AND position = %s", stream, position)
    return None if row is None else int(row[0])


def _one(sql: str, *values: Any) -> tuple[Any, ...] | None:
    rows = _all(sql, *values)
    return rows[0] if rows else None


def _all(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
