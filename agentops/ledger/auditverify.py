#!/usr/bin/env python3
"""Check a ledger without the product that wrote it: an export, a proof of one event, an evidence pack.

    python auditverify.py export DIR --key VKEY [--checkpoints DIR …] [--witness-key VKEY …] [--json]
    python auditverify.py prove FILE --key VKEY
    python auditverify.py consistency FILE --key VKEY
    python auditverify.py pack FILE --key VKEY

It needs Python 3.11 and the package ``cryptography``, and neither network nor database. Exit status: 0 everything
holds, 1 something was tampered with, 2 it cannot tell, because something is missing or cannot be read.

Sources: canonical JSON RFC 8785, for text, whole numbers, lists and objects with ASCII keys; tree and proofs RFC 6962
section 2.1 and RFC 9162 sections 2.1.3 and 2.1.4; notes, keys, checkpoints and cosignatures C2SP signed-note,
tlog-checkpoint and tlog-cosignature; signatures RFC 8032 (Ed25519).

One file of more than 400 lines, and nothing is imported from the product: an auditor reads this file alone, and an
error of the product must not be in its verifier too.
"""

# ruff: noqa: TRY301 - a check raises where it is made, and its place is known around it

import argparse
import base64
import binascii
import hashlib
import html
import io
import json
import sqlite3
import sys
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

EXPORT, PROOF, CONSISTENCY, PACK = (
    f"agentops-{what}/1" for what in ("ledger-export", "inclusion-proof", "consistency-proof", "evidence-pack")
)
LEAF_FIELDS = ("actor", "at", "facts", "payload", "position", "refs", "stream", "tenant", "type")
EVENT_FIELDS = frozenset((*LEAF_FIELDS, "index", "leaf", "chain"))
NO_CHAIN = bytes(32)
MAX_LINE = 64 * 2**20
MAX_SMALL = 2**20
MAX_PACK = 256 * 2**20
MAX_INTEGER = 2**53 - 1
MAX_LEVELS = 64
STREAMS_IN_MEMORY = 100_000
MOST_AHEAD = 100_000
OPEN_GAP = timedelta(hours=1)


class Bad(Exception):
    """Something does not hold. ``index`` is the first bad index; the bad event is one of ``since`` … ``until``."""

    def __init__(self, kind: str, what: str, *, index: int, until: int | None = None, since: int | None = None) -> None:
        super().__init__(what)
        self.kind = kind
        self.what = what
        self.index = index
        self.until = index if until is None else until
        self.since = since


class CannotTell(Exception):
    """Something that is needed is missing or cannot be read."""


class Malformed(ValueError):
    """A text from outside is not in its form."""


# --- Canonical JSON, hashes, chain -----------------------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("a key stands twice")
    return found


def _refuse(text: str) -> Any:
    raise Malformed(f"{text[:40]} is not a whole number")


def _whole(text: str) -> int:
    number = int(text)
    if not -MAX_INTEGER <= number <= MAX_INTEGER:
        raise Malformed("a number is too large to be exact")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_refuse, parse_constant=_refuse)
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)


