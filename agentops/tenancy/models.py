"""Tenants and who belongs to them. Every business row carries its tenant."""

from django.conf import settings
from django.db import models

from agentops.kernel.ids import new_id


class Tenant(models.Model):
    """One company. Nothing of one tenant is ever visible to another."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=120)
    timezone = models.CharField(max_length=64, default="UTC", help_text="Used for business days, such as daily limits.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

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
