"""Who may not decide a request, and who decides for whom."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from agentops.tenancy.models import Tenant
from approvals.duties.walls import AN_EXCLUSION_STAYS
from approvals.models.requests import ApprovalQueue, ApprovalRequest


class Exclusion(models.Model):
    """A person who may not decide a request: neither in person, nor for somebody else, nor through anybody.

    The database refuses a decision against it, whatever the program does.
    """

    class Why(models.TextChoices):
        """What the person has to do with the request."""

        REQUESTER = "requester", "asked for it"
        EDITOR = "editor", "changed it"
        OWNER = "owner", "owns the agent"
        BENEFICIARY = "beneficiary", "gains by it"

    request = models.ForeignKey(ApprovalRequest, on_delete=models.PROTECT, related_name="exclusions")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    why = models.CharField(max_length=12, choices=Why)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["request", "person", "why"], name="one_exclusion_a_reason")]
        triggers = [AN_EXCLUSION_STAYS]

    def __str__(self) -> str:
        return f"{self.person} {self.get_why_display()}"


class Delegation(models.Model):
    """A person lets another one decide for them, in one queue or all of theirs, for a time.

    The other one decides with both names. It gives no right that the giver does not have at that moment, and whoever
    is excluded stays excluded on either side.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    giver = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    taker = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    queue = models.ForeignKey(ApprovalQueue, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    begins = models.DateTimeField()
    ends = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-begins"]
        constraints = [
            models.CheckConstraint(condition=~Q(giver=F("taker")), name="nobody_delegates_to_oneself"),
            models.CheckConstraint(condition=Q(ends__gt=F("begins")), name="a_delegation_ends_after_it_begins"),
        ]

    def __str__(self) -> str:
        return f"{self.taker} for {self.giver}"


class Absence(models.Model):
    """A person is away. What they claimed or were assigned goes back to the queue, and reminders go to the stand-in.

    A stand-in gets no right by it; for that there is delegation.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    stand_in = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    begins = models.DateTimeField()
    ends = models.DateTimeField()

    class Meta:
        ordering = ["-begins"]
        constraints = [models.CheckConstraint(condition=Q(ends__gt=F("begins")), name="an_absence_ends_later")]

    def __str__(self) -> str:
        return f"{self.person} away until {self.ends:%Y-%m-%d}"
