"""Running this package's own statements. They belong to pages, so they go through Django and are counted with its."""

from collections.abc import Mapping
from typing import Any

from django.db import connection

Row = tuple[Any, ...]


def fetch_all(sql: str, params: Mapping[str, Any]) -> list[Row]:
    """Run one statement and return its rows. ``%(name)s`` stands for a value."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found: list[Row] = cursor.fetchall()
        return found


def fetch_one(sql: str, params: Mapping[str, Any]) -> Row | None:
    """Run one statement and return its first row, None when there is none."""
    rows = fetch_all(sql, params)
    return rows[0] if rows else None