def read_json(raw: bytes) -> Any:
    """Read one JSON value: no key twice, no fractions. Raises Malformed.

    Whole numbers stay exact in Python, so one of 2^53 or more, which nothing honest has, needs no check of its own.
    """
    try:
        return _DECODER.decode(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON as it is accepted here: {error}") from error


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 form of a value read by ``read_json``. Raises Malformed for half a surrogate pair."""
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no canonical form: {error}") from error


def leaf_hash(event: dict[str, Any]) -> bytes:
    """Return SHA-256(0x00 || canonical JSON of the nine recorded fields), 32 bytes: RFC 6962 section 2.1."""
    record = {name: event[name] for name in LEAF_FIELDS}
    return hashlib.sha256(b"\x00" + canonical(record)).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return SHA-256(0x01 || left || right), 32 bytes: RFC 6962 section 2.1."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def chain_hash(before: bytes, leaf: bytes) -> bytes:
    """Return SHA-256(0x02 || chain before || leaf), 32 bytes; before the first event the chain is 32 zero bytes."""
    return hashlib.sha256(b"\x02" + before + leaf).digest()


def commitment(salt: bytes, body: Any) -> bytes:
    """Return SHA-256(salt || canonical JSON): what an event holds of its payload. Older ones have an empty salt."""
    return hashlib.sha256(salt + canonical(body)).digest()


def from_hex(text: Any, *, size: int = 32) -> bytes:
    """Return the bytes of lower-case hex. Raises Malformed unless there are ``size`` of them."""
    if not isinstance(text, str) or len(text) != 2 * size or text.strip("0123456789abcdef"):
        raise Malformed(f"not {size} bytes in lower-case hex")
    return bytes.fromhex(text)


# --- Tree: RFC 6962 section 2.1, RFC 9162 sections 2.1.3.2 and 2.1.4.2 -----------------------------------------------


class Tree:
    """The roots of the full subtrees on a Merkle tree's right border: enough to go on and to know the root."""

    def __init__(self) -> None:
        self.size = 0
        self.roots: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash."""
        node, place = leaf, self.size
        while place & 1:
            node = node_hash(self.roots.pop(), node)
            place >>= 1
        self.roots.append(node)
        self.size += 1

    @property
    def root(self) -> bytes:
        """The root of all leaves so far, 32 bytes."""
        if not self.roots:
            return hashlib.sha256(b"").digest()
        node = self.roots[-1]
        for left in reversed(self.roots[:-1]):
            node = node_hash(left, node)
        return node


def is_included(leaf: bytes, index: int, size: int, path: list[bytes], root: bytes) -> bool:
    """Tell whether ``path`` proves that ``leaf`` is number ``index`` of the tree: RFC 9162, section 2.1.3.2."""
    if not 0 <= index < size:
        return False
    fn, sn, node = index, size - 1, leaf
    for other in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            node = node_hash(other, node)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            node = node_hash(node, other)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and node == root


def is_consistent(old: int, new: int, path: list[bytes], old_root: bytes, new_root: bytes) -> bool:
    """Tell whether ``path`` proves that the new tree begins with the old one: RFC 9162, section 2.1.4.2."""
    if not 0 < old <= new:
        return False
    if old == new:
        return not path and old_root == new_root
    nodes = [old_root, *path] if old & (old - 1) == 0 else path
    if not nodes:
        return False
    fn, sn = old - 1, new - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    first = second = nodes[0]
    for other in nodes[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            first, second = node_hash(other, first), node_hash(other, second)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            second = node_hash(second, other)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and first == old_root and second == new_root


# --- Notes: C2SP signed-note, tlog-checkpoint, tlog-cosignature ------------------------------------------------------

ED25519, COSIGNATURE = 1, 4
_SIGNATURE = "— "


@dataclass(frozen=True)
class Key:
    """A public key: its name, its four-byte id, and what it signs (1: notes, 4: cosignatures of a witness)."""

    name: str
    id: bytes
    algorithm: int
    public: Ed25519PublicKey


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise Malformed("not base64") from error


def read_key(text: str) -> Key:
    """Read a verifier key, ``name+id+base64(algorithm || key)``. Raises Malformed; the id must be the key's."""
    name, _, rest = text.strip().partition("+")
    stated, _, encoded = rest.partition("+")
    raw = _base64(encoded)
    if not name or not name.isprintable() or " " in name or len(raw) != 33 or raw[0] not in (ED25519, COSIGNATURE):
        raise Malformed("not a verifier key: name+id+base64, of an Ed25519 key")
    own = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
    if stated != own.hex():
        raise Malformed("the id of a verifier key is not that of its name and key")
    return Key(name, own, raw[0], Ed25519PublicKey.from_public_bytes(raw[1:]))


@dataclass(frozen=True)
class Note:
    """A signed text: the text with its last newline, and signatures as name, key id and what follows."""

    text: str
    signatures: tuple[tuple[str, bytes, bytes], ...]


def read_note(note: str) -> Note:
    """Split a note into text and signatures. Raises Malformed."""
    text, found, signed = note.rpartition("\n\n")
    if not found or not signed.endswith("\n") or len(note) > MAX_SMALL:
        raise Malformed("not a signed note")
    signatures = []
    for line in signed[:-1].split("\n"):
        name, _, encoded = line.removeprefix(_SIGNATURE).partition(" ")
        raw = _base64(encoded)
        if not line.startswith(_SIGNATURE) or not name or len(raw) < 5:
            raise Malformed("a line below the text of a note is no signature")
        signatures.append((name, raw[:4], raw[4:]))
    return Note(text + "\n", tuple(signatures))


def is_signed(note: Note, key: Key) -> bool | None:
    """Tell whether the note's signature by ``key`` is good; None when it has none by that key."""
    mine = [raw for name, key_id, raw in note.signatures if (name, key_id) == (key.name, key.id)]
    if not mine:
        return None
    return all(_verifies(note.text.encode(), raw, key) for raw in mine)


def _verifies(text: bytes, raw: bytes, key: Key) -> bool:
    if key.algorithm == COSIGNATURE:
        if len(raw) != 72:
            return False
        text = b"cosignature/v1\ntime %d\n" % int.from_bytes(raw[:8], "big") + text
        raw = raw[8:]
    try:
        key.public.verify(raw, text)
    except InvalidSignature:
        return False
    return True


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint says: how many events there were, the root over them, the chain's end, and when."""

    origin: str
    size: int
    root: bytes
    chain: bytes | None
    time: datetime | None


def read_checkpoint(text: str) -> Checkpoint:
    """Read a checkpoint's text: origin, size, root in base64, then extension lines. Raises Malformed."""
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1] or not lines[0] or not lines[1].isascii() or not lines[1].isdigit():
        raise Malformed("not a checkpoint")
    size, root = _whole(lines[1]), _base64(lines[2])
    if str(size) != lines[1] or len(root) != 32:
        raise Malformed("a checkpoint with a strange size or root")
    more = dict(line.partition(" ")[::2] for line in lines[3:-1])
    chain = from_hex(more["chain"]) if "chain" in more else None
    return Checkpoint(lines[0], size, root, chain, moment(more["time"]) if "time" in more else None)


def moment(text: Any) -> datetime:
    """Read an ISO time with its zone. Raises Malformed."""
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise Malformed("not a moment in ISO form") from error
    if found.tzinfo is None:
        raise Malformed("a moment without a zone")
    return found


@dataclass(frozen=True)
class Trust:
    """Whom the auditor believes: keys of the log, keys of witnesses, and how many of those a checkpoint needs."""

    keys: tuple[Key, ...]
    witnesses: tuple[Key, ...] = ()
    quorum: int = 0


