"""What the house keeps of Stripe: writes that are under way, whose a record is, and disputes."""

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from billing_agent.models.base import REF_LENGTH, Owned


class StripeWrite(Owned):
    """A write that was begun under a key: its steps as they were frozen, and what each of them made so far.

    ``told`` is what the rules said of it. ``attempt`` is a part of each step's idempotency key; it moves when the key
    of a step was spent to make sure that nothing happens any more. While somebody works on it, until ``held_until``,
    nobody else does.
    """

    key = models.CharField(max_length=200)
    action = models.CharField(max_length=40)
    arguments_digest = models.BinaryField(max_length=32)
    customer_ref = models.CharField(max_length=REF_LENGTH)
    steps = models.JSONField(encoder=DjangoJSONEncoder, default=list)
    told = models.JSONField(encoder=DjangoJSONEncoder, default=dict)
    made = models.JSONField(encoder=DjangoJSONEncoder, default=dict)
    attempt = models.PositiveIntegerField(default=0)
    begun_at = models.DateTimeField()
    held_by = models.UUIDField(null=True)
    held_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "key"], name="one_stripe_write_a_key")]

    def __str__(self) -> str:
        return f"{self.action} ({self.key})"


class StripeRecord(Owned):
    """A record that Stripe told of in a look-up, and whose it is. An invoice is also known by its number."""

    kind = models.CharField(max_length=16)
    ref = models.CharField(max_length=REF_LENGTH)
    customer_ref = models.CharField(max_length=REF_LENGTH)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "kind", "ref"], name="one_stripe_record_a_ref")]

    def __str__(self) -> str:
        return f"{self.kind} {self.ref}"


class StripeDispute(Owned):
    """A dispute at Stripe about a charge that a call made. ``operation_key`` is that call's idempotency key."""

    ref = models.CharField(max_length=REF_LENGTH)
    charge_ref = models.CharField(max_length=REF_LENGTH)
    operation_key = models.CharField(max_length=200)
    reason = models.CharField(max_length=60)
    opened_at = models.DateTimeField()

    class Meta:
        ordering = ["-opened_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "ref"], name="one_stripe_dispute_a_ref")]

    def __str__(self) -> str:
        return self.ref
