"""How the canonical JSON of a payload is stored (pure).

A stored body is the JSON itself, or 0x01, its length as four bytes, and the JSON as raw deflate. No JSON text begins
with 0x01, so rows of both kinds, and those from before this format, lie side by side. Digests are always of the JSON:
what is proved does not depend on how it is stored. ``ledger.sealing`` seals what is stored.
"""

import zlib

from agentops.ledger.sealing import OVERHEAD, is_sealed

SHORTEST, LONGEST = 512, 32_000_000
"""The sizes of JSON, in bytes, that are worth deflating and that are inflated again."""

_DEFLATED = 1
_HEADER = 5
# A window of 4 KB and small tables: setting up the usual ones costs four times as much as deflating a payload of 1 KB.
_LEVEL, _WINDOW, _TABLES = 1, -12, 5


class BadBody(ValueError):
    """A stored body is not in the form in which bodies are stored."""


def stored(body: bytes) -> bytes:
    """Return canonical JSON as it is stored: deflated where that takes a quarter off."""
    if not SHORTEST <= len(body) <= LONGEST:
        return body
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _TABLES)
    small = deflate.compress(body) + deflate.flush()
    if 4 * len(small) > 3 * len(body):
        return body
    return bytes((_DEFLATED,)) + len(body).to_bytes(4, "big") + small


def body_of(raw: bytes | memoryview) -> bytes:
    """Return the canonical JSON of a stored body. Raises BadBody; never makes more than LONGEST bytes of it."""
    raw = bytes(raw)
    if raw[:1] != bytes((_DEFLATED,)):
        return raw
    length = size_of(raw)
    if length > LONGEST:
        raise BadBody(f"a body that says it has {length} bytes")
    inflate = zlib.decompressobj(_WINDOW)
    try:
        body = inflate.decompress(raw[_HEADER:], length + 1)
    except zlib.error as error:
        raise BadBody("a body that cannot be inflated") from error
    if len(body) != length or not inflate.eof:
        raise BadBody("a body of another length than it says")
    return body


def size_of(start: bytes | memoryview, *, whole: int | None = None) -> int:
    """Return how many bytes of JSON a stored body holds; ``whole`` when only its first five bytes are at hand.

    Of a sealed one nobody can tell: it is what is stored without the seal, deflated or not.
    """
    start = bytes(start)
    if is_sealed(start):
        return max(0, (len(start) if whole is None else whole) - OVERHEAD)
    if start[:1] != bytes((_DEFLATED,)):
        return len(start) if whole is None else whole
    return int.from_bytes(start[1:_HEADER], "big")
