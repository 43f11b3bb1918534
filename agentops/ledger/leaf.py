"""The hash rule of an event (pure).

leaf = SHA-256(0x00 || canonical JSON of the fields below): the leaf hash of RFC 6962, section 2.1, over the
canonical JSON of RFC 8785.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agentops.kernel.canonical import JSON, canonical_bytes, joined
from agentops.kernel.clock import isoformat

LEAF_PREFIX = b"\x00"


@dataclass(frozen=True)
class Leaf:
    """What is hashed of an event. ``payload_digest`` is 32 bytes, None without a payload."""

    stream: UUID
    position: int
    at: datetime
    tenant_id: UUID
    type: str
    actor: str
    refs: JSON
    facts: JSON
    payload_digest: bytes | None

    @property
    def hash(self) -> bytes:
        """The 32-byte leaf hash. Raises NotCanonical for a value that cannot be hashed."""
        return self.hash_with(canonical_bytes(self.refs), canonical_bytes(self.facts))

    def hash_with(self, refs: bytes, facts: bytes) -> bytes:
        """Return the leaf hash, given the canonical JSON of ``refs`` and ``facts``, so that none is written twice."""
        record = {
            "stream": str(self.stream),
            "position": self.position,
            "at": isoformat(self.at),
            "tenant": str(self.tenant_id),
            "type": self.type,
            "actor": self.actor,
            "payload": None if self.payload_digest is None else self.payload_digest.hex(),
        }
        return hashlib.sha256(LEAF_PREFIX + joined(record, {"refs": refs, "facts": facts})).digest()
