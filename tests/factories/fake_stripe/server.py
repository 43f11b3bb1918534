"""The fake behind a real HTTP server on loopback."""

import json
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.factories.fake_stripe.account import Account, Answer
from tests.factories.fake_stripe.control import Control, command
from tests.factories.fake_stripe.faults import AFTER, BEFORE, CUT, DURING, HOLD, STATUS, Fault, Script

MOST_BYTES = 1_000_000
CONTROL = "/_control/"


class FakeStripe(Control):
    """A running fake. ``url`` is where its API is."""

    def __init__(self, account: Account, script: Script, url: str) -> None:
        super().__init__(account, script)
        self.url = url


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, account: Account, script: Script) -> None:
        self.account, self.script = account, script
        self.control = Control(account, script)
        self.mistakes: list[str] = []
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone; anything else is a mistake in the fake."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            self.mistakes.append(traceback.format_exc())
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        """Answer small requests at once."""
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        """Answer a request that changes nothing."""
        self._serve("")

    def do_POST(self) -> None:
        """Answer a request that changes something."""
        self._serve(self._body())

    def do_DELETE(self) -> None:
        """Answer a request that ends something; its parameters are in the query or the body."""
        self._serve(self._body())

    def _body(self) -> str:
        length = int(self.headers.get("Content-Length") or 0)
        if length > MOST_BYTES:
            self.close_connection = True
            return ""
        return self.rfile.read(length).decode()

    def _serve(self, body: str) -> None:
        target = urlsplit(self.path)
        if target.path.startswith(CONTROL):
            self._command(target.path.removeprefix(CONTROL), body)
            return
        call = f"{self.command} {target.path}"
        fault = self.server.script.next(call)
        if fault is not None and fault.when == BEFORE and self._struck(fault, None):
            return
        raw = "&".join(part for part in (target.query, body) if part)
        held = fault.wait if fault is not None and fault.when == DURING else lambda: None
        answer = self.server.account.answer(self.command, target.path, raw, self._told(), held)
        if fault is not None and fault.when == AFTER and self._struck(fault, answer):
            return
        self._reply(answer)

    def _told(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _struck(self, fault: Fault, answer: Answer | None) -> bool:
        """Let a fault happen; False when the call goes on afterwards."""
        if fault.kind == HOLD:
            fault.wait()
            return False
        if fault.kind == CUT:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return True
        told = dict(answer.headers) if answer is not None else {}
        if fault.kind == STATUS:
            error = fault.error()
            body = json.dumps(error.body).encode()
            if fault.kept:
                self.server.account.keep_instead(self._told(), error.status, body)
            self._reply(Answer(error.status, body, told | error.headers))
        else:
            self._reply(Answer(200, fault.body(), told))
        return True

    def _command(self, name: str, body: str) -> None:
        try:
            done, status = command(self.server.control, name, json.loads(body or "{}")), 200
        except Exception as error:  # noqa: BLE001 - the process that asked is told, whatever it was
            done, status = {"error": repr(error)}, 400
        self._reply(Answer(status, json.dumps(done).encode(), {}))

    def _reply(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def serve(account: Account, port: int = 0) -> tuple[_Server, FakeStripe]:
    """Return a server that is bound and not running yet, and the fake behind it."""
    script = Script()
    server = _Server(port, account, script)
    return server, FakeStripe(account, script, f"http://127.0.0.1:{server.server_address[1]}")


@contextmanager
def fake_stripe(now: datetime | int | None = None, log: Path | None = None) -> Iterator[FakeStripe]:
    """Run a fake in this process. Its clock stands at ``now`` until it is moved, or is the real one."""
    moment = int(now.timestamp()) if isinstance(now, datetime) else now
    server, stripe = serve(Account(moment, log))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield stripe
    finally:
        stripe.script.clear()
        server.shutdown()
        server.server_close()
        thread.join(10)
    # To a client it looked as if the connection had been cut.
    assert not server.mistakes, server.mistakes[0]
