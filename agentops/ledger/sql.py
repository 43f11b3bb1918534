"""Hand-written statements of the hot path, run as prepared ones.

Django's cursor never prepares, and a psycopg cursor spends 80 µs of processor time on a statement of thirty
parameters, of which 30 are libpq, the kernel and the values. A step has two of them, so they are handed to libpq here.
Values are written and read by psycopg's adapters, and the waiting is psycopg's: threads, signals and broken connections
are as ever.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import generators
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName, error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

Row = tuple[Any, ...]
Types = tuple[int, ...]

MOST_STATEMENTS = 200
"""So many stay prepared on one connection; the oldest makes room. A worker needs some sixty."""

_PLACE = re.compile(r"%\((\w+)\)s")
_OURS = "_agentops_statements"
_GONE = (InvalidSqlStatementName, FeatureNotSupported)


def fetch_one(sql: str, params: Mapping[str, Any]) -> Row | None:
    """Run one statement in the current transaction and return its first row, None when there is none."""
    rows = fetch_all(sql, params)
    return rows[0] if rows else None


def fetch_all(sql: str, params: Mapping[str, Any]) -> list[Row]:
    """Run one statement in the current transaction and return its rows.

    ``%(name)s`` stands for a value; any other per cent sign is the operator. Raises Django's database errors.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    plain = cast("psycopg.Connection[Any]", connection.connection)
    with connection.wrap_database_errors:
        if not plain.autocommit and plain.pgconn.transaction_status == TransactionStatus.IDLE:
            # Django has begun a transaction, of which psycopg tells the server with the first statement that it sends.
            plain.execute("")
        with plain.lock:
            return _statements_of(plain).run(sql, params)


def _statements_of(plain: "psycopg.Connection[Any]") -> "_Statements":
    # Kept with the connection itself, which outlives its user in a pool: the server's names are as old as it is.
    found: _Statements | None = getattr(plain, _OURS, None)
    if found is None:
        found = _Statements(plain)
        setattr(plain, _OURS, found)
    return found


@lru_cache(maxsize=1024)
def _numbered(sql: str) -> tuple[bytes, tuple[str, ...], list[PyFormat]]:
    """Return the statement with $1, $2, … for its values, their names in this order, and how to send them."""
    names: dict[str, int] = {}
    text = _PLACE.sub(lambda found: f"${names.setdefault(found[1], len(names) + 1)}", sql)
    return text.encode(), tuple(names), [PyFormat.AUTO] * len(names)


class _Statements:
    """What one connection has prepared for us, by text and types of the values, as the server tells them apart."""

    def __init__(self, plain: "psycopg.Connection[Any]") -> None:
        self._plain = plain
        self._adapt = Transformer(plain)
        self._names: dict[tuple[bytes, Types], bytes] = {}
        self._count = 0

    def run(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        text, names, formats = _numbered(sql)
        adapt = self._adapt
        values = adapt.dump_sequence([params[name] for name in names], formats)
        key = (text, adapt.types or ())
        try:
            result = self._execute(key, values, adapt.formats)
        except _GONE:
            # Somebody deallocated what was prepared, or a migration changed what it returns. Outside of a transaction
            # nothing has happened yet; inside of one the server accepts nothing more, and the next one prepares anew.
            self._names.clear()
            if self._plain.pgconn.transaction_status != TransactionStatus.IDLE:
                raise
            result = self._execute(key, values, adapt.formats)
        adapt.set_pgresult(result)
        return adapt.load_rows(0, result.ntuples, tuple)

    def _execute(self, key: tuple[bytes, Types], values: Any, formats: Any) -> PGresult:
        pgconn = self._plain.pgconn
        name = self._names.get(key)
        if name is None:
            name = self._prepare(key)
        pgconn.send_query_prepared(name, values, formats)
        return self._result()

    def _prepare(self, key: tuple[bytes, Types]) -> bytes:
        pgconn = self._plain.pgconn
        if len(self._names) >= MOST_STATEMENTS:
            pgconn.send_query(b"DEALLOCATE " + self._names.pop(next(iter(self._names))))
            self._result()
        self._count += 1
        name = b"agentops_%d" % self._count
        pgconn.send_prepare(name, *key)
        self._result()
        self._names[key] = name
        return name

    def _result(self) -> PGresult:
        """Wait for the statement just sent, and return its result or raise its error."""
        result: PGresult = self._plain.wait(generators.execute(self._plain.pgconn))[-1]
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise error_from_result(result, encoding=self._plain.info.encoding)
        return result
