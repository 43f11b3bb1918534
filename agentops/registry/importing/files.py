"""Which reader a file needs (pure): by its name, otherwise by how it begins."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import PurePath
from typing import BinaryIO

from agentops.registry.importing import csv_rows, jsonl_rows, mbox_rows
from agentops.registry.importing.rows import BadRow, Row


class Format(StrEnum):
    """How requests are written in a file."""

    CSV = "csv"
    JSONL = "jsonl"
    MBOX = "mbox"


Reader = Callable[..., Iterator[Row | BadRow]]
_READERS: Mapping[Format, Reader] = {
    Format.CSV: csv_rows.read,
    Format.JSONL: jsonl_rows.read,
    Format.MBOX: mbox_rows.read,
}
_SUFFIXES: Mapping[str, Format] = {
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".mbox": Format.MBOX,
    ".mbx": Format.MBOX,
}
SNIFFED_BYTES = 4096


def format_of(name: str, beginning: bytes) -> Format:
    """Return the format of a file called ``name`` that begins with ``beginning``."""
    by_name = _SUFFIXES.get(PurePath(name).suffix.lower())
    if by_name is not None:
        return by_name
    start = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"From "):
        return Format.MBOX
    return Format.JSONL if start.startswith(b"{") else Format.CSV


def read(stream: BinaryIO, form: Format, *, now: datetime) -> Iterator[Row | BadRow]:
    """Yield the rows of ``stream``, good and bad, in the order in which they stand there."""
    return _READERS[form](stream, now=now)
