"""Reads of what was put before the role."""

from django.db.models import Exists, OuterRef, QuerySet

from agentops.chaos.models import Fed
from agentops.runtime.models import Session


def unbegun() -> QuerySet[Fed]:
    """Return the work that no session was started on."""
    return Fed.objects.exclude(Exists(Session.objects.filter(subject_id=OuterRef("ref"))))
