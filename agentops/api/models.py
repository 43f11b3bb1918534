"""Where senders may tell a tenant's roles something, and what they told."""

import secrets

from django.db import models
from django.db.models import F, Q

from agentops.kernel.ids import new_id
from agentops.tenancy.models import Tenant


def new_public_id() -> str:
    """Return an id for an address that nobody guesses: 256 bits of chance."""
    return secrets.token_urlsafe(32)


class WebhookEndpoint(models.Model):
    """An address that one sender calls, for one role of one tenant.

    The secrets that the sender signs with are credentials of the tenant, named here and never shown. While the sender
    changes over, both the present and the former one count.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    public_id = models.CharField(max_length=64, unique=True, default=new_public_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=40)
    source = models.CharField(max_length=40)
    name = models.CharField(max_length=120, help_text="What people call it here.")
    secret = models.CharField(
        max_length=60, help_text="The name of the credential that the sender signs with, such as stripe_webhook."
    )
    former_secret = models.CharField(
        max_length=60,
        blank=True,
        help_text="While it is changed: the name of the one before, which still counts.",
    )
    former_until = models.DateTimeField(null=True, blank=True, help_text="When the former one stops counting.")
    live = models.BooleanField(default=False, help_text="Whether its events are about real money and machines.")
    per_minute = models.PositiveIntegerField(default=600, help_text="At most this many calls a minute are answered.")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="one_webhook_endpoint_a_name"),
            models.CheckConstraint(
                condition=Q(former_secret="", former_until__isnull=True)
                | (~Q(former_secret="") & Q(former_until__isnull=False)),
                name="a_former_secret_counts_until_a_time",
            ),
            models.CheckConstraint(condition=~Q(former_secret=F("secret")), name="a_former_secret_is_another_one"),
            models.CheckConstraint(condition=Q(per_minute__gte=1), name="an_endpoint_takes_something"),
        ]

    def __str__(self) -> str:
        return self.name

    def audited_in(self) -> tuple[Tenant, str]:
        """Return the tenant, and the ledger stream that tells of changes and of what was received."""
        return self.tenant, f"webhook:{self.pk}"


class WebhookDelivery(models.Model):
    """One event of a sender, kept once however often it is sent. ``body`` is what was signed, byte for byte."""

    class State(models.TextChoices):
        """What became of it."""

        TAKEN = "taken", "taken"
        IGNORED = "ignored", "nothing follows from it"
        FAILED = "failed", "failed, is tried again"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.CASCADE, related_name="deliveries")
    event_id = models.CharField(max_length=200)
    type = models.CharField(max_length=120)
    happened_at = models.DateTimeField(help_text="By the sender's clock.")
    received_at = models.DateTimeField()
    digest = models.CharField(max_length=64, help_text="SHA-256 of the body.")
    body = models.BinaryField()
    state = models.CharField(max_length=8, choices=State, default=State.FAILED)
    attempts = models.PositiveIntegerField(default=0)
    words = models.CharField(max_length=500, blank=True, help_text="What followed.")
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "event_id"], name="one_delivery_an_event"),
            models.CheckConstraint(condition=Q(state="failed") | Q(error=""), name="what_was_taken_has_no_error"),
        ]
        indexes = [models.Index(fields=["tenant"], condition=Q(state="failed"), name="delivery_failed")]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"


class WebhookLatest(models.Model):
    """How new what a tenant's role knows of one thing of a sender is, by the sender's clock."""

    id = models.UUIDField(primary_key=True, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "webhook_latest"

    def __str__(self) -> str:
        return f"known as of {self.at}"
