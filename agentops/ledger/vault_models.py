"""The vault's tables: the keys that payloads are sealed with, and what forbids to destroy them."""

import pgtrigger
from django.db import models
from django.db.models import F, Q

from agentops.kernel.ids import new_id
from agentops.tenancy.models import Tenant

_CHANGES = """
IF OLD.destroyed_at IS NOT NULL THEN RAISE EXCEPTION 'a destroyed key stays destroyed'; END IF;
IF (OLD.id, OLD.tenant_id, OLD.subject, OLD.class, OLD.period, OLD.created_at)
  IS DISTINCT FROM (NEW.id, NEW.tenant_id, NEW.subject, NEW.class, NEW.period, NEW.created_at)
THEN RAISE EXCEPTION 'what a key is for does not change'; END IF;
RETURN NEW;
"""


class RetentionClass(models.TextChoices):
    """What kind of record a payload belongs to, and so how long it is kept."""

    SESSION = "session", "what sessions saw, said and did"
    RECORD = "record", "decisions, configuration, accounts"


class Destroyed(models.TextChoices):
    """Why a key was destroyed."""

    ERASURE = "erasure"
    RETENTION = "retention"


class LedgerKey(models.Model):
    """A data key, wrapped by a master key; NULL once it is destroyed, and with it all that it seals.

    ``subject`` is whom the payloads are about, ``customer:ID`` or ``user:NAME``; empty for the tenant's own.
    ``period`` is a quarter in UTC. Two transactions that need a new one at the same moment make two: waiting for each
    other could end in a circle.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant_id = models.UUIDField()
    subject = models.CharField(max_length=200, blank=True)
    retention = models.CharField(max_length=20, choices=RetentionClass.choices, db_column="class")
    period = models.CharField(max_length=6)
    wrapped = models.BinaryField(null=True)
    wrapped_by = models.CharField(max_length=16)
    created_at = models.DateTimeField()
    destroyed_at = models.DateTimeField(null=True)
    destroyed_by = models.CharField(max_length=20, choices=Destroyed.choices, blank=True)

    class Meta:
        db_table = "ledger_key"
        constraints = [
            models.CheckConstraint(
                condition=Q(wrapped__isnull=True, destroyed_at__isnull=False)
                | Q(wrapped__isnull=False, destroyed_at__isnull=True),
                name="a_key_is_there_or_destroyed",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant_id", "subject", "retention", "period"], name="key_by_subject"),
            models.Index(fields=["wrapped_by"], condition=Q(destroyed_at__isnull=True), name="key_by_master"),
            models.Index(fields=["retention", "period"], condition=Q(destroyed_at__isnull=True), name="key_by_age"),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="keys_are_only_destroyed",
                level=pgtrigger.Row,
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                func=_CHANGES,
            ),
            pgtrigger.Trigger(
                name="keys_leave_a_row",
                level=pgtrigger.Statement,
                when=pgtrigger.Before,
                operation=pgtrigger.Delete | pgtrigger.Truncate,
                func="RAISE EXCEPTION 'rows of % are kept', TG_TABLE_NAME;",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject or 'tenant'} {self.retention} {self.period}"


class LegalHold(models.Model):
    """Why a subject's records must not be erased or run out. Of a whole tenant where ``subject`` is empty."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    subject = models.CharField(
        max_length=200, blank=True, help_text="customer:ID, user:NAME or sender:MAIL; nothing means the whole tenant."
    )
    reason = models.CharField(max_length=500)
    placed_by = models.CharField(max_length=150)
    placed_at = models.DateTimeField()
    lifted_by = models.CharField(max_length=150, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "legal_hold"
        permissions = [("erase_subject", "Can erase what is held about a person")]
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="a_legal_hold_has_a_reason"),
            models.CheckConstraint(
                condition=Q(lifted_at__isnull=True, lifted_by="")
                | Q(lifted_at__gte=F("placed_at"), lifted_at__isnull=False),
                name="a_hold_is_lifted_after_it_is_placed",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "subject"], condition=Q(lifted_at__isnull=True), name="hold_standing")
        ]

    def __str__(self) -> str:
        return f"{self.subject or 'everything'}: {self.reason[:60]}"
