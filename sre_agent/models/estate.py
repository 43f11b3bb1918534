"""The embedded estate and what was seen of it: samples and log lines. Moments are UTC.

``Landscape`` holds the state of the simulation; nobody but the simulation knows what is in it, and tools read the other
tables. Writes go through ``sre_agent.connectors``.
"""

from django.db import models

from sre_agent.estate.values import Level
from sre_agent.models.base import REF_LENGTH, Owned


class Landscape(Owned):
    """A tenant's estate at the end of its latest tick.

    A tick is ``seconds_a_tick`` long on the wall's clock, 10 is as it happens; 0 stands still until somebody moves it.
    """

    state = models.JSONField()
    tick = models.PositiveIntegerField()
    ticked_at = models.DateTimeField(help_text="When the latest tick was over, by the wall's clock.")
    seconds_a_tick = models.PositiveSmallIntegerField(default=10)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant"], name="one_landscape_a_tenant")]

    def __str__(self) -> str:
        return f"tick {self.tick}"


class Seen(Owned):
    """Something that was seen of a service at a tick, which was ``at`` on the wall's clock."""

    service = models.CharField(max_length=REF_LENGTH)
    tick = models.PositiveIntegerField()
    at = models.DateTimeField()

    class Meta:
        abstract = True


class Sample(Seen):
    """How a service did in one tick; ``_pm`` are parts per thousand."""

    requests = models.PositiveIntegerField(help_text="A second.")
    errors_pm = models.PositiveSmallIntegerField()
    latency_ms = models.PositiveIntegerField(help_text="95th percentile.")
    processor_pm = models.PositiveSmallIntegerField()
    memory_pm = models.PositiveSmallIntegerField()
    disk_pm = models.PositiveSmallIntegerField()
    ready = models.PositiveSmallIntegerField(help_text="Replicas that take requests.")

    class Meta:
        ordering = ["-tick", "service"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "service", "tick"], name="one_sample_a_service_and_tick")
        ]

    def __str__(self) -> str:
        return f"{self.service} at {self.tick}"


class LogLine(Seen):
    """A line that a replica wrote. Anybody may be behind its text."""

    replica = models.CharField(max_length=REF_LENGTH, blank=True)
    level = models.CharField(max_length=5, choices=[(level.value, level.value) for level in Level])
    text = models.CharField(max_length=1_000)

    class Meta:
        ordering = ["-tick", "-id"]
        indexes = [models.Index(fields=["tenant", "service", "-tick", "-id"], name="log_of_a_service")]

    def __str__(self) -> str:
        return self.text[:80]
