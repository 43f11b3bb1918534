"""Tell open pages that something changed. A hint, never data: whoever hears it fetches again.

Callable from any thread of any process. With Redis the hint reaches every web process. Without, all runs in
one process, and the hint has to be sent on the web server's own loop: put into the in-memory layer from
another thread, it would lie there until something else wakes that loop.
"""

import asyncio
import logging
import os
import threading
from concurrent.futures import Future
from typing import Any

from channels.layers import InMemoryChannelLayer, get_channel_layer

logger = logging.getLogger(__name__)

TIMEOUT = 5.0
# Beyond this many unsent hints the transport is down, and pages catch up by their own polling.
MOST_WAITING = 1000


class _Sender:
    """The loop that hints are sent on: the server's when this process serves pages, else one of our own."""

    def __init__(self) -> None:
        self.start_afresh()

    def start_afresh(self) -> None:
        """A forked child inherits the loops but not the threads that run them."""
        self.guard = threading.Lock()
        self.server: asyncio.AbstractEventLoop | None = None
        self.own: asyncio.AbstractEventLoop | None = None
        self.waiting = 0

    def loop(self, layer: Any) -> asyncio.AbstractEventLoop | None:
        if self.server is not None and not self.server.is_closed():
            return self.server
        if isinstance(layer, InMemoryChannelLayer):
            return None
        with self.guard:
            if self.own is None:
                self.own = asyncio.new_event_loop()
                threading.Thread(target=self.own.run_forever, name="live-hints", daemon=True).start()
            return self.own


_sender = _Sender()
os.register_at_fork(after_in_child=_sender.start_afresh)


def serve_on(loop: asyncio.AbstractEventLoop | None) -> None:
    """Name the loop that serves this process's sockets; None when it ends."""
    _sender.server = loop


def notify(group: str, message: dict[str, Any]) -> None:
    """Send ``message`` (with its ``type``) to every socket in ``group``; call it after the commit.

    Returns at once and never raises: work must not fail because a page could not be told. What could not be
    sent is logged. Without Redis and outside the web process nobody can be listening, and nothing is sent.
    """
    try:
        layer = get_channel_layer()
        loop = _sender.loop(layer)
        if loop is None:
            logger.debug("no open pages in this process to tell", extra={"group": group})
        elif _sender.waiting >= MOST_WAITING:
            logger.warning("hint dropped, too many are waiting", extra={"group": group})
        else:
            _submit(layer, loop, group, message)
    except Exception:
        logger.exception("hint not sent", extra={"group": group})


def _submit(layer: Any, loop: asyncio.AbstractEventLoop, group: str, message: dict[str, Any]) -> None:
    with _sender.guard:
        _sender.waiting += 1

    def done(_: "Future[None]") -> None:
        with _sender.guard:
            _sender.waiting -= 1

    sending = _send(layer, group, message)
    try:
        asyncio.run_coroutine_threadsafe(sending, loop).add_done_callback(done)
    except RuntimeError:
        sending.close()
        with _sender.guard:
            _sender.waiting -= 1
        raise


async def _send(layer: Any, group: str, message: dict[str, Any]) -> None:
    try:
        async with asyncio.timeout(TIMEOUT):
            await layer.group_send(group, message)
    except Exception:
        logger.warning("hint not sent", extra={"group": group}, exc_info=True)
