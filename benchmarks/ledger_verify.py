"""How fast an auditor verifies an export, and how much memory that takes."""

import hashlib
import statistics
import tempfile
import time
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from agentops.kernel.canonical import canonical_bytes
from agentops.kernel.clock import isoformat
from agentops.ledger import auditverify
from agentops.ledger.checkpointing import ENTRIES
from agentops.ledger.checkpoints import Checkpoint, format_checkpoint
from agentops.ledger.drilling.logs import START, leaf_of
from agentops.ledger.merkle import Frontier
from agentops.ledger.notes import SigningKey, sign_note

MOST, ROUNDS = 200_000, 5
KEY = SigningKey("benchmark.example", bytes(range(32)))


def measure(*, rounds: int, events: int) -> dict[str, Any]:
    """Return ``verify_events_s`` for an export of up to MOST events, and the memory beyond that of a tenth of them."""
    count = min(events, MOST)
    trust = auditverify.trust_of([KEY.public.vkey()], [], None)
    with tempfile.TemporaryDirectory() as name:
        small, whole = Path(name) / "small", Path(name) / "whole"
        for folder, size in ((small, count // 10), (whole, count)):
            _write(folder, size)
        speeds = []
        for _ in range(min(rounds, ROUNDS)):
            began = time.perf_counter()
            report = auditverify.verify_export(whole, trust)
            speeds.append(count / (time.perf_counter() - began))
            assert report.verdict == "ok", report.what
        grown = _peak(whole, trust) - _peak(small, trust)
    return {"verify_events_s": round(statistics.median(speeds)), "verify_more_memory_mb": round(grown / 1e6, 1)}


def _peak(folder: Path, trust: auditverify.Trust) -> int:
    tracemalloc.start()
    assert auditverify.verify_export(folder, trust).verdict == "ok"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _write(folder: Path, count: int) -> None:
    """Write an export of events such as sessions have them: thirty to a stream."""
    folder.mkdir()
    random, tree, chain = Random(1), Frontier(), bytes(32)
    with (folder / "events.jsonl").open("wb") as events, (folder / "checkpoints.jsonl").open("wb") as checkpoints:
        for index in range(count):
            event = _event(random, index)
            leaf = leaf_of(event)
            chain = auditverify.chain_hash(chain, leaf)
            tree.append(leaf)
            events.write(canonical_bytes({**event, "index": index, "leaf": leaf.hex(), "chain": chain.hex()}) + b"\n")
            if tree.size % ENTRIES == 0 or tree.size == count:
                text = format_checkpoint(Checkpoint(KEY.name, tree.size, tree.root, chain, START))
                note = sign_note(text, [KEY]).encoded().decode()
                checkpoints.write(canonical_bytes({"size": tree.size, "note": note}) + b"\n")
    manifest = {"format": auditverify.EXPORT, "origin": KEY.name, "size": count, "keys": [KEY.public.vkey()]}
    (folder / "manifest.json").write_bytes(canonical_bytes({**manifest, "payloads": False}))


def _event(random: Random, index: int) -> dict[str, Any]:
    stream, position = divmod(index, 30)
    return {
        "stream": str(UUID(int=(stream << 64) + 0x1234)),
        "position": position,
        "at": isoformat(START),
        "tenant": str(UUID(int=7)),
        "type": "call.intended",
        "actor": "agent:Support v1",
        "refs": {"invocation": str(UUID(int=random.getrandbits(128)))},
        "facts": {"tool": "issue_refund", "effect": "allow", "rules": ["grant.limit"], "tokens": 1912, "took_ms": 840},
        "payload": hashlib.sha256(index.to_bytes(8, "big")).hexdigest(),
    }
