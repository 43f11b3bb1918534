"""Requests from a mailbox in mbox form (RFC 4155), message by message in constant memory (pure).

``mailbox.mbox`` keeps an index of the whole file; this reader only looks for the "From " lines. Of a long
message the beginning is read, which is where the text stands: attachments are ignored anyway.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from email import message_from_bytes
from email.errors import HeaderParseError, MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.policy import compat32
from email.utils import getaddresses
from typing import BinaryIO

from lxml.etree import LxmlError  # type: ignore[import-untyped]

from agentops.kernel.markup.page import seen
from agentops.registry.importing.lines import lines_of
from agentops.registry.importing.rows import BadRow, Reason, Refused, Row, row_of

MOST_MESSAGE = 2 * 1024 * 1024
MOST_HTML = 512 * 1024
MOST_PARTS = 200
_POSTMARK = b"From "
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)


def read(stream: BinaryIO, *, now: datetime) -> Iterator[Row | BadRow]:
    """Yield a row for every message."""
    for line, raw in messages_of(stream):
        if line == 1 and not raw.startswith(_POSTMARK):
            yield BadRow(1, Reason.NOT_READABLE, "the file does not begin with a 'From ' line, so it is no mailbox")
            return
        try:
            yield row_of(line, _values(raw.partition(b"\n")[2]), now=now)
        except Refused as refused:
            yield BadRow(line, refused.reason, refused.words)


def messages_of(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the line where each message begins, and its first MOST_MESSAGE bytes, "From " line included."""
    first, parts, size = 1, list[bytes](), 0
    after_blank = True
    for line in lines_of(stream):
        if after_blank and line.raw.startswith(_POSTMARK) and parts:
            yield first, b"".join(parts)
            parts, size = [], 0
        if not parts:
            if not line.raw.strip():
                continue
            first = line.number
        if size < MOST_MESSAGE:
            parts.append(line.raw[: MOST_MESSAGE - size])
            size += len(line.raw)
        after_blank = not line.raw.strip() and not line.cut
    if parts:
        yield first, b"".join(parts)


def _values(raw: bytes) -> dict[str, str]:
    try:
        message = message_from_bytes(_ESCAPED.sub(rb"\1", raw), policy=compat32)
        return {
            "id": _header(message, "Message-ID"),
            "from_email": _sender(message),
            "received_at": _header(message, "Date"),
            "subject": _header(message, "Subject"),
            "body": _text_of(message),
        }
    except (MessageError, LookupError, RecursionError, ValueError) as error:
        raise Refused(Reason.NOT_READABLE, f"the message is broken: {type(error).__name__}") from error


def _header(message: Message, name: str) -> str:
    """Return a header with its encoded words decoded. What cannot be decoded stays as it is written."""
    written = str(message.get(name, ""))
    unfolded = re.sub(r"\r?\n[ \t]*", " ", written).strip()
    try:
        return str(make_header(decode_header(unfolded)))
    except (HeaderParseError, LookupError, ValueError):
        return unfolded.encode("ascii", "replace").decode("ascii")


def _sender(message: Message) -> str:
    """Return the one address of the From header. Only what stands outside the display name counts."""
    written = message.get_all("From", [])
    if not written:
        raise Refused(Reason.MISSING_FIELD, "the From header is missing")
    addresses = [address for _, address in getaddresses([str(header) for header in written]) if address]
    if len(written) != 1 or len(addresses) != 1:
        raise Refused(Reason.BAD_EMAIL, "the From header does not name exactly one address")
    return addresses[0]


def _text_of(message: Message) -> str:
    """Return the first plain text of the message, else its first HTML as text. Attachments are not read."""
    html = ""
    for number, part in enumerate(message.walk()):
        if number >= MOST_PARTS:
            break
        if part.is_multipart() or part.get_content_disposition() == "attachment" or part.get_filename():
            continue
        kind = part.get_content_type()
        if kind == "text/plain" and (text := _decoded(part)).strip():
            return text
        if kind == "text/html" and not html:
            html = _decoded(part)
    if not html.strip():
        raise Refused(Reason.NO_TEXT, "the message has no text")
    return _plain(html)


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset() or "utf-8"
    try:
        return raw.decode(charset)
    except LookupError:
        charset = "utf-8"
    except UnicodeDecodeError as error:
        raise Refused(Reason.NOT_UTF8, f"the text is not {charset[:40]}") from error
    try:
        return raw.decode(charset)
    except UnicodeDecodeError as error:
        raise Refused(Reason.NOT_UTF8, "the text has an unknown character set and is not UTF-8") from error


def _plain(html: str) -> str:
    if len(html) > MOST_HTML:
        raise Refused(Reason.TOO_LARGE, f"the HTML is larger than {MOST_HTML // 1024} KB")
    try:
        # A part that says it is HTML is read as HTML, also without a tag.
        text = seen(f"<html>{html}").text.strip()
    except (LxmlError, RecursionError, ValueError) as error:
        raise Refused(Reason.NOT_READABLE, "the HTML cannot be read") from error
    if not text:
        raise Refused(Reason.NO_TEXT, "the message has no visible text")
    return text