def accept(note: str, trust: Trust, *, index: int = 0) -> tuple[Checkpoint, frozenset[str]]:
    """Return what a note says and which witnesses cosigned it. Raises Malformed, or Bad for ``index``."""
    signed = read_note(note)
    checkpoint = read_checkpoint(signed.text)
    verdicts = [is_signed(signed, key) for key in trust.keys if key.name == checkpoint.origin]
    if True not in verdicts:
        raise Bad("signature", "the checkpoint has no good signature by a key of yours for its log", index=index)
    if False in verdicts:
        raise Bad("signature", "one of the signatures of the checkpoint is forged", index=index)
    witnesses = {key.name: is_signed(signed, key) for key in trust.witnesses}
    if False in witnesses.values():
        raise Bad("cosignature", "the cosignature of a witness is forged", index=index)
    return checkpoint, frozenset(name for name, good in witnesses.items() if good)


# --- Checkpoints of an export, and those that others kept ------------------------------------------------------------


@dataclass
class Row:
    """A checkpoint somewhere. ``sources`` says where it lies: "" is the export. Some 500 bytes for 512 events."""

    said: Checkpoint
    sources: set[str]
    witnesses: set[str]


class Checkpoints:
    """All checkpoints by their size, and what is wrong with some before any event is read."""

    def __init__(self, trust: Trust) -> None:
        self.trust = trust
        self.rows: dict[int, list[Row]] = {}
        self.faults: dict[int, list[Bad]] = {}
        self.ignored = 0

    def load_export(self, folder: Path) -> None:
        """Read ``checkpoints.jsonl`` of an export. Raises CannotTell."""
        with opened(folder / "checkpoints.jsonl") as file:
            for number, line in enumerate(lines_of(file)):
                self._load_line(line, "", f"line {number + 1} of the export's checkpoints")

    def load_kept(self, folder: Path) -> None:
        """Read every note in a folder that somebody else kept, single ones and ``.jsonl``. Raises CannotTell."""
        before = sum(map(len, self.rows.values())) + sum(map(len, self.faults.values()))
        if not folder.is_dir():
            raise CannotTell(f"{folder} is no folder")
        merged = 0
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            with opened(path) as file:
                if path.suffix == ".jsonl":
                    for line in lines_of(file):
                        merged += self._load_line(line, str(folder), path.name)
                else:
                    note = file.read(MAX_SMALL + 1).decode("utf-8", "replace")
                    merged += self._load_note(note, str(folder), path.name, None)
        if not merged and before == sum(map(len, self.rows.values())) + sum(map(len, self.faults.values())):
            raise CannotTell(f"no checkpoint of this log was found in {folder}")

    def _load_line(self, line: bytes, source: str, where: str) -> bool:
        try:
            row = read_json(line)
            size, note = row["size"], row["note"]
            if not isinstance(note, str) or type(size) is not int or size < 0 or len(row) != 2:
                raise Malformed("not a size and a note")
        except (Malformed, KeyError, TypeError) as error:
            self.faults.setdefault(0, []).append(Bad("checkpoint", f"{where} cannot be read: {error}", index=0))
            return False
        return self._load_note(note, source, where, size)

    def _load_note(self, note: str, source: str, where: str, stated: int | None) -> bool:
        size = stated or 0
        try:
            if source and not self._ours(note):
                self.ignored += 1
                return False
            size = read_checkpoint(read_note(note).text).size
            said, witnesses = accept(note, self.trust)
            if stated not in (None, said.size):
                raise Malformed("its size is not that of its note")
        except Malformed as error:
            self.faults.setdefault(size, []).append(Bad("checkpoint", f"{where}: {error}", index=0))
            return False
        except Bad as bad:
            self.faults.setdefault(size, []).append(Bad(bad.kind, f"{where}: {bad.what}", index=0))
            return False
        self._keep(said, source, witnesses)
        return True

    def _ours(self, note: str) -> bool:
        return note.partition("\n")[0] in {key.name for key in self.trust.keys}

    def _keep(self, said: Checkpoint, source: str, witnesses: Iterable[str]) -> None:
        for row in self.rows.setdefault(said.size, []):
            if row.said == said:
                row.sources.add(source)
                row.witnesses.update(witnesses)
                return
        self.rows[said.size].append(Row(said, {source}, set(witnesses)))


# --- Files -----------------------------------------------------------------------------------------------------------


