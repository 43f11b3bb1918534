"""Signed checkpoints of the log, who cosigned them, and where each still has to be kept.

``ledger.checkpointing`` writes checkpoints, ``ledger.delivering`` the rest. Only deliveries ever change.
"""

from django.db import models
from django.db.models import F, Q

from agentops.kernel.ids import new_id
from agentops.ledger.log_models import is_sha256
from agentops.ledger.models import APPEND_ONLY


class LedgerCheckpoint(models.Model):
    """The log at one size, signed. ``note`` says all of it; the other columns are for looking it up."""

    size = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField()
    root = models.BinaryField()
    chain_hash = models.BinaryField()
    note = models.TextField()

    class Meta:
        db_table = "ledger_checkpoint"
        triggers = [APPEND_ONLY]
        constraints = [
            models.CheckConstraint(condition=Q(size__gte=1), name="a_checkpoint_covers_an_entry"),
            models.CheckConstraint(
                condition=Q(is_sha256("root"), is_sha256("chain_hash")), name="hashes_of_checkpoints_have_32_bytes"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.size} entries"


class LedgerCosignature(models.Model):
    """That a witness signed a checkpoint, too. ``line`` goes under the note, with its newline."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    checkpoint = models.ForeignKey(
        LedgerCheckpoint, on_delete=models.PROTECT, db_column="size", related_name="cosignatures"
    )
    witness = models.TextField()
    at = models.DateTimeField()
    line = models.TextField()

    class Meta:
        db_table = "ledger_cosignature"
        triggers = [APPEND_ONLY]
        constraints = [
            models.UniqueConstraint(fields=["checkpoint", "line"], name="a_cosignature_is_kept_once"),
        ]

    def __str__(self) -> str:
        return f"{self.witness}: {self.checkpoint_id}"


class LedgerDelivery(models.Model):
    """A checkpoint on its way to a sink.

    ``covered_by`` is the size of a later checkpoint that the sink has instead, where it needs the latest only.
    ``refused``: the sink holds something that contradicts the checkpoint. Nobody tries again by itself.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    checkpoint = models.ForeignKey(
        LedgerCheckpoint, on_delete=models.PROTECT, db_column="size", related_name="deliveries"
    )
    sink = models.TextField()
    due_at = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    error = models.TextField(blank=True)
    delivered_at = models.DateTimeField(null=True)
    covered_by = models.BigIntegerField(null=True)
    refused = models.BooleanField(default=False)

    class Meta:
        db_table = "ledger_delivery"
        indexes = [
            models.Index(
                fields=["sink", "checkpoint"],
                condition=Q(delivered_at=None, covered_by=None),
                name="undelivered_checkpoints",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["checkpoint", "sink"], name="a_checkpoint_goes_to_a_sink_once"),
            models.CheckConstraint(
                condition=Q(covered_by=None) | Q(covered_by__gt=F("checkpoint")),
                name="a_later_checkpoint_covers_an_earlier_one",
            ),
            models.CheckConstraint(
                condition=Q(refused=False) | Q(delivered_at=None), name="what_was_refused_was_not_delivered"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.checkpoint_id} to {self.sink}"
