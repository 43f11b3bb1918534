"""A whole installation in one process: web server, worker and sweep, with transports in memory."""

import fcntl
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn
from celery import Celery
from celery.worker import state as worker_state
from django.db import close_old_connections

from agentops.embedded.locks import open_lock
from agentops.kernel.errors import AgentOpsError
from agentops.runtime.interrupts import draining

HOST = "127.0.0.1"
SWEEP_EVERY = 1.0
PATIENCE = 5.0
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
logger = logging.getLogger(__name__)


class DemoRefused(AgentOpsError):
    """The demo cannot start, and somebody has to do something about it first."""

    code = "DEMO_REFUSED"
    next_step = "Do what the message says and start again."


@contextmanager
def only_one(folder: Path, url: str) -> Iterator[None]:
    """Hold the place of the one demo of this folder. Raises DemoRefused, naming the one that runs."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "demo.lock"
    try:
        lock = open_lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise DemoRefused(f"a demo already runs in this folder: {path.read_text().strip()}") from error
    try:
        path.write_text(f"process {os.getpid()}, {url}\n")
        yield
    finally:
        os.close(lock)


def take_port(port: int) -> socket.socket:
    """Listen on the port of 127.0.0.1 (0: any free one); requests wait until the server is ready.

    Raises DemoRefused.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise DemoRefused(
            f"port {port} cannot be used ({error.strerror}); choose another one: make demo PORT={port + 1}"
        ) from error
    return listener


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Inside the block every signal that ends a program arrives as KeyboardInterrupt, so that all is put away."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def hang_up(number: int, frame: FrameType | None) -> None:
        # The web server has a handler for this one while it runs, and none for a closed terminal.
        signal.raise_signal(signal.SIGTERM)

    before = {number: signal.getsignal(number) for number in ENDING}
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, hang_up)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_signals() -> None:
    """A second Ctrl-C must not interrupt the putting away."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


class Demo:
    """The three parts. ``sweep`` is called every second, ``announce`` once, when pages are being served."""

    def __init__(self, app: Celery, sweep: Callable[[], object], announce: Callable[[], None]) -> None:
        self._app = app
        self._sweep = sweep
        self._stopping = threading.Event()
        self._failed = threading.Event()
        config = uvicorn.Config(
            "agentops.asgi:application",
            log_config=None,
            lifespan="on",
            timeout_graceful_shutdown=2,
            server_header=False,
        )
        self._web = _AnnouncingServer(config, announce)

    def run(self, listener: socket.socket) -> bool:
        """Serve until a signal or a failure ends it; return False when a part failed. Raises KeyboardInterrupt."""
        parts = [self._part("worker", self._work), self._part("sweep", self._sweep_again_and_again)]
        try:
            for part in parts:
                part.start()
            self._web.run(sockets=[listener])
        finally:
            ignore_signals()
            self._stopping.set()
            draining.set()
            worker_state.should_stop = os.EX_OK
            for part in parts:
                part.join(PATIENCE)
        return not self._failed.is_set()

    def _part(self, name: str, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except Exception:
                logger.exception("the %s failed", name)
            if not self._stopping.is_set():
                self._failed.set()
                self._web.should_exit = True

        # A model's answer that is being waited for must not keep the process: the database knows what is open.
        return threading.Thread(target=run, name=name, daemon=True)

    def _work(self) -> None:
        worker_state.should_stop = None
        draining.clear()
        worker = self._app.WorkController(
            pool_cls="threads",
            hostname="demo@localhost",
            without_heartbeat=True,
            without_mingle=True,
            without_gossip=True,
        )
        worker.start()

    def _sweep_again_and_again(self) -> None:
        healthy = True
        while not self._stopping.wait(SWEEP_EVERY):
            try:
                self._sweep()
                healthy = True
            except Exception:
                if healthy:
                    logger.exception("the sweep failed; it is tried again every second")
                healthy = False
            finally:
                close_old_connections()


class _AnnouncingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()