def opened(path: Path) -> BinaryIO:
    """Open a file for reading. Raises CannotTell."""
    try:
        return path.open("rb", buffering=2**20)
    except OSError as error:
        raise CannotTell(f"{path} cannot be read: {error.strerror}") from error


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, each with at most MAX_LINE bytes and one more when it is longer."""
    while line := file.readline(MAX_LINE + 1):
        yield line


def read_small(path: Path, form: str) -> dict[str, Any]:
    """Read a file that holds one JSON object whose ``format`` is ``form``. Raises CannotTell."""
    with opened(path) as file:
        raw = file.read(MAX_PACK + 1)
    return _of_form(raw, form, str(path))


def _of_form(raw: bytes, form: str, where: str) -> dict[str, Any]:
    try:
        found = read_json(raw)
    except Malformed as error:
        raise CannotTell(f"{where}: {error}") from error
    if not isinstance(found, dict) or found.get("format") != form:
        raise CannotTell(f"{where} is not of the format {form}")
    return found


# --- Streams ---------------------------------------------------------------------------------------------------------


class Streams:
    """Each stream belongs to one tenant, and its positions count from 0: none twice, none left out.

    A transaction that began earlier may commit later, so positions may come in another order; those that are ahead are
    remembered. Beyond STREAMS_IN_MEMORY streams, what is known of them lies in a temporary file.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, str]] = {}
        self._ahead: dict[tuple[str, int], tuple[int, str]] = {}
        self._disk: sqlite3.Connection | None = None

    def check(self, event: dict[str, Any], index: int) -> None:
        """Take the event's place in its stream. Raises Bad."""
        stream, position, tenant = event["stream"], event["position"], event["tenant"]
        due, owner = self._known.get(stream) or self._from_disk(stream) or (0, tenant)
        if tenant != owner:
            raise Bad("tenant", f"stream {stream} belongs to another tenant", index=index)
        if position < due or (stream, position) in self._ahead:
            raise Bad("position", f"position {position} of stream {stream} stands twice", index=index)
        if position != due:
            self._ahead[stream, position] = (index, event["at"])
            if len(self._ahead) > MOST_AHEAD:
                raise Bad("position", "too many positions are left out", index=next(iter(self._ahead.values()))[0])
            self._known[stream] = (due, owner)
            return
        due += 1
        while (stream, due) in self._ahead:
            del self._ahead[stream, due]
            due += 1
        self._known[stream] = (due, owner)
        if len(self._known) > STREAMS_IN_MEMORY:
            self._to_disk()

    def finish(self, last: str) -> int:
        """Return how many positions are still to come. Raises Bad for one that is long overdue at the time ``last``."""
        for (stream, position), (index, at) in self._ahead.items():
            if moment(last) - moment(at) > OPEN_GAP:
                what = f"stream {stream} has position {position}, and one before it was left out"
                raise Bad("position", what, index=index)
        return len(self._ahead)

    def close(self) -> None:
        """Remove the temporary file."""
        if self._disk is not None:
            self._disk.close()

    def _from_disk(self, stream: str) -> tuple[int, str] | None:
        if self._disk is None:
            return None
        found: tuple[int, str] | None = self._disk.execute(
            "SELECT due, owner FROM known WHERE stream = ?", (stream,)
        ).fetchone()
        return found

    def _to_disk(self) -> None:
        if self._disk is None:
            self._disk = sqlite3.connect("")  # a temporary file, which is gone with its connection
            self._disk.execute("CREATE TABLE known (stream TEXT PRIMARY KEY, due INT, owner TEXT) WITHOUT ROWID")
        rows = ((stream, due, owner) for stream, (due, owner) in self._known.items())
        self._disk.executemany("INSERT OR REPLACE INTO known VALUES (?, ?, ?)", rows)
        self._disk.commit()
        self._known.clear()


# --- An export -------------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """What was found. ``proven``: all events before this index are as a good checkpoint signed them.

    ``first_bad_index`` is the first index that does not fit; the first bad event is certainly one of ``bad_range``.
    """

    verdict: str = "ok"
    kind: str = ""
    what: str = ""
    first_bad_index: int | None = None
    bad_range: tuple[int, int] | None = None
    events: int = 0
    proven: int = 0
    witnessed: int = 0
    checkpoints: int = 0
    ignored: int = 0
    payloads: int = 0
    without_payload: int = 0
    open_positions: int = 0
    root: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The exit status."""
        return {"ok": 0, "tampered": 1}.get(self.verdict, 2)


