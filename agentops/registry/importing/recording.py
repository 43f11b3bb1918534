"""Recording the rows of a file as work of a role, once each."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Model

from agentops.registry.importing.rows import BadRow, Reason, Row

BATCH = 500
MOST_LISTED = 1_000

Insert = Callable[[UUID, list[Row]], int]
"""Records rows as work of a tenant, in the caller's transaction, leaves out those whose ``source_key`` it has already,
and returns how many are new."""


@dataclass
class Report:
    """What became of the rows. ``bad`` holds the first MOST_LISTED of them, ``reasons`` counts all."""

    taken: int = 0
    duplicates: int = 0
    bad: list[BadRow] = field(default_factory=list)
    reasons: Counter[Reason] = field(default_factory=Counter)

    @property
    def refused(self) -> int:
        """How many rows were not taken."""
        return self.reasons.total()

    @property
    def seen(self) -> int:
        """How many rows there were."""
        return self.taken + self.duplicates + self.refused


def record_rows(
    *,
    tenant_id: UUID,
    rows: Iterable[Row | BadRow],
    insert: Insert,
    progress: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Record the good rows, BATCH at a time, each batch in a transaction of its own.

    A row that the tenant has already is a duplicate, within the file as well. ``progress`` is called after every
    batch. A run that was broken off is begun again: what it recorded is a duplicate then.
    """
    report = Report()
    batch: list[Row] = []
    for row in rows:
        if isinstance(row, BadRow):
            report.reasons[row.reason] += 1
            if len(report.bad) < MOST_LISTED:
                report.bad.append(row)
            continue
        batch.append(row)
        if len(batch) == BATCH:
            _record(tenant_id, batch, insert, report)
            progress(report)
            batch = []
    if batch:
        _record(tenant_id, batch, insert, report)
    progress(report)
    return report


def _record(tenant_id: UUID, batch: list[Row], insert: Insert, report: Report) -> None:
    with transaction.atomic():
        inserted = insert(tenant_id, batch)
    report.taken += inserted
    report.duplicates += len(batch) - inserted


def insert_rows(
    tenant_id: UUID,
    rows: list[Row],
    *,
    model: type[Model],
    prefix: str,
    customers: Mapping[str, int],
    constants: Mapping[str, Any],
) -> int:
    """Insert rows into a role's table of work and return how many the tenant did not have yet.

    The table has the columns ref, customer_id, sender, subject, body, received_at and source_key, which is unique with
    the tenant. ``prefix`` begins a ref, ``customers`` is address in lower case to key, ``constants`` are more columns.
    """
    names = "".join(f", {name}" for name in constants)
    statement = f"""
        INSERT INTO {model._meta.db_table} (tenant_id, ref, customer_id, sender, subject, body, received_at, source_key{names})
        SELECT %s, row.ref, row.customer_id, row.sender, row.subject, row.body, row.received_at, row.source_key{", %s" * len(constants)}
          FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::text[])
               AS row (ref, customer_id, sender, subject, body, received_at, source_key)
            ON CONFLICT (tenant_id, source_key) DO NOTHING"""  # noqa: E501, S608, SLF001 - names of our own tables and columns
    columns: list[list[Any]] = [
        [f"{prefix}{short_digest(row.source_key)}" for row in rows],
        [customers.get(row.sender.lower()) for row in rows],
        [row.sender for row in rows],
        [row.subject for row in rows],
        [row.body for row in rows],
        [row.received_at for row in rows],
        [row.source_key for row in rows],
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, [tenant_id, *constants.values(), *columns])
        return int(cursor.rowcount)


def short_digest(source_key: str) -> str:
    """Return what tells a source key from every other in the id of a piece of work: 64 bits of its SHA-256."""
    return hashlib.sha256(source_key.encode()).hexdigest()[:16].upper()
