"""What the parts of the ledger's benchmark share: a business transaction with and without its event, and many events.

The transaction is what a write costs without evidence: its arguments in canonical form, their digest as its key, and
one statement that updates the owner's row and inserts a call of 1 KB, whose key is unique. With the ledger, the same
statement inserts the event of it as well. Both go the way that the product's hot path goes.
"""

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from agentops.kernel.canonical import canonical_bytes
from agentops.kernel.ids import new_id
from agentops.ledger.append import Event, Statement, append
from agentops.ledger.sql import fetch_one
from benchmarks.runtime_base import BenchmarkFailed

TENANT = UUID(int=7)
_ARGUMENTS = {"order_id": "#W1042", "amount_minor": 1200, "currency": "USD", "reason": "x" * 900}

_TABLES = """
CREATE TABLE IF NOT EXISTS benchmark_owner (id uuid PRIMARY KEY, position int NOT NULL, done int NOT NULL DEFAULT 0)
  WITH (fillfactor = 60);
CREATE TABLE IF NOT EXISTS benchmark_call (
  owner uuid NOT NULL, number int NOT NULL, at timestamptz NOT NULL, key bytea NOT NULL UNIQUE,
  arguments jsonb NOT NULL, PRIMARY KEY (owner, number))"""

_ADVANCE = """
UPDATE benchmark_owner SET position = position + 1, done = done + 1
WHERE id = %(ledger_stream)s AND position = %(ledger_position)s RETURNING id"""
_CALL = """
INSERT INTO benchmark_call (owner, number, at, key, arguments)
SELECT head.id, %(ledger_position)s::int, clock_timestamp(), %(key)s::bytea, %(arguments)s::jsonb FROM head"""
_WITHOUT = f"WITH head AS ({_ADVANCE}), call AS ({_CALL}) SELECT head.id FROM head"

# Streams as sessions have them: ids that sort by time, twenty events each.
_EVENTS = """
INSERT INTO ledger_event (stream, position, at, tenant_id, type, actor, refs, facts, leaf_hash)
SELECT lpad(to_hex(n / 20), 32, '0')::uuid, n %% 20, now(), %(tenant)s::uuid, 'call.intended', 'agent:support',
  '{"order":"#W1042"}', '{"amount_minor":1200,"currency":"USD","tool":"issue_refund"}', sha256(n::text::bytea)
FROM generate_series(%(first)s::bigint, %(first)s::bigint + %(count)s::bigint - 1) n"""


def make_tables() -> None:
    """Make the tables of the transaction, unless they are there."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)


def write_many(first: int, count: int, *, at_once: int) -> None:
    """Insert events from number ``first`` on, ``at_once`` a transaction."""
    with connection.cursor() as cursor:
        for start in range(first, first + count, at_once):
            size = min(at_once, first + count - start)
            cursor.execute(_EVENTS, {"tenant": TENANT, "first": start, "count": size})


def events_there() -> int:
    """Return how many events there are."""
    return _count("SELECT count(*) FROM ledger_event")


def _count(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])


@dataclass
class Owner:
    """One row that transactions update, by one writer."""

    id: UUID = field(default_factory=new_id)
    position: int = 0

    def __post_init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO benchmark_owner (id, position) VALUES (%s, 0)", [self.id])

    def without(self) -> None:
        """Do the transaction alone."""
        place = {"ledger_stream": self.id, "ledger_position": self.position}
        if fetch_one(_WITHOUT, place | self._call()) is None:
            raise BenchmarkFailed("the transaction did nothing")
        self.position += 1

    def with_leaf(self) -> None:
        """Do the transaction with its event."""
        append(
            stream=self.id,
            tenant_id=TENANT,
            position=self.position,
            events=[Event("call.intended", "agent:support", {"amount_minor": 1200}, {"order": "#W1"})],
            advance=Statement("head", _ADVANCE),
            also=[Statement("call", _CALL, self._call())],
        )
        self.position += 1

    def _call(self) -> dict[str, Any]:
        arguments = canonical_bytes(_ARGUMENTS)
        key = hashlib.sha256(b"%b %d " % (self.id.bytes, self.position) + arguments).digest()
        return {"key": key, "arguments": arguments.decode()}

    def timed(self, variant: str, seconds: float) -> list[float]:
        """Do transactions of a variant for so long, and return what each took, in seconds."""
        do = self.with_leaf if variant == "leaf" else self.without
        taken = []
        now = began = time.perf_counter()
        while now - began < seconds:
            do()
            ended = time.perf_counter()
            taken.append(ended - now)
            now = ended
        return taken
