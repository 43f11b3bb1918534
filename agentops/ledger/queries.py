"""Reading streams."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from agentops.kernel.canonical import JSON, loads
from agentops.ledger.bodies import body_of
from agentops.ledger.leaf import Leaf
from agentops.ledger.models import LedgerEvent, Payload


@dataclass(frozen=True)
class StreamEvent:
    """One event. ``body`` is the payload's canonical JSON, None when there is none or it was not asked for."""

    position: int
    at: datetime
    type: str
    actor: str
    refs: dict[str, str]
    facts: dict[str, Any]
    body: bytes | None


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
        return [
            StreamEvent(position, at, type_, actor, loads(refs), loads(facts), None if body is None else body_of(body))
            for position, at, type_, actor, refs, facts, body in cursor.fetchall()
        ]


def payload_of(stream: UUID, position: int) -> JSON:
    """Return the payload of one event, None when it has none."""
    body = Payload.objects.filter(stream=stream, position=position).values_list("body", flat=True).first()
    return None if body is None else loads(body_of(body))


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