class ExportCheck:
    """One pass over an export, in memory that does not grow with the events."""

    def __init__(self, folder: Path, checkpoints: Checkpoints, *, until: datetime | None, tail: int) -> None:
        self.folder = folder
        self.checkpoints = checkpoints
        self.until = until
        self.tail = tail
        self.report = Report(ignored=checkpoints.ignored)
        self.tree = Tree()
        self.before = self.chain = NO_CHAIN
        self.streams = Streams()
        self.agreed: dict[str, int] = {}
        self.held: Bad | None = None
        self.last_at = ""
        self.manifest = read_small(folder / "manifest.json", EXPORT)
        self.payloads: Payloads | None = None

    def run(self) -> None:
        """Check everything. Raises Bad at the first thing that does not hold, CannotTell when something is missing."""
        try:
            self._check_manifest()
            self._check_checkpoints()
            with ExitStack() as files:
                if self.manifest.get("payloads") is True:
                    self.payloads = Payloads(files.enter_context(opened(self.folder / "payloads.jsonl")))
                self._check_events(files.enter_context(opened(self.folder / "events.jsonl")))
            if self.held is not None:
                raise self.held
            self._check_end()
        except Bad as bad:
            raise self._placed(bad) from None
        finally:
            self.streams.close()
            self.report.events = self.tree.size
            self.report.root = self.tree.root.hex()

    def _check_events(self, file: BinaryIO) -> None:
        for line in lines_of(file):
            self._check_event(self._read(line))
            if self.tree.size in self.checkpoints.rows or self.tree.size in self.checkpoints.faults:
                self._check_checkpoints()

    def _placed(self, bad: Bad) -> Bad:
        """Return what was found with its range; what was held back comes first when it came first."""
        held = self.held
        if held is not None and bad is not held and held.index < bad.index:
            bad = held
        elif held is not None and bad is not held:
            bad.until = min(bad.until, held.index)
        if bad.since is None:
            bad.since = min(self.report.proven, bad.index)
        return bad

    def _check_manifest(self) -> None:
        named = self.manifest.get("keys")
        known = {(key.name, key.id) for key in self.checkpoints.trust.keys}
        try:
            keys = [read_key(text) for text in named] if isinstance(named, list) else []
        except (Malformed, AttributeError):
            keys = []
        if not keys or any((key.name, key.id) not in known for key in keys):
            raise Bad("manifest", "the manifest names no key of the log, or one that you did not give", index=0)
        if any(key.name != self.manifest.get("origin") for key in keys):
            raise Bad("manifest", "the manifest's origin is not the log of its keys", index=0)

    def _read(self, line: bytes) -> dict[str, Any]:
        index = self.tree.size
        try:
            if len(line) > MAX_LINE or not line.endswith(b"\n"):
                raise Malformed("the line is cut or too long")
            found = read_json(line)
            if not isinstance(found, dict) or found.keys() != EVENT_FIELDS:
                raise Malformed("not an event with its twelve fields")
            if type(found["index"]) is not int or type(found["position"]) is not int:
                raise Malformed("an index or a position is no number")
        except Malformed as error:
            raise Bad("line", f"line {index + 1} cannot be read: {error}", index=index) from error
        return found

    def _check_event(self, event: dict[str, Any]) -> None:
        index, stated = self.tree.size, event["index"]
        if stated != index:
            raise Bad("index", f"index {index} was due, and {stated} came", index=max(min(index, stated), 0))
        leaf = self._check_hashes(event, index)
        self.tree.append(leaf)
        try:
            self.streams.check(event, index)
        except Bad as bad:
            # Found in the streams, the cause may lie before it: the next checkpoint says whether it does.
            self.held = self.held or bad
        except (TypeError, AttributeError) as error:
            raise Bad("line", f"stream, tenant or time of index {index} is no text", index=index) from error
        if self.payloads is not None:
            self.report.payloads, self.report.without_payload = self.payloads.check(event, index)
        self.last_at = event["at"]

    def _check_hashes(self, event: dict[str, Any], index: int) -> bytes:
        try:
            leaf = leaf_hash(event)
        except Malformed as error:
            raise Bad("line", f"index {index}: {error}", index=index) from error
        if leaf.hex() != event["leaf"]:
            raise Bad("leaf", f"a field of index {index} was changed: it does not fit its leaf hash", index=index)
        stated, due = event["chain"], chain_hash(self.chain, leaf)
        if due.hex() != stated:
            if index and chain_hash(self.before, leaf).hex() == stated:
                what = f"index {index - 1} was put in: what stands after it follows from what stands before it"
                raise Bad("inserted", what, index=index - 1)
            raise Bad("chain", f"index {index} does not follow from the event before it", index=index)
        self.before, self.chain = self.chain, due
        return leaf

    def _check_checkpoints(self) -> None:
        """Compare what is read so far with the checkpoints of exactly this size."""
        size = self.tree.size
        for bad in self.checkpoints.faults.get(size, ()):
            raise Bad(bad.kind, bad.what, index=self.report.proven, until=max(size - 1, 0))
        rows = self.checkpoints.rows.get(size, ())
        for row in rows:
            self._check_row(row, forked=len({row.said.root for row in rows}) > 1)
        if rows and not any("" in row.sources for row in rows):
            what = f"the checkpoint of size {size}, which others kept, is missing in the export"
            raise Bad("missing checkpoint", what, index=self.report.proven, until=max(size - 1, 0))
        if rows:
            self.report.checkpoints += 1
            self.report.proven = size
            witnesses = {name for row in rows for name in row.witnesses}
            if len(witnesses) >= self.checkpoints.trust.quorum:
                self.report.witnessed = size
            for source in {source for row in rows for source in row.sources}:
                self.agreed[source] = size
            if self.held is not None:
                raise self.held

    def _check_row(self, row: Row, *, forked: bool) -> None:
        size = self.tree.size
        where = ", ".join(sorted(source or "the export" for source in row.sources))
        since = max(self.agreed.get(source, 0) for source in row.sources)
        if row.said.root != self.tree.root:
            kind, words = ("fork", "Two histories were signed. ") if forked else ("root", "")
            what = f"{words}The events are not those that the checkpoint of size {size} signed (kept in {where})"
            raise Bad(kind, what, index=since, until=max(size - 1, 0), since=since)
        if row.said.chain not in (None, self.chain):
            what = f"the chain is not the one that the checkpoint of size {size} signed (kept in {where})"
            raise Bad("signed chain", what, index=since, until=max(size - 1, 0), since=since)

    def _check_end(self) -> None:
        size, proven = self.tree.size, self.report.proven
        for later in sorted({*self.checkpoints.rows, *self.checkpoints.faults}):
            if later > size:
                self._check_later(later)
        if not self.checkpoints.rows:
            raise CannotTell("there is no checkpoint, so nothing says who wrote this")
        if size > proven + self.tail:
            raise Bad("beyond", f"no checkpoint covers the events from {proven} on", index=proven, until=size - 1)
        if self.checkpoints.trust.quorum and size > self.report.witnessed + self.tail:
            what = f"too few witnesses saw the events from {self.report.witnessed} on"
            raise Bad("unwitnessed", what, index=self.report.witnessed, until=size - 1)
        if self.manifest.get("size") != size:
            stated = self.manifest.get("size")
            index = min(size, stated) if type(stated) is int and stated >= 0 else 0
            raise Bad("manifest", f"the manifest speaks of {stated} events, and there are {size}", index=index)
        self.report.open_positions = self.streams.finish(self.last_at) if size else 0
        if self.payloads is not None:
            self.payloads.check_end(size)

    def _check_later(self, later: int) -> None:
        size, rows = self.tree.size, self.checkpoints.rows.get(later, [])
        for bad in self.checkpoints.faults.get(later, ()):
            raise Bad(bad.kind, bad.what, index=self.report.proven, until=max(later - 1, 0))
        if self.until is None or not all(row.said.time and row.said.time > self.until for row in rows):
            what = f"the events from {size} on are missing: a checkpoint signed {later} of them"
            raise Bad("tail", what, index=size)


