"""Requests from JSON Lines: one object a line (pure)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.registry.importing.lines import MOST_LINE_BYTES, Line, lines_of
from agentops.registry.importing.rows import BadRow, Reason, Refused, Row, column_of, row_of


def read(stream: BinaryIO, *, now: datetime) -> Iterator[Row | BadRow]:
    """Yield a row for every line that is not blank."""
    for line in lines_of(stream):
        if not line.raw.strip() and not line.cut:
            continue
        try:
            yield row_of(line.number, _values(line), now=now)
        except Refused as refused:
            yield BadRow(line.number, refused.reason, refused.words)


def _values(line: Line) -> dict[str, str]:
    if line.cut:
        raise Refused(Reason.TOO_LARGE, f"the line is longer than {MOST_LINE_BYTES // 1024} KB")
    try:
        line.raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(Reason.NOT_UTF8, f"byte {error.start + 1} of the line is not UTF-8") from error
    try:
        told = parse_json(line.raw, max_bytes=MOST_LINE_BYTES)
    except BadJSON as error:
        raise Refused(Reason.NOT_READABLE, error.message) from error
    if not isinstance(told, dict):
        raise Refused(Reason.NOT_READABLE, "the line is not a JSON object")
    return _by_column(told)


def _by_column(told: dict[str, Any]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in told.items():
        column = column_of(name)
        if column is None or value is None:
            continue
        if column in values:
            raise Refused(Reason.NOT_READABLE, f"{column} is given under two names")
        values[column] = _text(column, value)
    return values


def _text(column: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if column == "id" and type(value) is int:
        return str(value)
    raise Refused(Reason.WRONG_TYPE, f"{column} is not text")
