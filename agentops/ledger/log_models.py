"""The tables of the log: which event stands at which index, the roots of full subtrees, and the sequencer's place.

``ledger.sequencing`` alone writes them. Entries and subtrees are append-only; the head is the one row that changes.
"""

from typing import Any

import pgtrigger
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Length
from django.db.models.lookups import Exact

from agentops.ledger.models import APPEND_ONLY


class TransactionIdField(models.TextField):  # type: ignore[type-arg] # takes none at run time
    """A PostgreSQL transaction id with its epoch (``xid8``), as decimal digits. Compare it in SQL, never as text."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        """Return the type of the column."""
        return "xid8"

    def get_placeholder(self, value: Any, compiler: Any, connection: BaseDatabaseWrapper) -> str:
        """Say to the server that the digits are one, since text is not cast by itself."""
        return "%s::text::xid8"


def is_sha256(field: str) -> Exact:
    """Say that a column has 32 bytes."""
    return Exact(Length(field), 32)


class LedgerEntry(models.Model):
    """The event at one index of the log. Indexes count from 0 without gaps, and an event has one."""

    index = models.BigIntegerField(primary_key=True)
    stream = models.UUIDField()
    position = models.IntegerField()
    leaf_hash = models.BinaryField()
    chain_hash = models.BinaryField()

    class Meta:
        db_table = "ledger_entry"
        triggers = [APPEND_ONLY]
        constraints = [
            models.UniqueConstraint(fields=["stream", "position"], name="an_event_stands_in_the_log_once"),
            models.CheckConstraint(condition=models.Q(index__gte=0), name="the_log_starts_at_zero"),
            models.CheckConstraint(
                condition=models.Q(is_sha256("leaf_hash"), is_sha256("chain_hash")),
                name="hashes_of_the_log_have_32_bytes",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.index}: {self.stream}:{self.position}"


class LedgerSubtree(models.Model):
    """The root over 256^level leaves from ``index * 256^level`` on, once all of them are there. Levels count from 1."""

    pk = models.CompositePrimaryKey("level", "index")
    level = models.SmallIntegerField()
    index = models.BigIntegerField()
    hash = models.BinaryField()

    class Meta:
        db_table = "ledger_subtree"
        triggers = [APPEND_ONLY]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(level__gte=1, level__lte=8), name="subtrees_have_levels_from_one_to_eight"
            ),
            models.CheckConstraint(condition=models.Q(is_sha256("hash")), name="roots_of_subtrees_have_32_bytes"),
        ]

    def __str__(self) -> str:
        return f"level {self.level}, subtree {self.index}"


class LedgerHead(models.Model):
    """The sequencer's place: how long the log is, its last link, and which transactions have been taken.

    Every committed transaction up to ``cursor`` is in the log, in the cluster that has ``system_identifier``. While
    ``resume_at`` is set, a database that came from elsewhere is being caught up (``ledger.sequencing``).
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    size = models.BigIntegerField()
    chain_hash = models.BinaryField()
    cursor = TransactionIdField()
    system_identifier = models.BigIntegerField()
    resume_at = TransactionIdField(null=True)

    class Meta:
        db_table = "ledger_head"
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="the_log_has_one_head"),
            models.CheckConstraint(
                condition=models.Q(is_sha256("chain_hash"), size__gte=0), name="a_head_has_a_size_and_a_link"
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="never_shrinks",
                level=pgtrigger.Row,
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(new__size__lt=pgtrigger.F("old__size")),
                func="RAISE EXCEPTION 'the log never shrinks';",
            ),
            pgtrigger.Trigger(
                name="stays",
                level=pgtrigger.Statement,
                when=pgtrigger.Before,
                operation=pgtrigger.Delete | pgtrigger.Truncate,
                func="RAISE EXCEPTION 'the head of the log stays';",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.size} entries"
