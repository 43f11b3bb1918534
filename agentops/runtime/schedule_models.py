"""When what a role does by the calendar is looked after next."""

from django.db import models
from django.db.models import Q

from agentops.tenancy.models import Tenant


class RoleSchedule(models.Model):
    """A schedule of a role in one tenant. ``leased_until`` is set while a sweep looks after it.

    ``failed_since`` is when it began to fail, None while it works; then ``words`` say why, otherwise what was refused.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=40)
    name = models.CharField(max_length=40)
    due_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True)
    fence = models.IntegerField(default=0)
    ran_at = models.DateTimeField(null=True)
    done = models.BigIntegerField(default=0, help_text="How many things were done so far.")
    refused = models.IntegerField(default=0, help_text="How many things were refused in the last run, and stay due.")
    failed_since = models.DateTimeField(null=True)
    words = models.TextField(blank=True)

    class Meta:
        db_table = "role_schedule"
        indexes = [
            models.Index(fields=["due_at"], name="schedule_due"),
            models.Index(
                fields=["tenant"], condition=Q(failed_since__isnull=False) | Q(refused__gt=0), name="schedule_troubled"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.name}"
