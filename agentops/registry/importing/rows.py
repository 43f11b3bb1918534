"""One row of a file, read or refused (pure). Every refusal has a reason that can be counted."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum

from agentops.registry.incoming import MOST_BODY_BYTES, byte_length, is_email, is_storable, subject_of


class Reason(StrEnum):
    """Why a row is not taken."""

    NOT_UTF8 = "not UTF-8"
    NUL = "NUL character"
    NOT_READABLE = "not readable"
    MISSING_FIELD = "missing field"
    WRONG_TYPE = "wrong type"
    BAD_EMAIL = "bad e-mail address"
    BAD_DATE = "bad date"
    TOO_LARGE = "too large"
    NO_TEXT = "no text"


@dataclass(frozen=True)
class Row:
    """A request to record. ``received_at`` is aware, in UTC; ``source_key`` is its identity in where it came from."""

    line: int
    source_key: str
    sender: str
    subject: str
    body: str
    received_at: datetime


@dataclass(frozen=True)
class BadRow:
    """A row that is not taken. ``line`` is where it begins, counted from 1."""

    line: int
    reason: Reason
    words: str


class Refused(Exception):
    """A row cannot be taken, for a reason."""

    def __init__(self, reason: Reason, words: str) -> None:
        super().__init__(words)
        self.reason = reason
        self.words = words


COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "ticket_id", "case_id", "message_id", "number", "key"),
    "from_email": ("from_email", "from", "sender", "email", "requester", "requester_email", "customer_email"),
    "received_at": ("received_at", "received", "date", "created_at", "created", "timestamp", "time"),
    "subject": ("subject", "title", "summary"),
    "body": ("body", "text", "description", "message", "content"),
}
"""Each column with the names it may have, best first; letters, case and separators are not compared."""

REQUIRED = ("from_email", "received_at", "body")
MOST_ID = 150
_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=1)
_ADDRESS_IN_BRACKETS = re.compile(r"\A[^<>@]{0,200}<([^<>\s]{1,320})>\Z")


def column_of(name: str) -> str | None:
    """Return the column that a header or key stands for, None when it is none of ours."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    return next((column for column, names in COLUMNS.items() if plain in names), None)


def row_of(line: int, values: Mapping[str, str], *, now: datetime) -> Row:
    """Check the values of one row, by column, and return it. Raises Refused."""
    for column in REQUIRED:
        if not values.get(column, "").strip():
            raise Refused(Reason.MISSING_FIELD, f"{column} is missing")
    for column, value in values.items():
        _require_storable(column, value)
    body = values["body"].strip().replace("\r\n", "\n")
    if byte_length(body) > MOST_BODY_BYTES:
        raise Refused(Reason.TOO_LARGE, f"body is larger than {MOST_BODY_BYTES // 1024} KB")
    sender = plain_address(values["from_email"])
    received_at = moment_of(values["received_at"], now=now)
    own = values.get("id", "").strip()
    if len(own) > MOST_ID:
        raise Refused(Reason.TOO_LARGE, f"id is longer than {MOST_ID} characters")
    subject = values.get("subject", "").strip()
    key = f"id:{own}" if own else _digest_key(sender, received_at, subject, body)
    return Row(line, key, sender, subject_of(subject, body), body, received_at)


def _digest_key(sender: str, received_at: datetime, subject: str, body: str) -> str:
    told = f"{sender.lower()}\x1f{received_at.isoformat()}\x1f{subject}\x1f{body}"
    return f"sha256:{hashlib.sha256(told.encode()).hexdigest()}"


def _require_storable(column: str, value: str) -> None:
    if "\x00" in value:
        raise Refused(Reason.NUL, f"{column} holds a NUL character")
    if not is_storable(value):
        raise Refused(Reason.NOT_UTF8, f"{column} holds bytes that are not UTF-8")


def plain_address(text: str) -> str:
    """Return the address in ``a@b.c`` or ``Name <a@b.c>``. Raises Refused."""
    bare = text.strip()
    wrapped = _ADDRESS_IN_BRACKETS.match(bare)
    address = wrapped.group(1) if wrapped else bare
    if not is_email(address):
        raise Refused(Reason.BAD_EMAIL, f"{_shown(bare)} is not an e-mail address")
    return address


def moment_of(text: str, *, now: datetime) -> datetime:
    """Return an ISO 8601 or RFC 5322 date as a moment in UTC; one without a zone is taken as UTC.

    Raises Refused for anything else, for dates before 1990 and for more than a day ahead of ``now``.
    """
    bare = text.strip()
    try:
        moment = _parsed(bare)
        aware = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        raise Refused(Reason.BAD_DATE, f"{_shown(bare)} is not a date") from error
    if not _EARLIEST <= aware <= now + _AHEAD:
        raise Refused(Reason.BAD_DATE, f"{_shown(bare)} is before 1990 or in the future")
    return aware


def _parsed(text: str) -> datetime:
    if len(text) > 80:
        raise ValueError("too long for a date")
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return parsedate_to_datetime(text)


def _shown(text: str) -> str:
    """Return text for a report: one line, short, nothing that moves a terminal's cursor."""
    flat = "".join(character if character.isprintable() else "?" for character in text)
    return repr(flat[:60] + ("…" if len(flat) > 60 else ""))
