"""Incidents, the alerts that belong to them, and what was written down about them."""

from django.db import models
from django.db.models import F, Q

from sre_agent.models.base import REF_LENGTH, Owned
from sre_agent.models.walls import APPEND_ONLY

LEAST_URGENT = 4


class Source(models.TextChoices):
    """Where an alert or an incident came from."""

    ESTATE = "estate", "The embedded estate"
    ALERTMANAGER = "alertmanager", "Alertmanager"
    PAGERDUTY = "pagerduty", "PagerDuty"
    FORM = "form", "Typed in"
    SCHEDULE = "schedule", "Scheduled"
    AGENT = "agent", "An agent"


class Incident(Owned):
    """A piece of work. ``source_key`` is its identity where it came from, so that it is opened once.

    ``priority`` 0 is the most urgent. ``service`` is the one that it seems to be about, empty when nobody knows.
    ``taken_at`` is when work on it began, None while it waits. ``cause`` is what was found out, when it is over.
    ``reopened_at`` is when a person opened it again for an agent, by the clock of sessions, not the estate's.
    ``acknowledged_by`` is who said first that they know of it, ``held_by`` who works on it of those it is with.
    """

    class Status(models.TextChoices):
        """How far it is."""

        OPEN = "open", "Open"
        MITIGATED = "mitigated", "Mitigated"
        RESOLVED = "resolved", "Resolved"
        ESCALATED = "escalated", "With a person"

    ref = models.CharField(max_length=REF_LENGTH)
    version = models.PositiveIntegerField(default=1)
    title = models.CharField(max_length=300)
    text = models.TextField(max_length=20_000)
    sender = models.CharField(max_length=320, blank=True)
    service = models.CharField(max_length=REF_LENGTH, blank=True)
    priority = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    source = models.CharField(max_length=12, choices=Source)
    source_key = models.CharField(max_length=200)
    summary = models.CharField(max_length=2_000, blank=True)
    cause = models.CharField(max_length=2_000, blank=True)
    opened_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=200, blank=True, db_default="")
    held_by = models.CharField(max_length=200, blank=True, db_default="")
    reopened_at = models.DateTimeField(null=True, blank=True)
    mitigated_at = models.DateTimeField(null=True, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-opened_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_incident_a_ref"),
            models.UniqueConstraint(fields=["tenant", "source_key"], name="one_incident_a_source_key"),
            models.CheckConstraint(condition=Q(priority__lte=LEAST_URGENT), name="an_incident_has_a_priority"),
            models.CheckConstraint(
                condition=Q(status="resolved", resolved_at__isnull=False)
                | (~Q(status="resolved") & Q(resolved_at__isnull=True)),
                name="a_resolved_incident_has_a_time",
            ),
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True) | Q(resolved_at__gte=F("opened_at")),
                name="an_incident_ends_after_it_began",
            ),
            models.CheckConstraint(
                condition=Q(acknowledged_at__isnull=True, acknowledged_by="")
                | (Q(acknowledged_at__isnull=False) & ~Q(acknowledged_by="")),
                name="an_acknowledgement_has_a_person",
            ),
            models.CheckConstraint(
                condition=Q(held_by="") | Q(status="escalated"), name="only_what_is_with_people_is_held"
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "priority", "opened_at", "id"],
                condition=Q(status="open", taken_at__isnull=True),
                name="waiting_incidents",
            )
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.title}"


class Alert(Owned):
    """An alert, from when it began to fire until it stopped. ``priority`` 0 is the most urgent.

    ``fingerprint`` is its identity at its source while it fires. ``times`` is how often it was told of. ``area`` is
    what its source says belongs together, such as a system of several services, empty when it says nothing of the kind.
    """

    ref = models.CharField(max_length=REF_LENGTH)
    version = models.PositiveIntegerField(default=1)
    source = models.CharField(max_length=12, choices=Source, default=Source.ESTATE)
    fingerprint = models.CharField(max_length=200)
    incident = models.ForeignKey(Incident, on_delete=models.SET_NULL, null=True, blank=True, related_name="alerts")
    rule = models.CharField(max_length=200)
    service = models.CharField(max_length=REF_LENGTH, blank=True)
    area = models.CharField(max_length=REF_LENGTH, blank=True, db_default="")
    words = models.CharField(max_length=1_000)
    priority = models.PositiveSmallIntegerField()
    times = models.PositiveIntegerField(default=1)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    silenced_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-began_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_alert_a_ref"),
            models.UniqueConstraint(
                fields=["tenant", "source", "fingerprint"],
                condition=Q(ended_at__isnull=True),
                name="an_alert_fires_once",
            ),
            models.CheckConstraint(condition=Q(priority__lte=LEAST_URGENT), name="an_alert_has_a_priority"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("began_at")), name="an_alert_ends_after_it_began"
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "began_at"],
                condition=Q(incident__isnull=True, ended_at__isnull=True),
                name="alerts_without_an_incident",
            ),
            models.Index(fields=["tenant", "source", "fingerprint", "-began_at"], name="alerts_of_a_fingerprint"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} of {self.service or 'nothing that is known'}"


class Note(Owned):
    """Something that was written down about an incident. ``actor`` as in the ledger; ``operation_key`` of its call."""

    class Kind(models.TextChoices):
        """What it says."""

        OPENED = "opened", "Opened"
        GROUPED = "grouped", "Alerts added"
        FOUND = "found", "Found out"
        CHANGED = "changed", "Changed"
        ESCALATED = "escalated", "Given to a person"
        RESOLVED = "resolved", "Resolved"
        REOPENED = "reopened", "Opened again"

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="notes")
    kind = models.CharField(max_length=10, choices=Kind)
    at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    text = models.CharField(max_length=2_000)
    operation_key = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["at", "id"]
        triggers = [APPEND_ONLY]

    def __str__(self) -> str:
        return self.text[:80]


class StatusUpdate(Owned):
    """Words for customers about an incident. An agent drafts them; only a person publishes them."""

    class State(models.TextChoices):
        """Whether anybody outside can read it."""

        DRAFT = "draft", "Draft"
        PUBLISHED = "published", "Published"
        DISCARDED = "discarded", "Discarded"

    ref = models.CharField(max_length=REF_LENGTH)
    version = models.PositiveIntegerField(default=1)
    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="updates")
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    text = models.CharField(max_length=1_000)
    drafted_by = models.CharField(max_length=200)
    drafted_at = models.DateTimeField()
    published_by = models.CharField(max_length=200, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-drafted_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "ref"], name="one_status_update_a_ref"),
            models.CheckConstraint(
                condition=(Q(state="published", published_at__isnull=False) & ~Q(published_by=""))
                | (~Q(state="published") & Q(published_at__isnull=True, published_by="")),
                name="a_published_update_has_a_person",
            ),
        ]

    def __str__(self) -> str:
        return self.text[:80]
