"""Recording the tickets of a file, once each."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from agentops.kernel.clock import utcnow
from support_agent.importing.rows import BadRow, Reason, Row
from support_agent.intake import customer_ids

BATCH = 500
MOST_LISTED = 1_000

_INSERT = """
INSERT INTO support_agent_ticket
       (tenant_id, ref, customer_id, sender, subject, body, received_at, status, source_key, opened_at)
SELECT %s, row.ref, row.customer_id, row.sender, row.subject, row.body, row.received_at, 'open', row.source_key, %s
  FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::text[])
       AS row (ref, customer_id, sender, subject, body, received_at, source_key)
    ON CONFLICT (tenant_id, source_key) DO NOTHING
"""


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
    *, tenant_id: UUID, rows: Iterable[Row | BadRow], progress: Callable[[Report], None] = lambda _: None
) -> Report:
    """Record the good rows as open tickets, BATCH at a time, each batch in a transaction of its own.

    A row whose ``source_key`` the tenant has already is a duplicate, within the file as well. ``progress`` is
    called after every batch.
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
            _record(tenant_id, batch, report)
            progress(report)
            batch = []
    if batch:
        _record(tenant_id, batch, report)
    progress(report)
    return report


def _record(tenant_id: UUID, batch: list[Row], report: Report) -> None:
    known = customer_ids(tenant_id, (row.sender for row in batch))
    values: list[list[Any]] = [
        [ticket_ref(row.source_key) for row in batch],
        [known.get(row.sender.lower()) for row in batch],
        [row.sender for row in batch],
        [row.subject for row in batch],
        [row.body for row in batch],
        [row.received_at for row in batch],
        [row.source_key for row in batch],
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_INSERT, [tenant_id, utcnow(), *values])
        inserted = cursor.rowcount
    report.taken += inserted
    report.duplicates += len(batch) - inserted


def ticket_ref(source_key: str) -> str:
    """Return the ticket id that always belongs to a source key: 64 bits of its SHA-256."""
    return f"T-{hashlib.sha256(source_key.encode()).hexdigest()[:16].upper()}"
