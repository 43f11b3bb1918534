"""The ledger's tables. Rows are inserted by ``append`` alone; triggers refuse every change.

Both tables are keyed by (stream, position) without surrogate ids or foreign keys: this is the hot path
(docs/design/ledger.md). ``ledger_event`` also has a column ``xid`` (the inserting transaction, by
default) that a sequencer can order committed rows by; no code here reads or writes it.
"""

from datetime import datetime
from uuid import UUID

import pgtrigger
from django.db import models

APPEND_ONLY = pgtrigger.Trigger(
    name="append_only",
    level=pgtrigger.Statement,
    when=pgtrigger.Before,
    operation=pgtrigger.Update | pgtrigger.Delete | pgtrigger.Truncate,
    func="RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;",
)


class LedgerEvent(models.Model):
    """One fact of one stream. ``leaf_hash`` covers every other column, see ``ledger.leaf``."""

    pk = models.CompositePrimaryKey("stream", "position")
    stream = models.UUIDField()
    position = models.IntegerField()
    at = models.DateTimeField()
    tenant_id = models.UUIDField()
    type = models.TextField()
    actor = models.TextField()
    refs = models.JSONField()
    facts = models.JSONField()
    payload_digest = models.BinaryField(null=True)
    leaf_hash = models.BinaryField()

    class Meta:
        db_table = "ledger_event"
        triggers = [APPEND_ONLY]
        constraints = [
            models.CheckConstraint(condition=models.Q(position__gte=0), name="event_positions_start_at_zero"),
        ]

    def __str__(self) -> str:
        return f"{self.type} at {self.stream}:{self.position}"


class Payload(models.Model):
    """What was said or returned at an event: canonical JSON, apart from the event so that it can be erased.

    ``body`` is as ``ledger.bodies`` stores it. Its digest stands in the event, and only there.
    """

    pk = models.CompositePrimaryKey("stream", "position")
    stream = models.UUIDField()
    position = models.IntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "ledger_payload"
        triggers = [APPEND_ONLY]

    def __str__(self) -> str:
        return f"payload of {self.stream}:{self.position}"


class Stream(models.Model):
    """The next position of a stream that has no row of its own to keep it in (configuration, accounts)."""

    id = models.UUIDField(primary_key=True)
    tenant_id = models.UUIDField()
    name = models.CharField(max_length=200)
    position = models.IntegerField(default=0)

    class Meta:
        db_table = "ledger_stream"

    def __str__(self) -> str:
        return self.name


class LedgerRow(models.Model):
    """The events as the admin reads them: a view with one text key, ``stream:position``."""

    id = models.TextField(primary_key=True)
    stream: "models.UUIDField[UUID, UUID]" = models.UUIDField()
    position = models.IntegerField()
    at: "models.DateTimeField[datetime, datetime]" = models.DateTimeField()
    tenant_id = models.UUIDField()
    type = models.TextField()
    actor = models.TextField()
    refs = models.JSONField()
    facts = models.JSONField()

    class Meta:
        managed = False
        db_table = "ledger_row"
        verbose_name = "ledger event"

    def __str__(self) -> str:
        return f"{self.type} at {self.id}"
