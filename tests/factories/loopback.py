"""A vendor's HTTP API on loopback: what a fake answers, and what goes wrong on purpose."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class Asked:
    """One request. ``headers`` have names in small letters."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What is sent back, as JSON unless it is bytes."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Fault:
    """Happens to the next ``times`` calls whose ``METHOD /path`` matches, after ``skip`` that do not.

    ``when`` is before or after the effect. ``answer`` None cuts the connection.
    """

    call: str
    answer: Answer | None = None
    when: str = BEFORE
    times: int = 1
    skip: int = 0

    def hits(self, call: str) -> bool:
        """Return whether it happens to this call, counting it."""
        if self.times < 1 or re.search(self.call, call) is None:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class Loopback:
    """A running fake. ``calls`` are the requests that came, as ``METHOD /path``."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[str] = []
        self.faults: list[Fault] = []
        self.guard = threading.RLock()

    def answer(self, asked: Asked) -> Answer:
        """Do what is asked."""
        raise NotImplementedError

    def fails(self, call: str, status: int, body: Any, *, when: str = BEFORE, times: int = 1, **headers: str) -> None:
        """Let the next calls be answered like that instead; ``retry_after`` names the header Retry-After."""
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        self.faults.append(Fault(call, Answer(status, body, told), when, times))

    def cuts(self, call: str, *, when: str = BEFORE, times: int = 1, skip: int = 0) -> None:
        """Let the next calls end without an answer."""
        self.faults.append(Fault(call, None, when, times, skip))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, fake: Loopback) -> None:
        self.fake = fake
        self.mistakes: list[BaseException] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def _serve(self) -> None:
        target, fake = urlsplit(self.path), self.server.fake
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, target.path, parse_qs(target.query), headers, body)
        call = f"{self.command} {target.path}"
        with fake.guard:
            fake.calls.append(call)
            fault = next((each for each in fake.faults if each.hits(call)), None)
            answer = self._done(asked) if fault is None or fault.when == AFTER else None
        if fault is not None:
            answer = fault.answer
        self._cut() if answer is None else self._reply(answer)

    def _done(self, asked: Asked) -> Answer:
        try:
            return self.server.fake.answer(asked)
        except Exception as error:
            self.server.mistakes.append(error)
            raise

    def _cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _reply(self, answer: Answer) -> None:
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


F = TypeVar("F", bound=Loopback)


@contextmanager
def running(fake: F) -> Iterator[F]:
    """Run a fake in this process. A mistake in it fails the test."""
    server = _Server(fake)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
    # To a client it looked as if the connection had been cut.
    assert not server.mistakes, server.mistakes[0]


def always(answer: Callable[[Asked], Answer]) -> Loopback:
    """Return a fake that answers by a function."""

    class One(Loopback):
        def answer(self, asked: Asked) -> Answer:
            return answer(asked)

    return One()
