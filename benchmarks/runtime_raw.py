"""F2, the reference: the least that a durable step can cost, in plain psycopg.

A step is two transactions of one prepared statement each, intent and result; each inserts an event and updates the
session's row. It validates nothing, decides nothing and hashes nothing.
"""

import time
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Jsonb

from benchmarks.runtime_role import result_of

_TABLES = """
CREATE TABLE raw_session (
  id uuid PRIMARY KEY, position int NOT NULL, steps int NOT NULL, at timestamptz NOT NULL) WITH (fillfactor = 60);
CREATE TABLE raw_event (
  stream uuid NOT NULL, position int NOT NULL, type text NOT NULL, at timestamptz NOT NULL, body jsonb NOT NULL,
  PRIMARY KEY (stream, position))"""

_APPEND = """
WITH head AS (
  UPDATE raw_session SET position = position + 1, steps = steps + %(steps)s, at = clock_timestamp()
  WHERE id = %(id)s AND position = %(position)s RETURNING id)
INSERT INTO raw_event (stream, position, type, at, body)
SELECT id, %(position)s, %(type)s, clock_timestamp(), %(body)s FROM head"""


def make_tables(conninfo: str) -> None:
    """Make the reference's tables."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(_TABLES)


class Raw:
    """One connection that works sessions of the reference."""

    def __init__(self, conninfo: str) -> None:
        self._connection = psycopg.connect(conninfo, autocommit=True)
        self._cursor = self._connection.cursor()

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The connection, for its statistics."""
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def start(self) -> UUID:
        """Insert a session and return its id."""
        session = uuid4()
        self._connection.execute("INSERT INTO raw_session VALUES (%s, 0, 0, now())", [session])
        return session

    def work(self, session: UUID, steps: int) -> float:
        """Do the steps of a session and return the seconds they took."""
        began = time.perf_counter()
        for number in range(steps):
            self._append(session, 2 * number, "intended", {"number": number, "text": "x" * 80}, 0)
            self._append(session, 2 * number + 1, "succeeded", result_of(number), 1)
        return time.perf_counter() - began

    def _append(self, session: UUID, position: int, name: str, body: dict[str, Any], steps: int) -> None:
        self._cursor.execute(
            _APPEND,
            {"id": session, "position": position, "type": name, "body": Jsonb(body), "steps": steps},
            prepare=True,
        )
        if self._cursor.rowcount != 1:
            raise RuntimeError("the reference lost its session")

    def counted(self) -> dict[str, int]:
        """Return how many steps the sessions count and how many events there are."""
        row = self._connection.execute(
            "SELECT (SELECT coalesce(sum(steps), 0) FROM raw_session), (SELECT count(*) FROM raw_event)"
        ).fetchone()
        return {"raw_steps": int(row[0]), "raw_events": int(row[1])} if row else {}
