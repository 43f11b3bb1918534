"""Hand-written statements of the hot path, run as prepared ones.

Django's own cursor never prepares; a psycopg cursor on Django's connection does.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections


def fetch_one(sql: str, params: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Run one statement in the current transaction and return its first row, None when there is none."""
    with _cursor() as cursor:
        return cursor.execute(sql, params, prepare=True).fetchone()


def fetch_all(sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run one statement in the current transaction and return its rows."""
    with _cursor() as cursor:
        return cursor.execute(sql, params, prepare=True).fetchall()


@contextmanager
def _cursor() -> Iterator[psycopg.Cursor[tuple[Any, ...]]]:
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    with connection.wrap_database_errors, cast("psycopg.Connection", connection.connection).cursor() as cursor:
        yield cursor
