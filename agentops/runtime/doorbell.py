"""Ringing for workers. A ring says "look now" and carries nothing; losing one costs a second, not work."""

import logging

from celery import current_app

log = logging.getLogger(__name__)

RING = "agentops.runtime.tasks.ring"


def ring() -> None:
    """Ask a worker to look at the queue. Never raises: the sweep rings again for whatever is runnable."""
    try:
        current_app.send_task(RING, ignore_result=True, retry=False)
    except Exception:
        log.warning("the doorbell could not be rung", exc_info=True)
