"""What people are told by e-mail and Slack: an outbox, written in the transaction that has something to say."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from agentops.kernel.ids import new_id
from agentops.tenancy.models import Tenant
from approvals.models.requests import ApprovalQueue, ApprovalRequest


class Notice(models.Model):
    """One message to one person or channel about one request. Delivered at least once, under a key of its own.

    ``address`` is where a message in Slack stands, to be changed later; notices that are one mail share its Message-ID.
    """

    class Channel(models.TextChoices):
        """How it is sent."""

        MAIL = "mail", "E-mail"
        SLACK = "slack", "Slack"

    class Kind(models.TextChoices):
        """What it says."""

        ASKED = "asked", "A request waits"
        REMINDED = "reminded", "Time runs out"
        ESCALATED = "escalated", "Escalated"
        ASSIGNED = "assigned", "Assigned"
        ANSWERED = "answered", "The agent answered"
        CLOSED = "closed", "Decided, expired or withdrawn"

    class State(models.TextChoices):
        """Where it stands."""

        WAITING = "waiting", "waiting"
        SENT = "sent", "sent"
        FAILED = "failed", "given up"
        DROPPED = "dropped", "no longer of use"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    request = models.ForeignKey(ApprovalRequest, on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    channel = models.CharField(max_length=5, choices=Channel)
    kind = models.CharField(max_length=10, choices=Kind)
    urgent = models.BooleanField(default=False, help_text="Sent in quiet hours and without waiting for a digest.")
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    due_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    address = models.CharField(max_length=200, blank=True)
    last_error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["due_at"], condition=Q(state="waiting"), name="notice_due")]
        constraints = [
            models.UniqueConstraint(
                fields=["request", "person", "channel", "kind"],
                condition=Q(state="waiting"),
                name="one_waiting_notice_a_kind",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} by {self.get_channel_display()}"


class NoticePreference(models.Model):
    """How a person wants to be told. Quiet hours are local times in ``timezone``; escalations come at any time."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    mail = models.BooleanField(default=True)
    slack_user = models.CharField(max_length=40, blank=True, help_text="The member id in Slack, such as U012AB3CD.")
    timezone = models.CharField(max_length=64, default="UTC")
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_to = models.TimeField(null=True, blank=True)
    digest_minutes = models.PositiveSmallIntegerField(
        default=0, help_text="Gather what is not urgent for so many minutes. 0: each by itself."
    )

    def __str__(self) -> str:
        return f"notices to {self.person}"


class SlackChannel(models.Model):
    """The channel in which a queue is told of its requests. The token comes from the vault by its capability's name."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    queue = models.OneToOneField(ApprovalQueue, on_delete=models.CASCADE, related_name="slack")
    channel = models.CharField(max_length=40, help_text="The channel's id, such as C012AB3CD.")
    is_active = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"{self.queue} in {self.channel}"

    def audited_in(self) -> tuple[Tenant, str]:
        """Return the tenant, and the ledger stream that tells of changes: the queue's own."""
        return self.tenant, f"queue:{self.queue_id}"