class Payloads:
    """The bodies beside the events, in the order of their index. One that is missing may have been erased."""

    def __init__(self, file: BinaryIO) -> None:
        self._lines = lines_of(file)
        self._next: dict[str, Any] | None = None
        self._found = self._without = 0
        self._advance(-1)

    def check(self, event: dict[str, Any], index: int) -> tuple[int, int]:
        """Compare the event's body with what the event holds of it. Raises Bad. Returns the counts so far."""
        row = self._next
        if row is None or row["index"] != index:
            # One that comes too late, or a second time, is left over at the end.
            self._without += event["payload"] is not None
            return self._found, self._without
        try:
            held = commitment(b"" if row["salt"] is None else from_hex(row["salt"]), row["body"]).hex()
        except Malformed as error:
            raise Bad("payload", f"the payload of index {index} cannot be read: {error}", index=index) from error
        if held != event["payload"]:
            raise Bad("payload", f"the payload of index {index} is not the one that was recorded", index=index)
        self._found += 1
        self._advance(index)
        return self._found, self._without

    def check_end(self, size: int) -> None:
        """Require that no payload is left over. Raises Bad."""
        if self._next is not None:
            index = self._next["index"]
            raise Bad("payload", f"there is a payload too many, for index {index}", index=min(index, size))

    def _advance(self, before: int) -> None:
        line = next(self._lines, None)
        try:
            row = None if line is None else read_json(line)
            if row is not None and (row.keys() != {"index", "salt", "body"} or type(row["index"]) is not int):
                raise Malformed("not a payload with index, salt and body")
        except (Malformed, AttributeError) as error:
            raise Bad(
                "payload", f"the payload after index {before} cannot be read: {error}", index=before + 1
            ) from error
        self._next = row


def verify_export(
    folder: Path,
    trust: Trust,
    *,
    kept: Iterable[Path] = (),
    until: datetime | None = None,
    tail: int = 0,
) -> Report:
    """Check an export and what others kept of its checkpoints.

    ``until``: later checkpoints may lack their events, because the export is that old. ``tail``: so many events at the
    end need no checkpoint yet. Never raises for what a file holds.
    """
    check = None
    try:
        checkpoints = Checkpoints(trust)
        checkpoints.load_export(folder)
        for each in kept:
            checkpoints.load_kept(each)
        check = ExportCheck(folder, checkpoints, until=until, tail=tail)
        check.run()
    except Bad as bad:
        return judged(check.report if check else Report(), bad)
    except (CannotTell, OSError, sqlite3.Error) as error:
        return judged(check.report if check else Report(), error)
    return check.report


def judged(report: Report, error: Exception) -> Report:
    """Return the report with what was found."""
    report.verdict, report.what = "cannot tell", str(error)
    if isinstance(error, Bad):
        report.verdict, report.kind = "tampered", error.kind
        report.first_bad_index = error.index
        report.bad_range = (error.index if error.since is None else error.since, error.until)
    return report


# --- One event, two checkpoints, one action --------------------------------------------------------------------------


def check_proof(proof: dict[str, Any], said: Checkpoint) -> int:
    """Check that an event is in the log that ``said`` speaks of, and its payload. Returns its index. Raises Bad."""
    index = proof.get("index")
    if type(index) is not int:
        raise CannotTell("a proof does not say which index it is about")
    try:
        event, path = proof["event"], proof["path"]
        if event.keys() != set(LEAF_FIELDS) or not isinstance(path, list) or len(path) > MAX_LEVELS:
            raise Malformed("its event or its path is not in form")
        leaf, nodes = leaf_hash(event), [from_hex(node) for node in path]
        held = None
        if "body" in proof:
            held = commitment(b"" if proof.get("salt") is None else from_hex(proof["salt"]), proof["body"]).hex()
    except (Malformed, KeyError, AttributeError) as error:
        raise CannotTell(f"the proof of index {index} cannot be read: {error}") from error
    if not is_included(leaf, index, said.size, nodes, said.root):
        raise Bad("proof", f"the event is not number {index} of the log that the checkpoint signed", index=index)
    if held is not None and held != event["payload"]:
        raise Bad("payload", f"the payload of index {index} is not the one that was recorded", index=index)
    return index


