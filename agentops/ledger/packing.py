"""An evidence pack: a zip that says what happened in one action, and proves each word of it.

``pack.json`` has the events with their proofs, the checkpoint, and statements, each of which names the event and the
place in it that says so. ``evidence.html`` is made from that alone, by the verifier's own function, so that
``auditverify pack`` can make it again and compare.
"""

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from agentops.kernel.canonical import JSON, canonical_bytes
from agentops.ledger import auditverify
from agentops.ledger.entries import Signed, entry_of, last_checkpoint, proof_record
from agentops.ledger.log import Tiles
from agentops.ledger.merkle import inclusion_proof
from agentops.ledger.proving import NotProvable

_EPOCH = (1980, 1, 1, 0, 0, 0)

_README = """Evidence of one call
====================

evidence.html   what was asked, decided, called and answered; open it in a browser
pack.json       the same with the events, the proof of each, and the signed checkpoint
keys.txt        the public keys that the installation says it signs with

To check it, get two things from a place that you trust, not from this file: the verifier (auditverify.py, one file that
needs Python 3.11 and the package cryptography) and the public key of the log. Then, on any machine:

    python auditverify.py pack THIS_FILE.zip --key 'PUBLIC KEY OF THE LOG'

It says OK when every event is in the log that the checkpoint signed, every payload is the one that was recorded, every
line of the page is what its event says, and the page shows nothing else. Add --witness-key for each witness.

What it does not say: that these are all events about the call, and that what was recorded is true. For the first,
verify an export of the whole log.
"""


@dataclass(frozen=True)
class Statement:
    """A line of the page. ``place`` leads through the event, its payload being ``body``: ["body", "arguments"]."""

    section: str
    label: str
    position: int
    place: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """Proven events of one stream. ``proofs`` are by position, in the order of the log."""

    checkpoint: Signed
    proofs: dict[int, dict[str, JSON]]


def gather(stream: UUID, positions: Sequence[int], *, quorum: int = 0) -> Evidence:
    """Return events with their proofs in the last signed log. Raises NotProvable, EventGone and LogIncomplete."""
    last = last_checkpoint(quorum=quorum)
    if last is None:
        raise NotProvable("no checkpoint was signed yet")
    tiles, found = Tiles(last.size), {}
    for position in positions:
        entry = entry_of(stream, position)
        if entry is None or entry.index >= last.size:
            raise NotProvable(f"no checkpoint covers step {position} yet")
        found[position] = proof_record(entry, inclusion_proof(entry.index, last.size, tiles), body=True)
    return Evidence(last, found)


def packed(evidence: Evidence, statements: Sequence[Statement], *, keys: Sequence[str]) -> bytes:
    """Return the zip: the same bytes for the same evidence. Raises KeyError for a statement that no event makes."""
    claims = []
    for each in statements:
        proof = evidence.proofs[each.position]
        value = auditverify.looked_up(proof, list(each.place))
        claim = {"section": each.section, "label": each.label, "value": value}
        claims.append({**claim, "index": proof["index"], "place": list(each.place)})
    pack = {
        "format": auditverify.PACK,
        "note": evidence.checkpoint.note,
        "proofs": list(evidence.proofs.values()),
        "claims": claims,
    }
    members = {
        "README.txt": _README.encode(),
        "evidence.html": auditverify.page_of(pack).encode(),
        "pack.json": canonical_bytes(pack),
        "keys.txt": "".join(f"{key}\n" for key in keys).encode(),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
