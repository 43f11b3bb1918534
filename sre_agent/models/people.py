"""Who is called when, and who was."""

from django.db import models
from django.db.models import F, Q

from sre_agent.models.base import REF_LENGTH, Owned
from sre_agent.models.incidents import Incident


class Shift(Owned):
    """Somebody who is on call. ``level`` 1 is called first, 2 when that one does not answer."""

    person = models.CharField(max_length=150)
    contact = models.EmailField(max_length=320)
    level = models.PositiveSmallIntegerField(default=1)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        ordering = ["starts_at", "level", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="a_shift_ends_after_it_began"),
            models.CheckConstraint(condition=Q(level__gte=1, level__lte=3), name="a_shift_has_a_level"),
        ]
        indexes = [models.Index(fields=["tenant", "ends_at"], name="shifts_by_end")]

    def __str__(self) -> str:
        return f"{self.person} (level {self.level})"


class Page(Owned):
    """Somebody was called about an incident. ``withdrawn_at``: they were told that it is no longer needed."""

    ref = models.CharField(max_length=REF_LENGTH)
    version = models.PositiveIntegerField(default=1)
    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="pages")
    person = models.CharField(max_length=150)
    contact = models.CharField(max_length=320)
    words = models.CharField(max_length=500)
    paged_at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-paged_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "ref"], name="one_page_a_ref")]

    def __str__(self) -> str:
        return f"{self.person}: {self.words[:60]}"
