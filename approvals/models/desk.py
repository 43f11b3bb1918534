"""What a person keeps on the desk: unfinished decisions and views of the queue."""

from django.conf import settings
from django.db import models

from agentops.tenancy.models import Tenant
from approvals.models.requests import ApprovalRequest


class Draft(models.Model):
    """What a person typed about a request and has not sent. It survives a reload, a login and a conflict.

    ``fields`` are those of the form by name. ``digest`` is that of the page that it was typed on.
    """

    class Form(models.TextChoices):
        """Where it was typed."""

        DECIDE = "decide", "decision"
        EDIT = "edit", "edit and resubmit"

    request = models.ForeignKey(ApprovalRequest, on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    form = models.CharField(max_length=10, choices=Form, default=Form.DECIDE, db_default=Form.DECIDE)
    fields = models.JSONField(default=dict)
    digest = models.CharField(max_length=64, blank=True)
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "person", "form"], name="one_draft_a_person_and_form")
        ]

    def __str__(self) -> str:
        return f"draft of {self.person}"


class SavedView(models.Model):
    """A bucket with search and filters under a name of one's own. ``query`` is the address's query text."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=600)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["tenant", "person", "name"], name="view_names_are_unique")]

    def __str__(self) -> str:
        return self.name
