"""Tenants and who belongs to them. Every business row carries its tenant."""

from uuid import UUID

from django.conf import settings
from django.db import models

from agentops.kernel.ids import new_id
from agentops.tenancy.switchboard import bumps_epoch

EVERYBODY = UUID(int=0)
"""The tenant under which the ledger keeps what concerns all tenants, such as a freeze of everything."""


class Tenant(models.Model):
    """One company. Nothing of one tenant is ever visible to another."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=120)
    timezone = models.CharField(max_length=64, default="UTC", help_text="Used for business days, such as daily limits.")
    created_at = models.DateTimeField(auto_now_add=True)
    max_running = models.PositiveIntegerField(
        default=50, help_text="At most this many sessions run at once; the others wait their turn."
    )
    max_starts_hour = models.PositiveIntegerField(
        null=True, blank=True, help_text="At most this many sessions start in any hour. Empty: no limit."
    )
    max_day_micro = models.PositiveBigIntegerField(
        "daily spending limit",
        null=True,
        blank=True,
        help_text="Micro-dollars of model calls in one business day: 1,000,000 is one dollar. Empty: no limit.",
    )

    class Meta:
        ordering = ["name"]
        triggers = [bumps_epoch()]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a person does here. Deciding a queue additionally needs the queue's own permission."""

    APPROVER = "approver", "Approver"
    ADMIN = "admin", "Admin"
    SUPPORT = "support", "Support staff"


class Membership(models.Model):
    """A person's place in a tenant."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "user", "role"], name="one_membership_a_role")]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant} as {self.get_role_display()}"


class Freeze(models.Model):
    """A switch that stops work: of everybody, a tenant, an agent, or one tool of any of them. Lifting takes two people.

    ``tenant`` None means every tenant, ``agent_id`` None every agent, ``tool`` empty every tool. A freeze with a
    tool refuses that tool; one without stops the sessions themselves.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, null=True, related_name="freezes")
    agent_id = models.UUIDField(null=True)
    tool = models.CharField(max_length=80, blank=True)
    reason = models.CharField(max_length=300)
    frozen_by = models.CharField(max_length=150)
    frozen_at = models.DateTimeField()
    lift_asked_by = models.CharField(max_length=150, blank=True)
    lift_asked_at = models.DateTimeField(null=True)
    lift_reason = models.CharField(max_length=300, blank=True)
    lifted_by = models.CharField(max_length=150, blank=True)
    lifted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-frozen_at"]
        indexes = [models.Index(fields=["tenant"], condition=models.Q(lifted_at__isnull=True), name="freeze_active")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(lifted_at__isnull=True)
                | (
                    ~models.Q(lift_asked_by="")
                    & ~models.Q(lifted_by="")
                    & ~models.Q(lifted_by=models.F("lift_asked_by"))
                ),
                name="lifting_a_freeze_takes_two_people",
            ),
            models.CheckConstraint(
                condition=models.Q(agent_id__isnull=True) | models.Q(tenant__isnull=False),
                name="a_frozen_agent_has_a_tenant",
            ),
        ]
        triggers = [bumps_epoch()]

    def __str__(self) -> str:
        return f"freeze by {self.frozen_by}: {self.reason}"


class Switchboard(models.Model):
    """One row: how often anything that decides about work in progress has changed. See ``tenancy.switchboard``."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    epoch = models.BigIntegerField(default=0)

    class Meta:
        db_table = "switchboard"
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="there_is_one_switchboard")]

    def __str__(self) -> str:
        return f"epoch {self.epoch}"
