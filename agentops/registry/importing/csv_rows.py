"""Requests from CSV with a header (pure): RFC 4180, comma, semicolon or tab.

Records are put together line by line, so that a quote that is never closed does not pull the whole file
into memory. What belongs to a record that is too large is skipped as a whole: none of it is ever read as
rows, because text inside a field must not be able to forge requests.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

from agentops.registry.importing.lines import Line, lines_of, text_of
from agentops.registry.importing.rows import REQUIRED, BadRow, Reason, Refused, Row, column_of, row_of

MOST_RECORD = 512 * 1024
DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True)
class _Record:
    """The text of one record; ``problem`` says why it cannot be read."""

    line: int
    text: str
    problem: str = ""


def read(stream: BinaryIO, *, now: datetime) -> Iterator[Row | BadRow]:
    """Yield a row for every record below the header. An unusable header is the one bad row."""
    lines = lines_of(stream)
    header = next((line for line in lines if line.raw.strip() or line.cut), None)
    if header is None:
        return
    try:
        delimiter, columns = _header(text_of(header.raw))
    except Refused as refused:
        yield BadRow(header.number, refused.reason, refused.words)
        return
    for record in _records(lines, delimiter):
        try:
            yield row_of(record.line, _values(record, delimiter, columns), now=now)
        except Refused as refused:
            yield BadRow(record.line, refused.reason, refused.words)


def _header(text: str) -> tuple[str, list[str | None]]:
    for delimiter in DELIMITERS:
        try:
            names = next(csv.reader([text], delimiter=delimiter), [])
        except csv.Error:
            continue
        columns = [column_of(name) for name in names]
        known = [column for column in columns if column is not None]
        if set(REQUIRED) <= set(known):
            twice = next((column for column in known if known.count(column) > 1), None)
            if twice:
                raise Refused(Reason.NOT_READABLE, f"the header names {twice} twice")
            return delimiter, columns
    raise Refused(Reason.MISSING_FIELD, f"the header must name {', '.join(REQUIRED)}")


def _records(lines: Iterator[Line], delimiter: str) -> Iterator[_Record]:
    parts: list[str] = []
    first = size = 0
    is_open = too_large = False
    for line in lines:
        text = text_of(line.raw)
        if not is_open:
            if not text.strip() and not line.cut:
                continue
            first, parts, size, too_large = line.number, [], 0, False
        # An odd number of quotes in what was dropped turns inside into outside.
        is_open = is_left_open(text, is_open=is_open, delimiter=delimiter) != (line.quotes % 2 == 1)
        size += len(text)
        too_large = too_large or line.cut or size > MOST_RECORD
        if too_large:
            parts.clear()
        else:
            parts.append(text)
        if not is_open:
            yield _Record(first, "".join(parts), _TOO_LARGE if too_large else "")
    if is_open:
        yield _Record(first, "", "a quote is opened here and never closed")


_TOO_LARGE = f"the row is larger than {MOST_RECORD // 1024} KB"


def is_left_open(text: str, *, is_open: bool, delimiter: str) -> bool:
    """Return whether a quoted field is open at the end of ``text``; ``is_open`` says so of its beginning.

    A quote opens a field at the field's beginning only; inside, two quotes stand for one.
    """
    at = 0
    while True:
        if is_open:
            at = _end_of_quoted(text, at)
            if at < 0:
                return True
            is_open = False
        start = at
        at = text.find('"', at)
        if at < 0:
            return False
        is_open = at == 0 or (at > start and text[at - 1] == delimiter)
        at += 1


def _end_of_quoted(text: str, at: int) -> int:
    """Return the place after the closing quote, -1 when there is none."""
    while (at := text.find('"', at)) >= 0:
        if text[at + 1 : at + 2] != '"':
            return at + 1
        at += 2
    return -1


def _values(record: _Record, delimiter: str, columns: list[str | None]) -> dict[str, str]:
    if record.problem:
        reason = Reason.TOO_LARGE if record.problem is _TOO_LARGE else Reason.NOT_READABLE
        raise Refused(reason, record.problem)
    try:
        rows = list(csv.reader(io.StringIO(record.text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        too_large = "larger than field limit" in str(error)
        raise Refused(Reason.TOO_LARGE if too_large else Reason.NOT_READABLE, str(error)) from error
    if len(rows) != 1 or len(rows[0]) != len(columns):
        count = len(rows[0]) if rows else 0
        raise Refused(Reason.NOT_READABLE, f"the row has {count} fields, the header {len(columns)}")
    return {column: value for column, value in zip(columns, rows[0], strict=True) if column is not None}
