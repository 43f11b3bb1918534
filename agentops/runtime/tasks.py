"""Celery's part: doorbells. No task carries work, so a lost, repeated or late message does no harm."""

from celery import shared_task

from agentops.runtime import dispatch
from agentops.runtime.doorbell import RING
from agentops.runtime.sweep import sweep_once


@shared_task(name=RING, ignore_result=True)  # type: ignore[untyped-decorator] # celery has no types
def ring() -> None:
    """Work runnable sessions until there are none."""
    dispatch.work_until_quiet()


@shared_task(name="agentops.runtime.tasks.sweep", ignore_result=True)  # type: ignore[untyped-decorator] # celery has no types
def sweep() -> None:
    """Do everything whose time has come."""
    sweep_once()
