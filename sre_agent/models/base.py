"""What every table of the role shares."""

from django.db import models

from agentops.tenancy.models import Tenant

REF_LENGTH = 64


class Owned(models.Model):
    """A row that belongs to one tenant."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")

    class Meta:
        abstract = True
