"""Writes that were made, who works on which service, and when nothing may be changed."""

from django.db import models
from django.db.models import F, Q

from sre_agent.models.base import REF_LENGTH, Owned


class Operation(Owned):
    """A write that happened, recorded in the transaction of its effect: one key has its effect once.

    ``target`` is ``service:NAME`` or ``node:NAME`` for a write on the platform. ``disruptive``: it took capacity away,
    if only for a while. ``gate`` is what must hold afterwards, empty when nothing has to.
    """

    key = models.CharField(max_length=200)
    action = models.CharField(max_length=40)
    arguments_digest = models.BinaryField(max_length=32)
    result = models.JSONField(default=dict)
    at = models.DateTimeField()
    incident_ref = models.CharField(max_length=REF_LENGTH, blank=True)
    target = models.CharField(max_length=80, blank=True, db_default="")
    disruptive = models.BooleanField(db_default=False)
    gate = models.JSONField(db_default={}, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "key"], name="one_sre_operation_a_key")]
        indexes = [
            models.Index(fields=["tenant", "target", "-at"], condition=~Q(target=""), name="operations_on_a_target")
        ]

    def __str__(self) -> str:
        return f"{self.action} ({self.key})"


class ClusterWrite(Owned):
    """A write on a cluster that is under way, or whose answer was lost: kept before anything is sent.

    ``told`` is what finds out what became of it, and what it comes to then. Gone as soon as the operation is recorded,
    or certainly had no effect.
    """

    key = models.CharField(max_length=200)
    action = models.CharField(max_length=40)
    arguments_digest = models.BinaryField(max_length=32)
    told = models.JSONField(default=dict)
    begun_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "key"], name="one_cluster_write_a_key")]

    def __str__(self) -> str:
        return f"{self.action} ({self.key})"


class Claim(Owned):
    """Whoever works on a service or node: nobody else changes it before ``until``. One row a target, used again."""

    target = models.CharField(max_length=80)
    incident_ref = models.CharField(max_length=REF_LENGTH)
    since = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        ordering = ["target"]
        constraints = [models.UniqueConstraint(fields=["tenant", "target"], name="one_claim_a_target")]

    def __str__(self) -> str:
        return f"{self.target} by {self.incident_ref}"


class ChangeFreeze(Owned):
    """A time in which services are not to be changed without people who know of it. ``service`` empty: all of them.

    With ``weekly`` it comes again every seven days, at the same hour of the tenant's zone.
    """

    name = models.CharField(max_length=120)
    service = models.CharField(max_length=REF_LENGTH, blank=True)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    weekly = models.BooleanField(default=False)

    class Meta:
        ordering = ["starts_at", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="a_freeze_ends_after_it_began"),
        ]

    def __str__(self) -> str:
        return self.name
