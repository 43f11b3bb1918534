"""Reading streams."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from agentops.kernel.canonical import JSON, loads
from agentops.ledger.leaf import Leaf
from agentops.ledger.models import LedgerEvent, Payload
from agentops.ledger.payloads import Erased, Opened, read_payloads


@dataclass(frozen=True)
class StreamEvent:
    """One event. ``body`` is the payload's canonical JSON, None when there is none, or no longer one.

    ``erased_at`` is when the key of its payload was destroyed, None while it can be read.
    """

    position: int
    at: datetime
    type: str
    actor: str
    refs: dict[str, str]
    facts: dict[str, Any]
    body: bytes | None
    erased_at: datetime | None = None


_EVENTS = """
SELECT e.position, e.at, e.type, e.actor, e.refs::text, e.facts::text, p.body
FROM ledger_event e LEFT JOIN ledger_payload p ON p.stream = e.stream AND p.position = e.position
WHERE e.stream = %s AND e.position >= %s
ORDER BY e.position
LIMIT %s"""


def events_of(stream: UUID, *, start: int = 0, limit: int | None = None) -> list[StreamEvent]:
    """Return the stream's events from position ``start`` on, with their payloads."""
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, [stream, start, limit])
        rows = cursor.fetchall()
    read = read_payloads((stream, row[0], row[-1]) for row in rows)
    return [
        StreamEvent(
            position,
            at,
            type_,
            actor,
            loads(refs),
            loads(facts),
            payload.body if isinstance(payload, Opened) else None,
            payload.at if isinstance(payload, Erased) else None,
        )
        for (position, at, type_, actor, refs, facts, _), payload in zip(rows, read, strict=True)
    ]


def payload_of(stream: UUID, position: int) -> JSON:
    """Return the payload of one event, None when it has none, or it was erased."""
    return payloads_of(stream, [position]).get(position)


def payloads_of(stream: UUID, positions: Collection[int]) -> dict[int, JSON]:
    """Return the payloads of events of a stream that have one, and whose payload was not erased."""
    return {at: read.value for at, read in reads_of(stream, positions).items() if isinstance(read, Opened)}


def reads_of(stream: UUID, positions: Collection[int]) -> dict[int, Opened | Erased]:
    """Return what became of the payloads of events of a stream that have one."""
    found = Payload.objects.filter(stream=stream, position__in=positions).values_list("position", "body")
    rows = [(stream, position, body) for position, body in found]
    return {row[1]: read for row, read in zip(rows, read_payloads(rows), strict=True) if read is not None}


def leaf_of(event: LedgerEvent) -> Leaf:
    """Return what is hashed of a stored event; its ``hash`` is the row's ``leaf_hash`` unless something was changed."""
    return Leaf(
        stream=event.stream,
        position=event.position,
        at=event.at,
        tenant_id=event.tenant_id,
        type=event.type,
        actor=event.actor,
        refs=event.refs,
        facts=event.facts,
        payload_digest=None if event.payload_digest is None else bytes(event.payload_digest),
    )
