"""Invented logs for the drill: honest ones, written as an export and as what sinks and witnesses kept of it."""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentops.kernel.canonical import JSON, canonical_bytes
from agentops.kernel.clock import isoformat
from agentops.ledger import auditverify, merkle
from agentops.ledger.chain import GENESIS, link
from agentops.ledger.leaf import Leaf

ORIGIN = "ledger.drill.example"
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
SINK, FIRST, SECOND = "sink", "witness-1", "witness-2"
_WORDS = (
    "refund",
    "naïve café €",
    "<b>bold</b>",
    "\u202eright to left",
    '"quoted"\\',
    "日本語",
    "",
    "🎫 line\nbreak\t",
)


@dataclass(frozen=True)
class Signer:
    """A key that signs checkpoints, or cosigns them when ``algorithm`` is 4."""

    name: str
    private: Ed25519PrivateKey
    algorithm: int = auditverify.ED25519

    @classmethod
    def drawn(cls, name: str, random: Random, algorithm: int = auditverify.ED25519) -> "Signer":
        """Return a key made from the drill's own chance, so that a seed gives the same drill again."""
        return cls(name, Ed25519PrivateKey.from_private_bytes(random.randbytes(32)), algorithm)

    @property
    def _raw(self) -> bytes:
        return bytes((self.algorithm,)) + self.private.public_key().public_bytes_raw()

    @property
    def _id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + self._raw).digest()[:4]

    @property
    def vkey(self) -> str:
        """The public key in the form of C2SP signed-note."""
        return f"{self.name}+{self._id.hex()}+{base64.b64encode(self._raw).decode()}"

    def line(self, text: str, *, at: datetime) -> str:
        """Return the signature line of a note's text."""
        if self.algorithm == auditverify.COSIGNATURE:
            seconds = int(at.timestamp())
            signed = f"cosignature/v1\ntime {seconds}\n{text}".encode()
            raw = self._id + seconds.to_bytes(8, "big") + self.private.sign(signed)
        else:
            raw = self._id + self.private.sign(text.encode())
        return f"— {self.name} {base64.b64encode(raw).decode()}\n"


@dataclass
class Log:
    """An export in memory, and what others kept: by folder, the notes by size. Tampering changes a copy of it.

    ``expect`` are the arguments that the auditor gives: keys, quorum and what is known of the export's age.
    """

    events: list[dict[str, Any]]
    payloads: list[dict[str, Any]]
    checkpoints: dict[int, str]
    kept: dict[str, dict[int, str]]
    manifest: dict[str, Any]
    signer: Signer
    witnesses: dict[str, Signer]
    quorum: int
    until: datetime | None = None
    tail: int = 0
    raw_lines: dict[int, bytes] = field(default_factory=dict)
    made_at: dict[int, datetime] = field(default_factory=dict)

    def copy(self) -> "Log":
        """Return a copy whose lists and events may be changed."""
        return Log(
            [dict(event) for event in self.events],
            [dict(payload) for payload in self.payloads],
            dict(self.checkpoints),
            {name: dict(notes) for name, notes in self.kept.items()},
            deepcopy(self.manifest),
            self.signer,
            self.witnesses,
            self.quorum,
            self.until,
            self.tail,
            dict(self.raw_lines),
            self.made_at,
        )

    @property
    def sizes(self) -> list[int]:
        """The sizes that were signed, rising."""
        return sorted(self.made_at)

    def before(self, index: int) -> int:
        """Return the largest signed size that does not cover ``index``, 0 when each covers it."""
        return max((size for size in self.sizes if size <= index), default=0)

    def after(self, index: int) -> int:
        """Return the smallest signed size that covers ``index``."""
        return min(size for size in self.sizes if size > index)

    def write(self, folder: Path) -> list[Path]:
        """Write the export into ``folder / "export"``; return the folders of the others."""
        export = folder / "export"
        export.mkdir(parents=True)
        lines = [canonical_bytes(event) + b"\n" for event in self.events]
        for index, raw in self.raw_lines.items():
            lines[index] = raw
        (export / "events.jsonl").write_bytes(b"".join(lines))
        _write_lines(export / "payloads.jsonl", self.payloads)
        notes = ({"size": size, "note": note} for size, note in sorted(self.checkpoints.items()))
        _write_lines(export / "checkpoints.jsonl", notes)
        (export / "manifest.json").write_text(json.dumps(self.manifest))
        kept = []
        for name, found in self.kept.items():
            kept.append(folder / name)
            kept[-1].mkdir()
            if name == SINK:
                for size, note in found.items():
                    (kept[-1] / f"{size}.note").write_text(note)
            else:
                rows = ({"size": size, "note": note} for size, note in sorted(found.items()))
                _write_lines(kept[-1] / "seen.jsonl", rows)
        return kept

    @property
    def trust(self) -> tuple[list[str], list[str], int]:
        """What an auditor gives: keys of the log, keys of the witnesses, the quorum."""
        return [self.signer.vkey], [each.vkey for each in self.witnesses.values()], self.quorum


def _write_lines(path: Path, rows: Iterable[JSON]) -> None:
    path.write_bytes(b"".join(canonical_bytes(row) + b"\n" for row in rows))


