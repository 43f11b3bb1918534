"""Where a request goes and when somebody else is told: routes, hours, ladders and who is on call, all of it data."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import F, Q

from agentops.tenancy.models import Tenant
from approvals.models.requests import ApprovalQueue


class BusinessHours(models.Model):
    """When people of a queue work. ``week`` are seven lists, Monday first, of pairs of local times "HH:MM"."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    timezone = models.CharField(max_length=64, help_text="An IANA name, such as Europe/Vienna.")
    week = models.JSONField(help_text="Seven lists, Monday first, of pairs of local times.")
    holidays = models.JSONField(default=list, blank=True, help_text="Dates such as 2026-12-25 on which nobody works.")

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "business hours"
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="hours_names_are_unique")]

    def __str__(self) -> str:
        return self.name

    def audited_in(self) -> tuple[Tenant, str]:
        """Return the tenant, and the ledger stream that tells of changes: the tenant's own."""
        return self.tenant, f"tenant:{self.tenant_id}"


class ToolRoute(models.Model):
    """Calls of tools with a tag go to a queue of people who know about it."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    tag = models.SlugField(help_text="A tag of tools, such as money or outbound.")
    queue = models.ForeignKey(ApprovalQueue, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["tag"]
        constraints = [models.UniqueConstraint(fields=["tenant", "tag"], name="one_route_a_tag")]

    def __str__(self) -> str:
        return f"{self.tag} to {self.queue}"

    def audited_in(self) -> tuple[Tenant, str]:
        """Return the tenant, and the ledger stream that tells of changes: the tenant's own."""
        return self.tenant, f"tenant:{self.tenant_id}"


class Detector(models.Model):
    """Words in a request or its arguments that send it to other people, before any route."""

    class Kind(models.TextChoices):
        """What is looked for."""

        PHRASES = "phrases", "One of these phrases"
        PERSONAL = "personal", "Personal data: card and bank numbers, birth dates, identity documents"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60, help_text="Shown to approvers, such as Legal threat.")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.PHRASES)
    phrases = models.JSONField(default=list, blank=True, help_text="A list of phrases; case and spacing do not matter.")
    queue = models.ForeignKey(ApprovalQueue, on_delete=models.PROTECT, related_name="+")
    rank = models.PositiveSmallIntegerField(default=10, help_text="Of several that find something the lowest decides.")
    is_active = models.BooleanField(default=True)

    class Meta:
        ordering = ["rank", "name"]
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="detector_names_are_unique")]

    def __str__(self) -> str:
        return self.name

    def audited_in(self) -> tuple[Tenant, str]:
        """Return the tenant, and the ledger stream that tells of changes: the tenant's own."""
        return self.tenant, f"tenant:{self.tenant_id}"


class Rung(models.Model):
    """A step of a queue's ladder: who else is called once so much of the time to decide has passed.

    The group on a rung decides the request too while it is there, as far as they have the queue's permission.
    """

    class Kind(models.TextChoices):
        """Who is called."""

        GROUP = "group", "A group"
        PERSON = "person", "A person, such as the manager"
        ON_CALL = "on_call", "Whoever is on call"

    queue = models.ForeignKey(ApprovalQueue, on_delete=models.CASCADE, related_name="ladder")
    place = models.PositiveSmallIntegerField(help_text="1 is the first step.")
    kind = models.CharField(max_length=8, choices=Kind)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    after_percent = models.PositiveSmallIntegerField(help_text="Of the time to decide, 1 to 99.")

    class Meta:
        ordering = ["queue", "place"]
        constraints = [
            models.UniqueConstraint(fields=["queue", "place"], name="one_rung_a_place"),
            models.CheckConstraint(condition=Q(after_percent__gte=1, after_percent__lte=99), name="a_rung_is_in_time"),
            models.CheckConstraint(
                condition=Q(kind="group", group__isnull=False, person__isnull=True)
                | Q(kind="person", group__isnull=True, person__isnull=False)
                | Q(kind="on_call", group__isnull=True, person__isnull=True),
                name="a_rung_names_whom_it_calls",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.queue} {self.place}: {self.get_kind_display()}"

    def audited_in(self) -> tuple[Tenant, str]:
        """Return the tenant, and the ledger stream that tells of changes: the queue's own."""
        return self.queue.tenant, f"queue:{self.queue_id}"


class OnCallShift(models.Model):
    """A person is on call for a tenant from one moment to another."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    begins = models.DateTimeField()
    ends = models.DateTimeField()

    class Meta:
        ordering = ["begins"]
        constraints = [models.CheckConstraint(condition=Q(ends__gt=F("begins")), name="a_shift_ends_after_it_begins")]

    def __str__(self) -> str:
        return f"{self.person} from {self.begins:%Y-%m-%d %H:%M}"

    def audited_in(self) -> tuple[Tenant, str]:
        """Return the tenant, and the ledger stream that tells of changes: the tenant's own."""
        return self.tenant, f"tenant:{self.tenant_id}"
