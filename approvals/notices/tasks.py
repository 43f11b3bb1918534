"""Who drives delivery: the sweep rings when something is due, and a thread of the worker's own sends it.

Sending waits for other people's servers. Sessions must not wait for that, so it takes none of the worker's places.
"""

import logging
import threading

from celery import current_app, shared_task
from django.db import connection

from agentops.kernel.clock import utcnow
from approvals.notices.delivery import deliver_due, due

log = logging.getLogger(__name__)

DELIVER = "approvals.notices.tasks.deliver"
BATCH = 200
_one_at_a_time = threading.Lock()


def ring_if_due() -> None:
    """Ask a worker to send what is due, if anything is. Never raises: the next sweep asks again."""
    try:
        if due(utcnow()).exists():
            current_app.send_task(DELIVER, ignore_result=True, retry=False, expires=10)
    except Exception:
        log.warning("nobody could be asked to send notices", exc_info=True)


@shared_task(name=DELIVER, ignore_result=True)  # type: ignore[untyped-decorator] # celery has no types
def deliver() -> None:
    """Begin to send what is due."""
    begin()


def begin() -> threading.Thread | None:
    """Send what is due in a thread and return it; None when this process is sending already."""
    if not _one_at_a_time.acquire(blocking=False):
        return None
    # A worker that ends does not wait for it: what was not noted as sent is claimed again.
    thread = threading.Thread(target=_run, name="notices", daemon=True)
    thread.start()
    return thread


def _run() -> None:
    try:
        deliver_due(limit=BATCH)
    except Exception:
        log.exception("sending notices stopped; the sweep asks again")
    finally:
        connection.close()
        _one_at_a_time.release()
