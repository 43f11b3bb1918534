"""The books: an append-only double entry whose lines sum to zero, and the periods that are closed."""

import pgtrigger
from django.db import models
from django.db.models import Q

from billing_agent.models.base import REF_LENGTH, Owned
from billing_agent.models.walls import APPEND_ONLY


class Account(models.TextChoices):
    """The accounts of a billing desk. A debit is positive, a credit negative, whichever side an account grows on."""

    CASH = "cash", "Cash at the processor"
    RECEIVABLE = "receivable", "Owed by customers"
    REVENUE = "revenue", "Revenue"
    TAX = "tax", "Tax owed"
    CUSTOMER_CREDIT = "customer_credit", "Owed to customers as credit"
    GOODWILL = "goodwill", "Goodwill"
    REFUNDS = "refunds", "Refunds"
    DISPUTED = "disputed", "Held by banks in disputes"
    WRITTEN_OFF = "written_off", "Written off"


class EntryKind(models.TextChoices):
    """What happened."""

    INVOICE = "invoice", "Invoice issued"
    VOID = "void", "Invoice voided"
    CHARGE = "charge", "Charge"
    REFUND = "refund", "Refund"
    CREDIT = "credit", "Credit given"
    CREDIT_REVERSED = "credit_reversed", "Credit taken back"
    CREDIT_USED = "credit_used", "Credit used"
    DISPUTE = "dispute", "Dispute opened"
    DISPUTE_WON = "dispute_won", "Dispute won"
    DISPUTE_LOST = "dispute_lost", "Dispute lost"
    WRITE_OFF = "write_off", "Written off"
    OPENING = "opening", "Opening balance"


_IN_OPEN_BOOKS = pgtrigger.Trigger(
    name="nothing_is_booked_in_closed_books",
    level=pgtrigger.Row,
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func="""
    IF EXISTS (SELECT 1 FROM billing_agent_closedperiod c WHERE c.tenant_id = NEW.tenant_id
               AND c.through >= (NEW.at AT TIME ZONE 'UTC')::date) THEN
      RAISE EXCEPTION 'nothing is booked in closed books' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;""",
)

# At commit, when all lines of an entry are there. One entry is in one currency, so there is one sum.
_SUMS_TO_ZERO = pgtrigger.Trigger(
    name="an_entry_sums_to_zero",
    level=pgtrigger.Row,
    when=pgtrigger.After,
    operation=pgtrigger.Insert,
    timing=pgtrigger.Deferred,
    func="""
    IF (SELECT coalesce(sum(p.minor), 0) <> 0 OR count(*) < 2 FROM billing_agent_posting p
        WHERE p.entry_id = NEW.entry_id) THEN
      RAISE EXCEPTION 'the lines of an entry sum to zero' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;""",
)

_HAS_LINES = pgtrigger.Trigger(
    name="an_entry_has_lines",
    level=pgtrigger.Row,
    when=pgtrigger.After,
    operation=pgtrigger.Insert,
    timing=pgtrigger.Deferred,
    func="""
    IF NOT EXISTS (SELECT 1 FROM billing_agent_posting p WHERE p.entry_id = NEW.id) THEN
      RAISE EXCEPTION 'an entry has lines' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;""",
)


class Entry(Owned):
    """One event of the books. ``record_ref`` is the invoice, charge, refund, credit or dispute that it is about.

    ``operation_key`` is the idempotency key of the call that made it, empty when no call did.
    """

    kind = models.CharField(max_length=16, choices=EntryKind)
    currency = models.CharField(max_length=3)
    customer_ref = models.CharField(max_length=REF_LENGTH)
    record_ref = models.CharField(max_length=REF_LENGTH)
    memo = models.CharField(max_length=300, blank=True)
    at = models.DateTimeField()
    operation_key = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "entries"
        indexes = [
            models.Index(fields=["tenant", "customer_ref", "id"], name="entries_of_a_customer"),
            models.Index(fields=["tenant", "at", "id"], name="entries_by_time"),
            models.Index(fields=["tenant", "operation_key"], condition=~Q(operation_key=""), name="entries_by_key"),
        ]
        triggers = [APPEND_ONLY, _HAS_LINES, _IN_OPEN_BOOKS]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.record_ref}"


class Posting(models.Model):
    """One line of an entry, in minor units of the entry's currency: a debit is positive, a credit negative."""

    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="postings")
    account = models.CharField(max_length=16, choices=Account)
    minor = models.BigIntegerField()

    class Meta:
        ordering = ["entry", "id"]
        constraints = [
            models.UniqueConstraint(fields=["entry", "account"], name="one_posting_an_account"),
            models.CheckConstraint(condition=~Q(minor=0), name="a_posting_moves_something"),
        ]
        triggers = [APPEND_ONLY, _SUMS_TO_ZERO]

    def __str__(self) -> str:
        return f"{self.account} {self.minor}"


class ClosedPeriod(Owned):
    """The books up to and including a day are closed: what was issued then is not voided any more."""

    through = models.DateField()
    closed_by = models.CharField(max_length=150)
    closed_at = models.DateTimeField()

    class Meta:
        ordering = ["-through"]
        constraints = [models.UniqueConstraint(fields=["tenant", "through"], name="one_closing_a_day")]
        triggers = [APPEND_ONLY]

    def __str__(self) -> str:
        return f"closed through {self.through}"
