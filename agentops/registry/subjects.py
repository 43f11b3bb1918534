"""Whom a record is about, as one text that names nobody by itself (pure): ``customer:ID``, ``user:NAME``, ``sender:…``.

A sender who is no known customer goes by a digest of tenant and address, since the name stays when all else is erased.
"""

import hashlib
import re
from uuid import UUID

from agentops.kernel.errors import AgentOpsError

LONGEST_SUBJECT = 200
CUSTOMER, USER, SENDER = "customer", "user", "sender"
_DIGEST = re.compile(r"[0-9a-f]{40}\Z")


class BadSubject(AgentOpsError):
    """A text that names no data subject."""

    code = "BAD_SUBJECT"
    next_step = "Write customer:ID, user:NAME or sender:MAIL."


def session_subject(tenant_id: UUID, customer_id: str, sender: str) -> str:
    """Return whom a session is about: its customer, else who wrote, else nobody ("", the tenant itself)."""
    if customer_id:
        return f"{CUSTOMER}:{customer_id}"
    return sender_subject(tenant_id, sender) if sender.strip() else ""


def sender_subject(tenant_id: UUID, sender: str) -> str:
    """Return the subject for a sender's address, however it is written."""
    text = f"{tenant_id}\x1f{sender.strip().casefold()}"
    return f"{SENDER}:{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def parsed_subject(tenant_id: UUID, text: str) -> str:
    """Return the subject that a person named; an address after ``sender:`` becomes its digest. Raises BadSubject."""
    kind, colon, name = text.strip().partition(":")
    name = name.strip()
    if kind not in (CUSTOMER, USER, SENDER) or not colon or not name or "\x00" in name:
        raise BadSubject(f"{text[:60]!r} names no data subject.")
    if kind == SENDER and not _DIGEST.match(name):
        return sender_subject(tenant_id, name)
    subject = f"{kind}:{name}"
    if len(subject) > LONGEST_SUBJECT:
        raise BadSubject("The name of the data subject is too long.")
    return subject