def _accepted(note: Any, trust: Trust) -> tuple[Checkpoint, frozenset[str]]:
    """Return a checkpoint that enough witnesses signed. Raises CannotTell and Bad."""
    try:
        said, witnesses = accept(note if isinstance(note, str) else "", trust)
    except Malformed as error:
        raise CannotTell(f"the checkpoint cannot be read: {error}") from error
    if len(witnesses) < trust.quorum:
        raise Bad("unwitnessed", f"{len(witnesses)} witnesses signed, {trust.quorum} are needed", index=said.size)
    return said, witnesses


def verify_proof(path: Path, trust: Trust) -> Report:
    """Check a file with the inclusion proof of one event. Never raises for what the file holds."""
    report = Report()
    try:
        proof = read_small(path, PROOF)
        said, witnesses = _accepted(proof.get("note"), trust)
        report.more = {"index": check_proof(proof, said), "size": said.size, "witnesses": sorted(witnesses)}
        report.more |= {"event": proof["event"], "at": said.time and said.time.astimezone(UTC).isoformat()}
    except (Bad, CannotTell, OSError) as error:
        return judged(report, error)
    return report


def verify_consistency(path: Path, trust: Trust) -> Report:
    """Check a file that proves that a later checkpoint only added to an earlier one."""
    report = Report()
    try:
        proof = read_small(path, CONSISTENCY)
        old, new = _accepted(proof.get("old"), trust)[0], _accepted(proof.get("new"), trust)[0]
        nodes = proof.get("path")
        try:
            hashes = [from_hex(node) for node in nodes[: MAX_LEVELS * 2]]  # type: ignore[index]  # what is no list ends in TypeError, caught below
        except (Malformed, TypeError) as error:
            raise CannotTell(f"the path cannot be read: {error}") from error
        if old.origin != new.origin or not is_consistent(old.size, new.size, hashes, old.root, new.root):
            what = f"the checkpoint of size {new.size} does not continue the one of size {old.size}"
            raise Bad("consistency", what, index=0, until=max(old.size - 1, 0))
        report.more = {"old": old.size, "new": new.size}
    except (Bad, CannotTell, OSError) as error:
        return judged(report, error)
    return report


def looked_up(proof: dict[str, Any], place: list[Any]) -> Any:
    """Return what stands at ``place`` of a proven event: ``["facts", "tool"]``, ``["body", "lines", 0]``."""
    found: Any = {**proof["event"], "body": proof.get("body")}
    for step in place:
        found = found[step]
    return found


def verify_pack(path: Path, trust: Trust) -> Report:
    """Check an evidence pack: each event is in the log, each statement is what its event says, the page is theirs."""
    report = Report()
    try:
        with opened(path) as file:
            members = _members(file.read(MAX_PACK + 1))
        pack = _of_form(members["pack.json"], PACK, "pack.json")
        report.more = check_pack(pack, trust)
        if page_of(pack).encode() != members["evidence.html"]:
            raise Bad("page", "the page shows something else than what was proven", index=report.more["first"])
    except (Bad, CannotTell, OSError) as error:
        return judged(report, error)
    return report


def _members(raw: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as file:
            infos = {info.filename: info for info in file.infolist()}
            if len(raw) > MAX_PACK or sum(info.file_size for info in infos.values()) > MAX_PACK:
                raise CannotTell("the pack is too large")
            if len(infos) != len(file.infolist()):
                raise CannotTell("the pack has two members of one name")
            return {name: file.read(infos[name]) for name in ("pack.json", "evidence.html")}
    except (zipfile.BadZipFile, zipfile.LargeZipFile, KeyError, NotImplementedError, EOFError, RuntimeError) as error:
        raise CannotTell(f"the pack cannot be read: {error}") from error
    except ValueError as error:
        raise CannotTell(f"the pack cannot be read: {error}") from error


def check_pack(pack: dict[str, Any], trust: Trust) -> dict[str, Any]:
    """Check the proofs and the statements of a pack. Returns counts. Raises Bad and CannotTell."""
    said, witnesses = _accepted(pack.get("note"), trust)
    proofs, claims = pack.get("proofs"), pack.get("claims")
    if not isinstance(proofs, list) or not isinstance(claims, list) or not proofs:
        raise CannotTell("the pack has no proofs or no statements")
    try:
        known = {check_proof(proof, said): proof for proof in proofs}
        for claim in claims:
            index = claim["index"]
            if {*claim} != {"section", "label", "value", "index", "place"}:
                raise CannotTell("a statement has other members than it should")
            if index not in known:
                raise Bad("statement", f"{claim['label']!r} refers to an event without a proof", index=index)
            if canonical(looked_up(known[index], claim["place"])) != canonical(claim["value"]):
                raise Bad("statement", f"{claim['label']!r} is not what index {index} says", index=index)
    except (KeyError, TypeError, IndexError, AttributeError, Malformed) as error:
        raise CannotTell(f"a proof or a statement of the pack cannot be read: {error}") from error
    return {"proofs": len(known), "claims": len(claims), "first": min(known), "size": said.size} | {
        "witnesses": sorted(witnesses)
    }


# --- The page of an evidence pack ------------------------------------------------------------------------------------

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1c1f24 }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .35rem .6rem }
th { width: 14rem; font-weight: 600 } tr { border-top: 1px solid #d5d9e0 } td.n { width: 5rem; color: #59606b }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: 13px/1.45 ui-monospace, monospace }
"""


def shown(value: Any) -> str:
    """Return a value as HTML: escaped, and characters that cannot be seen by their number."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
    seen = "".join(each if each.isprintable() or each == "\n" else f"\u27e8U+{ord(each):04X}\u27e9" for each in text)
    return f"<pre>{html.escape(seen)}</pre>"


def page_of(pack: dict[str, Any]) -> str:
    """Return the page of a pack of this format: the same bytes for the same pack, without a script or a link."""
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
        f"<title>Evidence of a call</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Evidence of a call</h1>\n",
        "<p>Each line names the event that says so, by its index in the log. README.txt tells how to check it.</p>\n",
    ]
    section = None
    for claim in pack["claims"]:
        if claim["section"] != section:
            parts.append("" if section is None else "</table>\n")
            section = claim["section"]
            parts.append(f"<h2>{html.escape(str(section))}</h2>\n<table>\n")
        parts.append(f"<tr><th>{html.escape(str(claim['label']))}</th><td>{shown(claim['value'])}</td>")
        parts.append(f'<td class="n">{int(claim["index"])}</td></tr>\n')
    parts.append("</table>\n<h2>Events</h2>\n" if section is not None else "<h2>Events</h2>\n")
    for proof in pack["proofs"]:
        words = {**proof["event"], "payload": proof.get("body", proof["event"]["payload"])}
        parts.append(f"<h3>Index {int(proof['index'])}</h3>\n{shown(words)}\n")
    parts.append(f"<h2>Checkpoint</h2>\n{shown(pack['note'])}\n</body>\n</html>\n")
    return "".join(parts)


