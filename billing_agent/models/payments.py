"""Money that came in and went back: charges, refunds, disputes and credits."""

import pgtrigger
from django.db import models
from django.db.models import F, Q

from billing_agent.models.base import REF_LENGTH, Record
from billing_agent.models.customers import Customer
from billing_agent.models.invoices import Invoice
from billing_agent.models.walls import (
    A_DECIDED_DISPUTE_STAYS,
    APPEND_ONLY,
    NO_REFUND_DURING_A_DISPUTE,
    charge_adds_up,
    stays,
)


class DeclineCode(models.TextChoices):
    """Why an issuer declines; the words that card networks and processors use."""

    INSUFFICIENT_FUNDS = "insufficient_funds", "Insufficient funds"
    EXPIRED_CARD = "expired_card", "Expired card"
    DO_NOT_HONOR = "do_not_honor", "Declined by the bank without a reason"
    LOST_OR_STOLEN = "lost_or_stolen", "Card reported lost or stolen"
    INCORRECT_CVC = "incorrect_cvc", "Wrong security code"
    PROCESSING_ERROR = "processing_error", "Processing error"
    AUTHENTICATION_REQUIRED = "authentication_required", "The customer has to confirm it"


class Charge(Record):
    """One attempt to take money. ``refunded_minor`` is what went back so far."""

    class Status(models.TextChoices):
        """How the attempt ended."""

        SUCCEEDED = "succeeded", "Succeeded"
        FAILED = "failed", "Failed"

    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="charges")
    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, null=True, blank=True, related_name="charges")
    method_ref = models.CharField(max_length=REF_LENGTH)
    amount_minor = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=12, choices=Status)
    decline_code = models.CharField(max_length=40, blank=True, choices=DeclineCode)
    refunded_minor = models.BigIntegerField(default=0)
    at = models.DateTimeField()
    operation_key = models.CharField(max_length=200, blank=True)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_charge_a_ref"),
            models.CheckConstraint(condition=Q(amount_minor__gt=0), name="a_charge_takes_something"),
            models.CheckConstraint(
                condition=Q(refunded_minor__gte=0) & Q(refunded_minor__lte=F("amount_minor")),
                name="no_more_is_refunded_than_was_paid",
            ),
            models.CheckConstraint(
                condition=Q(status="succeeded", decline_code="")
                | (Q(status="failed", refunded_minor=0) & ~Q(decline_code="")),
                name="a_failed_charge_says_why",
            ),
        ]
        triggers = [
            charge_adds_up("NEW.id", pgtrigger.Insert | pgtrigger.Update),
            stays(
                "a charge stays what it was",
                *("tenant_id", "customer_id", "invoice_id", "method_ref", "amount_minor", "currency", "status"),
            ),
        ]
        indexes = [
            models.Index(fields=["customer", "-at"], name="charges_of_a_customer"),
            models.Index(fields=["tenant", "operation_key"], condition=~Q(operation_key=""), name="charges_by_key"),
        ]


class Refund(Record):
    """Money that went back for a charge. It cannot be taken back."""

    charge = models.ForeignKey(Charge, on_delete=models.PROTECT, related_name="refunds")
    amount_minor = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=500)
    at = models.DateTimeField()
    operation_key = models.CharField(max_length=200, blank=True)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_refund_a_ref"),
            models.CheckConstraint(condition=Q(amount_minor__gt=0), name="a_refund_gives_something"),
        ]
        triggers = [APPEND_ONLY, NO_REFUND_DURING_A_DISPUTE, charge_adds_up("NEW.charge_id", pgtrigger.Insert)]
        indexes = [
            models.Index(fields=["tenant", "operation_key"], condition=~Q(operation_key=""), name="refunds_by_key")
        ]


class Dispute(Record):
    """A charge that the customer's bank took back. While it is open, nothing more is refunded for that charge."""

    class Status(models.TextChoices):
        """Where it is in its life."""

        NEEDS_RESPONSE = "needs_response", "Needs a response"
        UNDER_REVIEW = "under_review", "Under review"
        WON = "won", "Won"
        LOST = "lost", "Lost"

    charge = models.ForeignKey(Charge, on_delete=models.PROTECT, related_name="disputes")
    amount_minor = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=60)
    status = models.CharField(max_length=16, choices=Status, default=Status.NEEDS_RESPONSE)
    opened_at = models.DateTimeField()
    told_at = models.DateTimeField(
        help_text="When it stood as it is here; what is told of it as of before changes nothing."
    )
    respond_by = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_dispute_a_ref"),
            models.CheckConstraint(condition=Q(amount_minor__gt=0), name="a_dispute_is_about_something"),
            models.CheckConstraint(
                condition=Q(status__in=["won", "lost"], closed_at__isnull=False)
                | (~Q(status__in=["won", "lost"]) & Q(closed_at__isnull=True)),
                name="a_decided_dispute_has_a_time",
            ),
        ]
        triggers = [
            A_DECIDED_DISPUTE_STAYS,
            charge_adds_up("NEW.charge_id", pgtrigger.Insert | pgtrigger.Update),
            stays(
                "a dispute stays about what it was",
                *("tenant_id", "charge_id", "ref", "amount_minor", "currency"),
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "charge"],
                condition=Q(status__in=["needs_response", "under_review"]),
                name="disputes_that_are_open",
            )
        ]


class Credit(Record):
    """Money that a customer has with us: it settles what is billed next. ``left_minor`` is what is not used yet."""

    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="credits")
    amount_minor = models.BigIntegerField()
    left_minor = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=500)
    at = models.DateTimeField()
    reversed_at = models.DateTimeField(null=True, blank=True)
    operation_key = models.CharField(max_length=200, blank=True)

    class Meta(Record.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_credit_a_ref"),
            models.CheckConstraint(condition=Q(amount_minor__gt=0), name="a_credit_gives_something"),
            models.CheckConstraint(
                condition=Q(left_minor__gte=0) & Q(left_minor__lte=F("amount_minor")),
                name="no_more_is_left_of_a_credit_than_it_was",
            ),
            models.CheckConstraint(
                condition=Q(reversed_at__isnull=True) | Q(left_minor=0), name="nothing_is_left_of_a_reversed_credit"
            ),
        ]
        triggers = [stays("a credit stays what it was", "tenant_id", "customer_id", "amount_minor", "currency")]
        indexes = [
            models.Index(fields=["customer", "at"], condition=Q(left_minor__gt=0), name="credits_that_are_left"),
            models.Index(fields=["tenant", "operation_key"], condition=~Q(operation_key=""), name="credits_by_key"),
        ]
