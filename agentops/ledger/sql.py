"""Hand-written statements of the hot path, run as prepared ones.

Django's own cursor never prepares; a psycopg cursor on Django's connection does.
"""

from collections.abc import Mapping
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper


def fetch_one(sql: str, params: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Run one statement in the current transaction and return its first row, None when there is none."""
    connection = _connected()
    with connection.wrap_database_errors, _cursor_of(connection) as cursor:
        return cursor.execute(sql, params, prepare=True).fetchone()


def fetch_all(sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run one statement in the current transaction and return its rows."""
    connection = _connected()
    with connection.wrap_database_errors, _cursor_of(connection) as cursor:
        return cursor.execute(sql, params, prepare=True).fetchall()


def _connected() -> BaseDatabaseWrapper:
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    return connection


def _cursor_of(connection: BaseDatabaseWrapper) -> psycopg.Cursor[tuple[Any, ...]]:
    return cast("psycopg.Connection", connection.connection).cursor()
