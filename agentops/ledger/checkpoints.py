"""The text of a checkpoint: what the log was at one size (pure).

As C2SP's tlog-checkpoint has it: the log's origin, the size in decimal digits, the root in base64, each on a line of
its own; then extension lines. Ours are ``chain`` with the last link of the hash chain in hex, and ``time`` in ISO
8601, UTC.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import datetime

from agentops.kernel.clock import isoformat
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.merkle import HASH_BYTES, MOST_LEAVES

MOST_EXTENSIONS = 20
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_CHAIN = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z")


class BadCheckpoint(AgentOpsError):
    """A text that is no checkpoint."""

    code = "BAD_CHECKPOINT"
    next_step = "Get the checkpoint again from where it was made."


@dataclass(frozen=True)
class Checkpoint:
    """The log ``origin`` at ``size`` entries: root and link have 32 bytes, ``at`` is in UTC.

    A checkpoint of another program has no link and no time.
    """

    origin: str
    size: int
    root: bytes
    chain_hash: bytes | None = None
    at: datetime | None = None


def format_checkpoint(checkpoint: Checkpoint) -> str:
    """Return the text of a note. Raises BadCheckpoint when it would not be read as the same."""
    lines = [checkpoint.origin, str(checkpoint.size), base64.b64encode(checkpoint.root).decode()]
    if checkpoint.chain_hash is not None:
        lines.append(f"chain {checkpoint.chain_hash.hex()}")
    if checkpoint.at is not None:
        lines.append(f"time {isoformat(checkpoint.at)}")
    text = "".join(f"{line}\n" for line in lines)
    if parse_checkpoint(text) != checkpoint:
        raise BadCheckpoint("the values make no checkpoint")
    return text


def parse_checkpoint(text: str) -> Checkpoint:
    """Read the text of a note. Unknown extension lines are passed over. Raises BadCheckpoint."""
    lines = text.split("\n", MOST_EXTENSIONS + 4)
    if not 4 <= len(lines) <= MOST_EXTENSIONS + 4 or lines.pop():
        raise BadCheckpoint("a checkpoint has three lines, and some more at most")
    if not all(lines):
        raise BadCheckpoint("a line of the checkpoint is empty")
    origin, size, root = lines[:3]
    if _SIZE.fullmatch(size) is None or int(size) > MOST_LEAVES:
        raise BadCheckpoint("the checkpoint's size is no number of entries")
    chain, at = _extensions(lines[3:])
    return Checkpoint(origin, int(size), _root(root), chain, at)


def _root(text: str) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != HASH_BYTES or base64.b64encode(found).decode() != text:
        raise BadCheckpoint("the checkpoint's root is no hash of 32 bytes")
    return found


def _extensions(lines: list[str]) -> tuple[bytes | None, datetime | None]:
    chain: bytes | None = None
    at: datetime | None = None
    for line in lines:
        name, _, value = line.partition(" ")
        if (name == "chain" and chain is not None) or (name == "time" and at is not None):
            raise BadCheckpoint(f"the checkpoint has two lines {name}")
        if name == "chain":
            if _CHAIN.fullmatch(value) is None:
                raise BadCheckpoint("the checkpoint's link is no hash of 32 bytes")
            chain = bytes.fromhex(value)
        elif name == "time":
            at = _time(value)
    return chain, at


def _time(value: str) -> datetime:
    try:
        found = datetime.fromisoformat(value) if _TIME.fullmatch(value) else None
    except ValueError:
        found = None
    if found is None:
        raise BadCheckpoint("the checkpoint's time is no moment in UTC")
    return found
