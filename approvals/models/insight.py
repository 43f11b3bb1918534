"""How well people decide: drills, regrets, and runs worth showing to a planner again."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from agentops.kernel.ids import new_id
from agentops.tenancy.models import Tenant
from approvals.models.requests import ApprovalQueue, ApprovalRequest, Verdict


class Drill(models.Model):
    """An invented request with a known right answer. It has no session and no call, so nothing can be carried out.

    ``content`` is what the page shows: effect, target, tool, tier, changes, arguments with their origins, evidence,
    risk. ``lesson`` says why the answer is right.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    queue = models.ForeignKey(ApprovalQueue, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=80)
    content = models.JSONField()
    right = models.CharField(max_length=8, choices=Verdict)
    lesson = models.CharField(max_length=500)
    is_active = models.BooleanField(default=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def audited_in(self) -> tuple[Tenant, str]:
        """Return the tenant, and the ledger stream that tells of changes: that of all drills."""
        return self.tenant, "drills"


class DrillAnswer(models.Model):
    """What one person said to a drill. Told to that person only; managers see sums."""

    drill = models.ForeignKey(Drill, on_delete=models.CASCADE, related_name="answers")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    verdict = models.CharField(max_length=8, choices=Verdict)
    confidence = models.PositiveSmallIntegerField(help_text="How sure the person was, 50 to 100 percent.")
    right = models.BooleanField()
    dwell_ms = models.PositiveIntegerField(null=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["drill", "person"], name="a_person_answers_a_drill_once"),
            models.CheckConstraint(condition=Q(confidence__gte=50, confidence__lte=100), name="confidence_is_a_share"),
        ]

    def __str__(self) -> str:
        return f"{self.person}: {'right' if self.right else 'wrong'}"


class Regret(models.Model):
    """An approved effect that turned out to be wrong: undone, disputed, or marked so by support."""

    class Kind(models.TextChoices):
        """How it came out."""

        UNDONE = "undone", "undone"
        DISPUTED = "disputed", "disputed by the customer"
        MARKED = "marked", "marked wrong"

    request = models.ForeignKey(ApprovalRequest, on_delete=models.PROTECT, related_name="regrets")
    kind = models.CharField(max_length=8, choices=Kind)
    words = models.CharField(max_length=500, blank=True)
    by = models.CharField(max_length=150)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["request", "kind"], name="one_regret_a_kind")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.at:%Y-%m-%d}"


class Exemplar(models.Model):
    """An approved run that a planner may be shown as an example, once a second person has read it."""

    class State(models.TextChoices):
        """Where it stands."""

        PROPOSED = "proposed", "proposed"
        ACCEPTED = "accepted", "accepted"
        DECLINED = "declined", "declined"
        RETIRED = "retired", "no longer shown"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    request = models.OneToOneField(ApprovalRequest, on_delete=models.PROTECT, related_name="exemplar")
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    why = models.CharField(max_length=500)
    proposed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField()
    reviewed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    reviewed_at = models.DateTimeField(null=True)
    review = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-proposed_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(reviewed_by=None) | ~Q(reviewed_by=models.F("proposed_by")),
                name="nobody_reviews_their_own_exemplar",
            )
        ]

    def __str__(self) -> str:
        return f"{self.request} {self.state}"
