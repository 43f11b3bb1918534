"""The one function that appends to the ledger.

One statement does everything a durable point needs: a conditional UPDATE of the row that owns the stream
(``advance``), the events, their payloads, and whatever else belongs to the same moment (``also``). The
INSERTs select from the UPDATE's row, so when it matches nothing, nothing is written and StaleStream is
raised. docs/design/hotpath.md has the figures that led to this shape.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DataError, transaction
from psycopg.errors import DivisionByZero
from psycopg.types.json import Jsonb

from agentops.kernel.canonical import JSON, canonical_bytes
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.ids import derived_id
from agentops.ledger.leaf import Leaf
from agentops.ledger.sql import fetch_one


class StaleStream(AgentOpsError):
    """The stream's owner has moved on: another worker, a stop, a spent budget. Nothing was written."""

    code = "STALE_STREAM"
    next_step = "Load the session again; somebody else continues it."


@dataclass(frozen=True)
class Event:
    """A fact to record. ``refs`` are ids to search by, ``facts`` small canonical JSON, ``payload`` the rest."""

    type: str
    actor: str
    facts: dict[str, JSON] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    payload: JSON = None


@dataclass(frozen=True)
class Statement:
    """Part of the one statement: SQL with named parameters. ``name`` is its name in the WITH list.

    A ``required`` part has RETURNING and must match a row, like the ``advance``.
    """

    name: str
    sql: str
    params: Mapping[str, Any] = field(default_factory=dict)
    required: bool = False


_EVENTS = """
INSERT INTO ledger_event (stream, position, at, tenant_id, type, actor, refs, facts, payload_digest, leaf_hash)
SELECT %(ledger_stream)s, e.position, %(ledger_at)s, %(ledger_tenant)s, e.type, e.actor, e.refs, e.facts,
  e.digest, e.leaf
FROM head, unnest(%(ledger_positions)s::int[], %(ledger_types)s::text[], %(ledger_actors)s::text[],
  %(ledger_refs)s::jsonb[], %(ledger_facts)s::jsonb[], %(ledger_digests)s::bytea[], %(ledger_leaves)s::bytea[])
  AS e(position, type, actor, refs, facts, digest, leaf)"""

_PAYLOADS = """
INSERT INTO ledger_payload (stream, position, digest, body)
SELECT %(ledger_stream)s, p.position, p.digest, p.body
FROM head, unnest(%(ledger_payload_positions)s::int[], %(ledger_payload_digests)s::bytea[], %(ledger_bodies)s::bytea[])
  AS p(position, digest, body)"""


def append(
    *,
    stream: UUID,
    tenant_id: UUID,
    position: int,
    events: Sequence[Event],
    advance: Statement,
    also: Sequence[Statement] = (),
    at: datetime | None = None,
) -> tuple[Any, ...]:
    """Append ``events`` at ``position``, ``position + 1``, … of ``stream``, or write nothing at all.

    ``advance`` is an UPDATE with RETURNING that must match exactly the owner's present state; its row is
    returned. ``also`` are further data-modifying statements that select from ``head``, its row. Runs in the
    caller's transaction, or as one of its own. Raises StaleStream when ``advance`` or a required part matches
    no row, and NotCanonical when an event cannot be hashed.
    """
    moment = at or utcnow()
    params: dict[str, Any] = _event_params(stream, tenant_id, position, events, moment)
    parts = [f"head AS ({advance.sql})", f"events AS ({_EVENTS})"]
    if params["ledger_payload_positions"]:
        parts.append(f"payloads AS ({_PAYLOADS})")
    params.update(advance.params)
    columns = ["head.*"]
    for statement in also:
        parts.append(f"{statement.name} AS ({statement.sql})")
        params.update(statement.params)
        if statement.required:
            # A part that matched nothing divides by zero, which undoes the whole statement in the same round trip.
            columns.append(f"1 / (SELECT count(*) FROM {statement.name})")  # noqa: S608 - see below
    # Only the constants of this package and of runtime.statements are joined here; values are parameters.
    sql = f"WITH {', '.join(parts)} SELECT {', '.join(columns)} FROM head"  # noqa: S608
    row = _run(sql, params)
    if row is None:
        raise StaleStream(f"stream {stream} is no longer at position {position}")
    return row


def _run(sql: str, params: Mapping[str, Any]) -> tuple[Any, ...] | None:
    try:
        return fetch_one(sql, params)
    except DataError as error:
        if isinstance(error.__cause__, DivisionByZero):
            raise StaleStream("what belongs to the event is no longer in the state it was read in") from error
        raise


def _event_params(
    stream: UUID, tenant_id: UUID, position: int, events: Sequence[Event], at: datetime
) -> dict[str, Any]:
    digests: list[bytes | None] = []
    leaves, stored = [], []
    for offset, event in enumerate(events):
        body = None if event.payload is None else canonical_bytes(event.payload)
        digest = None if body is None else hashlib.sha256(body).digest()
        digests.append(digest)
        if body is not None:
            stored.append((position + offset, digest, body))
        leaf = Leaf(stream, position + offset, at, tenant_id, event.type, event.actor, event.refs, event.facts, digest)
        leaves.append(leaf.hash)
    return {
        "ledger_stream": stream,
        "ledger_at": at,
        "ledger_tenant": tenant_id,
        "ledger_positions": list(range(position, position + len(events))),
        "ledger_types": [event.type for event in events],
        "ledger_actors": [event.actor for event in events],
        "ledger_refs": [Jsonb(event.refs) for event in events],
        "ledger_facts": [Jsonb(event.facts) for event in events],
        "ledger_digests": digests,
        "ledger_leaves": leaves,
        "ledger_payload_positions": [place for place, _, _ in stored],
        "ledger_payload_digests": [digest for _, digest, _ in stored],
        "ledger_bodies": [body for _, _, body in stored],
    }


_NEXT = """
UPDATE ledger_stream SET position = position + %(ledger_count)s
WHERE id = %(ledger_stream)s AND position = %(ledger_position)s RETURNING position"""


@transaction.atomic
def append_to(*, tenant_id: UUID, name: str, events: Sequence[Event]) -> UUID:
    """Append to the stream called ``name`` (``agent:support``), made when new. Returns the stream's id.

    Belongs in the transaction that makes the change which the events record; concurrent writers of one stream
    wait for each other.
    """
    stream = derived_id(str(tenant_id), name)
    row = fetch_one(
        """INSERT INTO ledger_stream (id, tenant_id, name, position)
        VALUES (%(stream)s, %(tenant)s, %(name)s, 0)
        ON CONFLICT (id) DO UPDATE SET position = ledger_stream.position RETURNING position""",
        {"stream": stream, "tenant": tenant_id, "name": name[:200]},
    )
    assert row is not None  # noqa: S101 - an upsert with RETURNING always has a row
    position = int(row[0])
    append(
        stream=stream,
        tenant_id=tenant_id,
        position=position,
        events=events,
        advance=Statement("head", _NEXT, {"ledger_count": len(events), "ledger_position": position}),
    )
    return stream
