"""What a witness decides (pure): it signs the checkpoints of one history of a log, and nothing that contradicts it.

The protocol is C2SP's tlog-witness. A request to ``add-checkpoint`` is the line ``old N``, hashes of a consistency
proof in base64 on a line each (63 at most), a blank line, and the signed checkpoint. The answer to a good one is a line
with the witness's cosignature. A witness remembers, of each log, the size and the root that it signed last.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentops.ledger.checkpoints import BadCheckpoint, Checkpoint, parse_checkpoint
from agentops.ledger.merkle import EMPTY_ROOT, HASH_BYTES, BadProof, verify_consistency
from agentops.ledger.notes import BadNote, ForgedNote, Note, PublicKey, SigningKey, parse_note, verify_note

MOST_BYTES = 64_000
MOST_HASHES = 63
SIZE_TYPE = "text/x.tlog.size"
PLAIN_TYPE = "text/plain; charset=utf-8"
_OLD = re.compile(rb"old (0|[1-9][0-9]{0,18})")


@dataclass(frozen=True)
class Seen:
    """The last checkpoint of a log that was signed."""

    size: int = 0
    root: bytes = EMPTY_ROOT


@dataclass(frozen=True)
class Request:
    """A request that could be read."""

    old: int
    proof: tuple[bytes, ...]
    note: Note


@dataclass(frozen=True)
class Reply:
    """What is answered. ``seen`` must be on disk before a reply that has it is sent."""

    status: int
    body: str
    content_type: str = PLAIN_TYPE
    origin: str = ""
    seen: Seen | None = None


class _Turned(Exception):
    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.body)
        self.reply = reply


@dataclass(frozen=True)
class Witness:
    """One that signs with ``key`` (type cosignature) for logs whose checkpoints ``logs`` verify, by their origin."""

    key: SigningKey
    logs: Mapping[str, Sequence[PublicKey]] = field(default_factory=dict)

    def answer(self, body: bytes, states: Mapping[str, Seen], unix_time: int) -> Reply:
        """Return what is answered to a request, given what was signed last of each log."""
        try:
            return self._answer(parse_request(body), states, unix_time)
        except _Turned as turned:
            return turned.reply
        except (BadNote, BadCheckpoint) as error:
            return Reply(400, f"{error.message}\n")

    def _answer(self, request: Request, states: Mapping[str, Seen], unix_time: int) -> Reply:
        checkpoint = parse_checkpoint(request.note.text)
        keys = self.logs.get(checkpoint.origin)
        if keys is None:
            raise _Turned(Reply(404, "the log is not known here\n"))
        try:
            verify_note(request.note, keys)
        except ForgedNote as error:
            raise _Turned(Reply(403, f"{error.message}\n")) from None
        seen = states.get(checkpoint.origin, Seen())
        _require_growth(request, checkpoint, seen)
        line = self.key.sign(request.note.text, unix_time=unix_time).line()
        return Reply(200, line, origin=checkpoint.origin, seen=Seen(checkpoint.size, checkpoint.root))


def _require_growth(request: Request, checkpoint: Checkpoint, seen: Seen) -> None:
    if request.old > checkpoint.size:
        raise _Turned(Reply(400, "the old size is larger than the checkpoint\n"))
    if request.old != seen.size:
        raise _Turned(Reply(409, f"{seen.size}\n", SIZE_TYPE))
    if request.old == checkpoint.size and checkpoint.root != seen.root:
        raise _Turned(Reply(409, f"{seen.size}\n", SIZE_TYPE))
    try:
        verify_consistency(seen.size, checkpoint.size, request.proof, seen.root, checkpoint.root)
    except BadProof as error:
        raise _Turned(Reply(422, f"{error.message}\n")) from None


def format_request(old: int, proof: Sequence[bytes], note: bytes) -> bytes:
    """Return the body of a request."""
    hashes = "".join(f"{base64.b64encode(one).decode()}\n" for one in proof)
    return f"old {old}\n{hashes}\n".encode() + note


def parse_request(body: bytes) -> Request:
    """Read the body of a request, hostile or not. Raises BadNote."""
    if len(body) > MOST_BYTES:
        raise BadNote(f"the request has more than {MOST_BYTES} bytes")
    head, blank, note = body.partition(b"\n\n")
    lines = head.split(b"\n", MOST_HASHES + 1)
    old = _OLD.fullmatch(lines[0])
    if not blank or old is None:
        raise BadNote("the request does not begin with an old size")
    if len(lines) > MOST_HASHES + 1:
        raise BadNote(f"the request has more than {MOST_HASHES} hashes")
    return Request(int(old[1]), tuple(_hash(line) for line in lines[1:]), parse_note(note))


def _hash(line: bytes) -> bytes:
    try:
        found = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != HASH_BYTES or base64.b64encode(found) != line:
        raise BadNote("a line of the proof is no hash of 32 bytes")
    return found
