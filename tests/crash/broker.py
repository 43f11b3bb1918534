"""A Redis server of a test's own, which can be emptied and killed."""

import socket
import subprocess
import time
from types import TracebackType

import redis

PATIENCE = 20


class Broker:
    """Runs on a free port of this machine from ``with`` to its end, and keeps nothing."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address in the form of REDIS_URL."""
        return f"redis://127.0.0.1:{self._port}/0"

    def __enter__(self) -> "Broker":
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill()

    def flush(self) -> None:
        """Forget every message."""
        with redis.Redis.from_url(self.url) as server:
            server.flushall()

    def kill_and_start(self) -> None:
        """Kill the server and start an empty one in its place."""
        self._kill()
        self._start()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        options = ["--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(
            ["redis-server", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
        )
        deadline = time.monotonic() + PATIENCE
        with redis.Redis.from_url(self.url) as server:
            while True:
                try:
                    server.ping()
                except redis.exceptions.ConnectionError:
                    assert time.monotonic() < deadline, "redis-server did not start"
                    time.sleep(0.02)
                else:
                    return
