"""The one function that appends to the ledger.

One statement does everything a durable point needs: a conditional UPDATE of the row that owns the stream
(``advance``), the events, their payloads, and whatever else belongs to the same moment (``also``). The
INSERTs select from the UPDATE's row, so when it matches nothing, nothing is written and StaleStream is
raised. docs/design/hotpath.md has the figures that led to this shape.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import DataError, transaction
from psycopg.errors import DivisionByZero

from agentops.kernel.canonical import JSON, canonical_bytes
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.kernel.ids import derived_id
from agentops.ledger.bodies import stored
from agentops.ledger.keys import Purpose, period_of, ring, share_subject
from agentops.ledger.leaf import Leaf
from agentops.ledger.sealing import NONCE_BYTES, SALT_BYTES, DataKey, commitment, seal
from agentops.ledger.sql import fetch_one
from agentops.ledger.vault_models import RetentionClass
from agentops.registry.subjects import LONGEST_SUBJECT, USER


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
class About:
    """Whom the payloads of a durable point are about ("" is the tenant itself), and how long they are to be kept.

    ``epoch`` is that under which the position was read, for a caller that knows it: see ``ledger.keys``.
    """

    subject: str = ""
    retention: RetentionClass = RetentionClass.SESSION
    epoch: int | None = None


NOBODY = About()


@dataclass(frozen=True)
class Statement:
    """Part of the one statement: SQL with named parameters. ``name`` is its name in the WITH list.

    A ``required`` part has RETURNING and must match a row, like the ``advance``.
    """

    name: str
    sql: str
    params: Mapping[str, Any] = field(default_factory=dict)
    required: bool = False


_EVENT = """
SELECT %(ledger_stream)s::uuid, {place}, %(ledger_at)s::timestamptz, %(ledger_tenant)s::uuid,
  %(ledger_type_{n})s::text, %(ledger_actor_{n})s::text, %(ledger_refs_{n})s::jsonb, %(ledger_facts_{n})s::jsonb,
  {digest}, %(ledger_leaf_{n})s::bytea
