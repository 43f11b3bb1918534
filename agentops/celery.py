"""The Celery application. Its messages are doorbells: the work lies in the database."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_shutting_down

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentops.settings.production")

app = Celery("agentops")
app.config_from_object("django.conf:settings", namespace="CELERY")


@worker_shutting_down.connect  # type: ignore[untyped-decorator] # celery has no types
def hand_on_sessions(**_: Any) -> None:
    """Let this worker's threads give up their sessions after the present step; nobody waits for their leases then."""
    from agentops.runtime.interrupts import draining  # noqa: PLC0415 - its models cannot be loaded before the settings

    draining.set()
