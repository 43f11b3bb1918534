"""Ringing for workers. A ring says "look now" and carries nothing; losing one costs a second, not work."""

import logging

from celery import current_app

log = logging.getLogger(__name__)

RING = "agentops.runtime.tasks.ring"
SWEEP = "agentops.runtime.tasks.sweep"


def ring() -> None:
    """Ask a worker to look at the queue. Never raises: the sweep rings again for whatever is runnable."""
    try:
        current_app.send_task(RING, ignore_result=True, retry=False)
    except Exception:
        log.warning("the doorbell could not be rung", exc_info=True)


def sweep_in(seconds: float) -> None:
    """Have what is due then done at that moment. Never raises: the next sweep does it a little later."""
    try:
        current_app.send_task(SWEEP, ignore_result=True, retry=False, countdown=seconds)
    except Exception:
        log.warning("a sweep could not be ordered", exc_info=True)