# --- Command line ----------------------------------------------------------------------------------------------------


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="auditverify", description="Check a ledger without the product.")
    what = parser.add_subparsers(dest="what", required=True)
    for name, words in (
        ("export", "an export folder, with the checkpoints that others kept"),
        ("prove", "a file with the proof of one event"),
        ("consistency", "a file that proves that a later checkpoint continues an earlier one"),
        ("pack", "an evidence pack (zip)"),
    ):
        command = what.add_parser(name, help=words)
        command.add_argument("path", type=Path)
        command.add_argument("--key", action="append", default=[], metavar="VKEY", help="public key of the log")
        command.add_argument("--witness-key", action="append", default=[], metavar="VKEY", help="of a witness")
        command.add_argument("--quorum", type=int, help="so many witnesses are needed; all of them by default")
        command.add_argument("--json", action="store_true", help="print the report as JSON")
        if name == "export":
            command.add_argument("--checkpoints", action="append", default=[], type=Path, metavar="DIR")
            command.add_argument("--until", help="the export is of this time: later checkpoints may lack their events")
            command.add_argument(
                "--allow-tail", type=int, default=0, metavar="N", help="events that nothing covers yet"
            )
    return parser.parse_args(given)


def trust_of(keys: Iterable[str], witnesses: Iterable[str], quorum: int | None) -> Trust:
    """Read the auditor's keys. Raises CannotTell."""
    try:
        log, others = tuple(map(read_key, keys)), tuple(map(read_key, witnesses))
    except Malformed as error:
        raise CannotTell(f"a key cannot be read: {error}") from error
    if not log or any(key.algorithm != ED25519 for key in log):
        raise CannotTell("give the public key of the log with --key")
    needed = len({key.name for key in others}) if quorum is None else quorum
    if not 0 <= needed <= len({key.name for key in others}):
        raise CannotTell("the quorum is larger than the number of witnesses' keys")
    return Trust(log, others, needed)


def _run(given: argparse.Namespace) -> Report:
    try:
        trust = trust_of(given.key, given.witness_key, given.quorum)
        until = None if getattr(given, "until", None) is None else moment(given.until)
    except (CannotTell, Malformed) as error:
        return judged(Report(), error)
    if given.what == "export":
        return verify_export(given.path, trust, kept=given.checkpoints, until=until, tail=max(given.allow_tail, 0))
    single = {"prove": verify_proof, "consistency": verify_consistency, "pack": verify_pack}
    return single[given.what](given.path, trust)


def _words(report: Report, what: str) -> str:
    if report.verdict == "tampered":
        low, high = report.bad_range or (0, 0)
        place = f"first bad index {report.first_bad_index}" + ("" if low == high else f" (one of {low} to {high})")
        return f"TAMPERED ({report.kind}): {place}. {report.what}"
    if report.verdict != "ok":
        return f"CANNOT TELL: {report.what}"
    if what == "export":
        told = f"{report.events} events, {report.proven} proven by {report.checkpoints} checkpoints"
        missing = f", {report.without_payload} payloads erased" if report.without_payload else ""
        return f"OK: {told}, {report.payloads} payloads{missing}. Root {report.root}"
    return "OK: " + ", ".join(f"{name} {value}" for name, value in report.more.items() if name != "event")


def main(given: list[str] | None = None) -> int:
    """Check what the command line names and print the verdict. Returns the exit status."""
    arguments = _arguments(given)
    report = _run(arguments)
    if arguments.json:
        sys.stdout.write(json.dumps(vars(report), ensure_ascii=True, sort_keys=True) + "\n")
    else:
        words = _words(report, arguments.what)
        seen = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in words)
        sys.stdout.write(
            seen.encode(sys.stdout.encoding or "ascii", "backslashreplace").decode(sys.stdout.encoding) + "\n"
        )
    return report.status


if __name__ == "__main__":
    sys.exit(main())