FROM head"""
_PAYLOAD = """
SELECT %(ledger_stream)s::uuid, {place}, %(ledger_body_{n})s::bytea FROM head"""


@lru_cache(maxsize=512)
def _statement(advance: str, bodies: tuple[bool, ...], also: tuple[tuple[str, str, bool], ...]) -> str:
    """Return the SQL of a durable point of this shape; ``bodies`` tells which of its events have a payload.

    Only the constants of this package and of runtime.statements are joined here; values are parameters.
    """
    events, payloads = [], []
    for n, has_body in enumerate(bodies):
        place = f"%(ledger_position)s::int + {n}"
        digest = f"%(ledger_digest_{n})s::bytea" if has_body else "NULL::bytea"
        events.append(_EVENT.format(n=n, place=place, digest=digest))
        if has_body:
            payloads.append(_PAYLOAD.format(n=n, place=place))
    columns = "stream, position, at, tenant_id, type, actor, refs, facts, payload_digest, leaf_hash"
    parts = [f"head AS ({advance})", f"events AS (INSERT INTO ledger_event ({columns}){' UNION ALL'.join(events)})"]
    if payloads:
        kept = " UNION ALL".join(payloads)
        parts.append(f"payloads AS (INSERT INTO ledger_payload (stream, position, body){kept})")
    wanted = ["head.*"]
    for name, sql, required in also:
        parts.append(f"{name} AS ({sql})")
        if required:
            # A part that matched nothing divides by zero, which undoes the whole statement in the same round trip.
            wanted.append(f"1 / (SELECT count(*) FROM {name})")  # noqa: S608 - see above
    return f"WITH {', '.join(parts)} SELECT {', '.join(wanted)} FROM head"  # noqa: S608 - see above


def append(  # noqa: PLR0913 - each is a part of the durable point, and all but three are always there
    *,
    stream: UUID,
    tenant_id: UUID,
    position: int,
    events: Sequence[Event],
    advance: Statement,
    also: Sequence[Statement] = (),
    at: datetime | None = None,
    about: About = NOBODY,
) -> tuple[Any, ...]:
    """Append ``events`` at ``position``, ``position + 1``, … of ``stream``, or write nothing at all.

    Payloads are sealed with the key of whom they are ``about``.
    ``advance`` is an UPDATE with RETURNING that must match exactly the owner's present state; its row is
    returned. ``also`` are further data-modifying statements that select from ``head``, its row. All of them may use
    ``ledger_stream``, ``ledger_position``, ``ledger_count`` (of events), ``ledger_tenant`` and ``ledger_at`` as
    parameters. Runs in the caller's transaction, or as one of its own. Raises StaleStream when ``advance`` or a
    required part matches no row, and NotCanonical when an event cannot be hashed.
    """
    at = at or utcnow()
    key = None
    if any(event.payload is not None for event in events):
        if about.subject and position == 0:
            share_subject(tenant_id, about.subject)
        key = ring.key_for(Purpose(tenant_id, about.subject, about.retention, period_of(at)), epoch=about.epoch)
    params = _event_params(stream, tenant_id, position, events, at, key)
    params.update(advance.params)
    for statement in also:
        params.update(statement.params)
    bodies = tuple(event.payload is not None for event in events)
    sql = _statement(advance.sql, bodies, tuple((part.name, part.sql, part.required) for part in also))
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
    stream: UUID, tenant_id: UUID, position: int, events: Sequence[Event], at: datetime, key: DataKey | None
) -> dict[str, Any]:
    params: dict[str, Any] = {
        "ledger_stream": stream,
        "ledger_position": position,
        "ledger_count": len(events),
        "ledger_at": at,
        "ledger_tenant": tenant_id,
    }
    for n, event in enumerate(events):
        digest = None
        if event.payload is not None and key is not None:
            body, salt = canonical_bytes(event.payload), os.urandom(SALT_BYTES)
            digest = commitment(salt, body)
            sealed = seal(key, stream, position + n, stored(body), salt=salt, nonce=os.urandom(NONCE_BYTES))
            params[f"ledger_digest_{n}"] = digest
            params[f"ledger_body_{n}"] = sealed
        refs, facts = canonical_bytes(event.refs), canonical_bytes(event.facts)
        leaf = Leaf(stream, position + n, at, tenant_id, event.type, event.actor, event.refs, event.facts, digest)
        params[f"ledger_type_{n}"] = event.type
        params[f"ledger_actor_{n}"] = event.actor
        params[f"ledger_leaf_{n}"] = leaf.hash_with(refs, facts)
        params[f"ledger_refs_{n}"] = refs.decode()
        params[f"ledger_facts_{n}"] = facts.decode()
    return params


_NEXT = """
UPDATE ledger_stream SET position = position + %(ledger_count)s
WHERE id = %(ledger_stream)s AND position = %(ledger_position)s RETURNING position"""


@transaction.atomic
def append_to(*, tenant_id: UUID, name: str, events: Sequence[Event], subject: str | None = None) -> UUID:
    """Append to the stream called ``name`` (``agent:support``), made when new. Returns the stream's id.

    Belongs in the transaction that makes the change which the events record; concurrent writers of one stream
    wait for each other. ``subject`` is whom the payloads are about; None is the user who acts, if one does.
    """
    if subject is None:
        subject = acting(events)
    stream = derived_id(str(tenant_id), name)
    row = fetch_one(
        """INSERT INTO ledger_stream (id, tenant_id, name, position)
        VALUES (%(stream)s, %(tenant)s, %(name)s, 0)
        ON CONFLICT (id) DO UPDATE SET position = ledger_stream.position RETURNING position""",
        {"stream": stream, "tenant": tenant_id, "name": name[:200]},
    )
    assert row is not None  # noqa: S101 - an upsert with RETURNING always has a row
    position = int(row[0])
    if subject and position > 0 and any(event.payload is not None for event in events):
        # Erasing does not move these streams on: it waits for whoever is appending to one.
        share_subject(tenant_id, subject)
    append(
        stream=stream,
        tenant_id=tenant_id,
        position=position,
        events=events,
        advance=Statement("head", _NEXT),
        about=About(subject, RetentionClass.RECORD),
    )
    return stream


def acting(events: Sequence[Event]) -> str:
    """Return the user who does what the events tell, as a data subject; empty when no user does."""
    actor = next((event.actor for event in events), "")
    return actor if actor.startswith(f"{USER}:") and len(actor) <= LONGEST_SUBJECT else ""