def leaf_of(event: dict[str, Any]) -> bytes:
    """Return the leaf hash by the product's rule, which the verifier does not use."""
    return Leaf(
        stream=UUID(event["stream"]),
        position=event["position"],
        at=datetime.fromisoformat(event["at"]),
        tenant_id=UUID(event["tenant"]),
        type=event["type"],
        actor=event["actor"],
        refs=event["refs"],
        facts=event["facts"],
        payload_digest=None if event["payload"] is None else bytes.fromhex(event["payload"]),
    ).hash


def rehash(events: list[dict[str, Any]], since: int, until: int | None = None) -> None:
    """Number events and compute their leaves and chain anew, as who holds the database can."""
    chain = bytes.fromhex(events[since - 1]["chain"]) if since else GENESIS
    for index in range(since, len(events) if until is None else until):
        leaf = leaf_of(events[index])
        chain = link(chain, leaf)
        events[index] |= {"index": index, "leaf": leaf.hex(), "chain": chain.hex()}


def text_of(events: Sequence[dict[str, Any]], at: datetime, origin: str = ORIGIN) -> str:
    """Return the text of the checkpoint over ``events``."""
    root = base64.b64encode(merkle.root([bytes.fromhex(event["leaf"]) for event in events])).decode()
    return f"{origin}\n{len(events)}\n{root}\nchain {events[-1]['chain']}\ntime {isoformat(at)}\n"


def sign(log: Log, sizes: Iterable[int], signer: Signer, witnesses: Iterable[Signer] = ()) -> dict[int, str]:
    """Return checkpoints of these sizes over the log's events as they are now."""
    notes = {}
    for size in sizes:
        at = log.made_at.get(size, START)
        text = text_of(log.events[:size], at, signer.name)
        notes[size] = f"{text}\n{signer.line(text, at=at)}" + "".join(each.line(text, at=at) for each in witnesses)
    return notes


def honest(random: Random, *, most: int = 160) -> Log:
    """Return a log as the product writes it."""
    log = Log([], [], {}, {}, {}, Signer.drawn(ORIGIN, random), {}, 0)
    for name in (FIRST, SECOND):
        log.witnesses[name] = Signer.drawn(f"{name}.example", random, auditverify.COSIGNATURE)
    _fill(log, random, random.randint(24, most))
    rehash(log.events, 0)
    seal(log, random)
    return log


def seal(log: Log, random: Random) -> None:
    """Sign the log's events at random sizes, and have everyone keep what they keep."""
    count = len(log.events)
    sizes = {count, *random.sample(range(1, count), random.randint(3, 9))}
    # No two checkpoints are of one moment, also when their events are.
    later = {size: timedelta(seconds=9, microseconds=size) for size in sizes}
    log.made_at = {size: datetime.fromisoformat(log.events[size - 1]["at"]) + later[size] for size in sizes}
    log.checkpoints = sign(log, log.sizes, log.signer)
    log.kept[SINK] = dict(log.checkpoints)
    for name, witness in log.witnesses.items():
        log.kept[name] = {
            size: note + witness.line(note.partition("\n\n")[0] + "\n", at=log.made_at[size])
            for size, note in log.checkpoints.items()
        }
    log.quorum = random.choice((0, 1, 2))
    log.manifest = {
        "format": auditverify.EXPORT,
        "origin": ORIGIN,
        "size": count,
        "keys": [log.signer.vkey],
        "witnesses": [each.vkey for each in log.witnesses.values()],
        "payloads": True,
    }


def _fill(log: Log, random: Random, count: int) -> None:
    tenants = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(random.randint(2, 4))]
    streams = [(str(UUID(int=random.getrandbits(128), version=4)), random.choice(tenants)) for _ in range(count // 8)]
    positions = dict.fromkeys(streams, 0)
    at = START
    while len(log.events) < count:
        stream = random.choice(streams)
        at += timedelta(microseconds=random.randint(1, 90_000_000))
        burst = [positions[stream] + n for n in range(random.choice((1, 1, 1, 2)))][: count - len(log.events)]
        positions[stream] += len(burst)
        # A transaction that began earlier and appended later comes first.
        for position in random.sample(burst, len(burst)):
            log.events.append(_event(log, random, stream, position, at))


def _event(log: Log, random: Random, stream: tuple[str, str], position: int, at: datetime) -> dict[str, Any]:
    payload = None
    if random.random() < 0.7:
        body = {"text": random.choice(_WORDS), "n": random.randint(-9, 10**12), "list": [True, None, {"a": "b"}]}
        salt = random.choice((b"", random.randbytes(32)))
        payload = hashlib.sha256(salt + canonical_bytes(body)).hexdigest()
        if random.random() < 0.9:
            log.payloads.append({"index": len(log.events), "salt": salt.hex() or None, "body": body})
    return {
        "stream": stream[0],
        "position": position,
        "at": isoformat(at),
        "tenant": stream[1],
        "type": random.choice(("call.intended", "call.succeeded", "approval.approved", "session.opened")),
        "actor": random.choice(("agent:support", "user:alice", "sweep")),
        "refs": {"ticket": f"T-{random.randint(1, 99)}"},
        "facts": {"words": random.choice(_WORDS), "amount": random.randint(0, 10**9)},
        "payload": payload,
    }
