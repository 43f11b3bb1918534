"""Breakers, which leave alone what keeps failing, and tenants' consent to the use of their credentials."""

from django.db import models

from agentops.gateway.breaker import BreakerState
from agentops.kernel.ids import new_id
from agentops.tenancy.models import Tenant
from agentops.tenancy.switchboard import bumps_epoch

_WORDS = {BreakerState.CLOSED: "working", BreakerState.OPEN: "off", BreakerState.HALF_OPEN: "being tried"}


class Breaker(models.Model):
    """The failures in a row of one tool for one tenant, or of one provider for everybody (``tenant`` None).

    ``retry_at`` is when an open breaker lets a probe through, ``probe_until`` when a probe that was never heard of
    again is given up, ``opened`` how many times in a row it opened: each time it stays off for longer.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, null=True, related_name="+")
    name = models.CharField(max_length=120, help_text="``tool:NAME`` or ``provider:NAME``.")
    state = models.CharField(
        max_length=10, choices=[(s.value, words) for s, words in _WORDS.items()], default=BreakerState.CLOSED.value
    )
    failures = models.IntegerField(default=0)
    opened = models.IntegerField(default=0)
    last_code = models.CharField(max_length=20, blank=True)
    last_words = models.CharField(max_length=300, blank=True)
    changed_at = models.DateTimeField()
    retry_at = models.DateTimeField(null=True)
    probe_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name"]
        triggers = [bumps_epoch()]
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(state="open") | models.Q(retry_at__isnull=False),
                name="an_open_breaker_knows_when_to_try_again",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.state})"


class SecretConsent(models.Model):
    """A tenant's leave for its tools to use one credential in one environment, until somebody takes it back."""

    class Environment(models.TextChoices):
        """What a credential opens: a place to try things, or the real one."""

        SANDBOX = "sandbox", "Sandbox"
        PRODUCTION = "production", "Production"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    capability = models.CharField(max_length=60, help_text="What a tool names, such as stripe_charges.")
    environment = models.CharField(max_length=12, choices=Environment)
    given_by = models.CharField(max_length=150)
    given_at = models.DateTimeField()
    revoked_by = models.CharField(max_length=150, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-given_at"]
        verbose_name = "consent to a credential"
        verbose_name_plural = "consents to credentials"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "capability", "environment"],
                condition=models.Q(revoked_at__isnull=True),
                name="a_consent_is_given_once",
            ),
            models.CheckConstraint(
                condition=models.Q(revoked_at__isnull=True) | ~models.Q(revoked_by=""),
                name="a_consent_taken_back_says_by_whom",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.capability} ({self.environment})"
