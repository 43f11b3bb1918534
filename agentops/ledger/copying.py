"""Rows of the log in PostgreSQL's binary COPY format (pure).

The layout is that of the PostgreSQL manual, "COPY, Binary Format": a signature, and for each row the number of fields
and each field with its length. All fields of these tables have a fixed length, so a row is one ``struct``.
"""

import struct
from collections.abc import Iterable, Sequence

Given = tuple[bytes, int, bytes]
"""The 16 bytes of a stream's id, a position in it, and the leaf hash of the event there."""

_SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_END = b"\xff\xff"
_ENTRY = struct.Struct(">h iq i16s ii i32s i32s")
_SUBTREE = struct.Struct(">h ih iq i32s")


def copied_entries(start: int, events: Sequence[Given], chain: Sequence[bytes]) -> bytes:
    """Return the rows (index, stream, position, leaf hash, link) of ``events``, the first of which gets ``start``."""
    pack = _ENTRY.pack
    rows = [
        pack(5, 8, index, 16, stream, 4, position, 32, leaf, 32, link)
        for index, ((stream, position, leaf), link) in enumerate(zip(events, chain, strict=True), start)
    ]
    return b"".join((_SIGNATURE, *rows, _END))


def copied_subtrees(subtrees: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Return the rows (level, index, root) of ``subtrees``."""
    rows = [_SUBTREE.pack(3, 2, level, 8, index, 32, found) for level, index, found in subtrees]
    return b"".join((_SIGNATURE, *rows, _END))
