"""The hash chain over the log (pure): each link covers everything before it.

chain_n = SHA-256(0x02 || chain_{n-1} || leaf_n), where chain_{-1} is 32 zero bytes. The prefix differs from those of
RFC 6962 (0x00 for leaves, 0x01 for nodes), so that no link can pass for a leaf or a node of the tree.
"""

import hashlib
from collections.abc import Iterable

CHAIN_PREFIX = b"\x02"
GENESIS = bytes(32)
"""What the first link follows."""


def link(previous: bytes, leaf: bytes) -> bytes:
    """Return the 32-byte link that follows ``previous`` for the leaf hash ``leaf``."""
    return hashlib.sha256(CHAIN_PREFIX + previous + leaf).digest()


def links(previous: bytes, leaves: Iterable[bytes]) -> list[bytes]:
    """Return the links of ``leaves``, in order, the first of which follows ``previous``."""
    made = []
    sha256, prefix = hashlib.sha256, CHAIN_PREFIX
    for leaf in leaves:
        previous = sha256(prefix + previous + leaf).digest()
        made.append(previous)
    return made
