"""The fake behind a real HTTP server on loopback, in a thread of its own."""

import json
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.factories.fake_kubernetes.cluster import Cluster
from tests.factories.fake_kubernetes.errors import Answer, Refusal
from tests.factories.fake_stripe.faults import AFTER, BEFORE, CUT, STATUS, Fault, Script


class FakeKubernetes:
    """A running fake: ``url`` is where its API is, ``cluster`` what is behind it, ``asked`` the requests that came."""

    def __init__(self, cluster: Cluster, script: Script, asked: list[str], url: str) -> None:
        self.cluster, self.script, self.asked, self.url = cluster, script, asked, url

    def fault(self, call: str, kind: str, **more: Any) -> Fault:
        """Script a fault for calls ``METHOD /path``."""
        return self.script.add(Fault(call, kind, **more))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.script = cluster, Script()
        self.asked: list[str] = []
        self.mistakes: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone; anything else is a mistake in the fake."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            self.mistakes.append(traceback.format_exc())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Answer a request that changes nothing."""
        self._serve()

    def do_POST(self) -> None:
        """Answer a request that makes something."""
        self._serve()

    def do_PATCH(self) -> None:
        """Answer a request that changes something."""
        self._serve()

    def do_DELETE(self) -> None:
        """Answer a request that ends something."""
        self._serve()

    def _serve(self) -> None:
        target = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = dict(parse_qsl(target.query, keep_blank_values=True))
        dry = " (dry)" if "dryRun" in query else ""
        call = f"{self.command} {target.path}{dry}"
        self.server.asked.append(call)
        fault = self.server.script.next(call)
        if fault is not None and fault.when == BEFORE:
            self._struck(fault)
            return
        told = {name.lower(): value for name, value in self.headers.items()}
        with self.server.cluster.lock:
            answer = self.server.cluster.api.answer(
                self.command, unquote(target.path), query, told, json.loads(raw) if raw else None
            )
            data = answer.data()
        if fault is not None and fault.when == AFTER:
            self._struck(fault)
            return
        self._reply(answer.status, data, answer.retry_after)

    def _struck(self, fault: Fault) -> None:
        if fault.kind == CUT:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        elif fault.kind == STATUS:
            refusal = Refusal(fault.status, "scripted")
            self._reply(fault.status, Answer(fault.status, refusal.body()).data(), fault.retry_after or "")
        else:
            with suppress(ConnectionError):
                self._reply(200, fault.body(), "")

    def _reply(self, status: int, data: bytes, retry_after: str) -> None:
        self.send_response(status)
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def fake_kubernetes(cluster: Cluster | None = None) -> Iterator[FakeKubernetes]:
    """Run a fake in this process."""
    made = cluster or Cluster()
    server = _Server(made)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield FakeKubernetes(made, server.script, server.asked, f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.script.clear()
        server.shutdown()
        server.server_close()
        thread.join(10)
    assert not server.mistakes, server.mistakes[0]
