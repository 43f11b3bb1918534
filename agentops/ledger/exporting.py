"""Writing the log out, so that it can be verified where the product is not: see docs/evidence-verify.md."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agentops.kernel.canonical import JSON, canonical_bytes
from agentops.kernel.clock import isoformat
from agentops.kernel.errors import AgentOpsError
from agentops.ledger import auditverify
from agentops.ledger.entries import (
    AT_ONCE,
    Entry,
    Signed,
    entries,
    event_record,
    last_checkpoint,
    signed_checkpoints,
)
from agentops.ledger.payloads import Opened, read_payloads

EVENTS, PAYLOADS, CHECKPOINTS, MANIFEST = "events.jsonl", "payloads.jsonl", "checkpoints.jsonl", "manifest.json"


class NothingToExport(AgentOpsError):
    """There is no checkpoint yet, so nothing of the log could be proven to anybody."""

    code = "NOTHING_TO_EXPORT"
    next_step = "Wait until the first checkpoint was signed; manage.py ledger checkpoint signs one at once."


class ExportRefused(AgentOpsError):
    """The export cannot be written there, or under these keys."""

    code = "EXPORT_REFUSED"
    next_step = "Name a folder that does not exist yet, or is empty."


@dataclass(frozen=True)
class Exported:
    """What was written: events, bodies among them, checkpoints, and when the last of these was signed (ISO, UTC)."""

    size: int
    payloads: int
    checkpoints: int
    until: str


def export(folder: Path, *, keys: Sequence[str], payloads: bool = False, quorum: int = 0) -> Exported:
    """Write the log up to the last checkpoint that ``quorum`` witnesses cosigned into an empty folder.

    ``keys`` are the log's public keys (C2SP verifier keys), the present one first. Bodies that were erased are left
    out. The log may grow meanwhile: what has an index never changes. The manifest comes last, so that a folder with
    one is whole. Raises NothingToExport, ExportRefused, EventGone and NotCanonical.
    """
    last = last_checkpoint(quorum=quorum)
    if last is None:
        raise NothingToExport("no checkpoint was signed yet, or too few witnesses cosigned")
    origin = _origin(keys)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExportRefused(f"{folder} is not an empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    bodies = _write_events(folder, last.size, payloads=payloads)
    signed = 0
    with (folder / CHECKPOINTS).open("wb") as file:
        for checkpoint in signed_checkpoints(upto=last.size):
            file.write(_line({"size": checkpoint.size, "note": checkpoint.note}))
            signed += 1
    manifest = {"format": auditverify.EXPORT, "origin": origin, "size": last.size}
    (folder / MANIFEST).write_bytes(_line({**manifest, "keys": list(keys), "payloads": payloads}))
    return Exported(last.size, bodies, signed, _time_of(last))


def _origin(keys: Sequence[str]) -> str:
    names = {key.partition("+")[0] for key in keys}
    if len(names) != 1:
        raise ExportRefused("the keys are of no log or of several", next_step="Name the public keys of this log.")
    return names.pop()


def _time_of(checkpoint: Signed) -> str:
    said = auditverify.read_checkpoint(auditverify.read_note(checkpoint.note).text)
    return isoformat(said.time) if said.time else ""


def _write_events(folder: Path, size: int, *, payloads: bool) -> int:
    found = 0
    with ExitStack() as stack:
        events = stack.enter_context((folder / EVENTS).open("wb"))
        bodies = stack.enter_context((folder / PAYLOADS).open("wb")) if payloads else None
        for batch in _batches(size):
            events.write(b"".join(_line(event_record(entry)) for entry in batch))
            if bodies is None:
                continue
            read = read_payloads((entry.stream, entry.position, entry.body) for entry in batch)
            for entry, payload in zip(batch, read, strict=True):
                if isinstance(payload, Opened):
                    row = {"index": entry.index, "salt": payload.salt.hex() or None, "body": payload.value}
                    bodies.write(_line(row))
                    found += 1
    return found


def _batches(size: int) -> Iterator[list[Entry]]:
    for start in range(0, size, AT_ONCE):
        yield list(entries(start, min(start + AT_ONCE, size)))


def _line(row: JSON) -> bytes:
    return canonical_bytes(row) + b"\n"
