"""What every table of the billing system shares."""

from django.db import models

from agentops.tenancy.models import Tenant

REF_LENGTH = 64


class Owned(models.Model):
    """A row that belongs to one tenant."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")

    class Meta:
        abstract = True


class Record(Owned):
    """A row that people and tools know by ``ref``, unique among the tenant's rows of its kind.

    ``version`` moves with every change, so that what was decided on a former state does not go through.
    """

    ref = models.CharField(max_length=REF_LENGTH)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        abstract = True
        ordering = ["id"]

    def __str__(self) -> str:
        return self.ref
