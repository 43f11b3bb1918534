"""Limits on how often writes may be made, and the targets that each tool is known to have been used on."""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from agentops.kernel.ids import new_id
from agentops.runtime.rate_rule import Excess, Per
from agentops.tenancy.models import Tenant
from agentops.tenancy.switchboard import bumps_epoch

MOST_CALLS = 1_000_000
LONGEST_WINDOW = 31 * 86_400


class RateLimit(models.Model):
    """At most so many writes in any window of so many seconds. Holds for what agents propose, not for people."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="rate_limits")
    tool = models.CharField(
        max_length=80, blank=True, help_text="The tool whose calls count. Empty: the calls of every tool."
    )
    per = models.CharField(
        "counted per",
        max_length=6,
        choices=[(per.value, per.value) for per in Per],
        help_text="tool: the calls of one tool (of each tool by itself when none is named). "
        "target: the calls for one and the same target, such as a customer. "
        "tenant: all calls of all agents together; names no tool.",
    )
    most = models.PositiveIntegerField(
        "at most",
        validators=[MinValueValidator(1), MaxValueValidator(MOST_CALLS)],
        help_text="So many calls may be made within the window.",
    )
    window_seconds = models.PositiveIntegerField(
        "window",
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST_WINDOW)],
        help_text="Seconds for which a call counts: 60 is a minute, 3600 an hour, 86400 a day; 31 days at most.",
    )
    excess = models.CharField(
        "effect",
        max_length=6,
        choices=[
            (Excess.ASK.value, "ask a person"),
            (Excess.FORBID.value, "forbid"),
            (Excess.PAUSE.value, "pause the session"),
        ],
        help_text="What happens to a call beyond the limit. ask: a person decides about it. "
        "forbid: the agent is told when there is room again. pause: its session waits until somebody resumes it.",
    )

    class Meta:
        ordering = ["tenant", "tool", "per", "window_seconds"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "tool", "per", "window_seconds", "excess"], name="one_rate_limit_of_a_kind"
            ),
            models.CheckConstraint(
                condition=Q(per__in=[per.value for per in Per]), name="a_rate_limit_counts_something_known"
            ),
            models.CheckConstraint(
                condition=Q(excess__in=[excess.value for excess in Excess]), name="a_rate_limit_has_a_known_effect"
            ),
            models.CheckConstraint(
                condition=Q(
                    most__gte=1, most__lte=MOST_CALLS, window_seconds__gte=1, window_seconds__lte=LONGEST_WINDOW
                ),
                name="a_rate_limit_is_within_bounds",
            ),
            models.CheckConstraint(
                condition=~Q(per="tenant") | Q(tool=""), name="a_rate_limit_per_tenant_names_no_tool"
            ),
        ]
        triggers = [bumps_epoch()]

    def __str__(self) -> str:
        return f"{self.most} per {self.per} in {self.window_seconds} s{f' with {self.tool}' if self.tool else ''}"

    def clean(self) -> None:
        """Refuse a limit on all calls of a tenant that names a tool."""
        if self.per == Per.TENANT and self.tool:
            raise ValidationError({"tool": "A limit on all calls of the tenant names no tool."})


class KnownTarget(models.Model):
    """A target that a tool was used on. Its row is written with the intent of the first call, and never changes.

    ``id`` is derived from tenant, tool and target (``rate_counts.target_id``). A target may name a person, so it is not
    kept itself.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    tenant_id = models.UUIDField()
    tool = models.CharField(max_length=80)
    first_at = models.DateTimeField()

    class Meta:
        db_table = "known_target"
        indexes = [models.Index(fields=["tenant_id", "tool", "first_at"], name="known_target_by_time")]

    def __str__(self) -> str:
        return f"{self.tool} since {self.first_at:%Y-%m-%d}"
