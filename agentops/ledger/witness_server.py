"""A witness that answers over HTTP. It needs no database and no settings, so it can run where the product is not.

    python -m agentops.ledger.witness_server --key FILE --state FILE --log-key VKEY [--host 127.0.0.1] [--port 8099]

It speaks plain HTTP on loopback; a proxy in front of it speaks HTTPS to others.
"""

import argparse
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.notes import COSIGNATURE, BadNote, PublicKey, SigningKey
from agentops.ledger.witness import MOST_BYTES, PLAIN_TYPE, Reply, Witness
from agentops.ledger.witness_state import StateFile

log = logging.getLogger(__name__)

PATH = "/add-checkpoint"
READ_SECONDS = 5.0
REQUEST_SECONDS = 15.0
MOST_CONNECTIONS = 32
MOST_KEY_BYTES = 10_000


class WitnessServer(ThreadingHTTPServer):
    """Answers one request at a time, since each decides about the one after it; reading them may overlap."""

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        witness: Witness,
        state: StateFile,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Listen. ``now`` returns seconds since 1970. Raises OSError."""
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        self._witness, self._state, self._now = witness, state, now
        self._one = threading.Lock()
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, _Handler)

    def decide(self, body: bytes) -> Reply:
        """Return the answer, once what it promises is on disk."""
        with self._one:
            reply = self._witness.answer(body, self._state.states, int(self._now()))
            if reply.seen is not None and self._state.states.get(reply.origin) != reply.seen:
                try:
                    self._state.remember(reply.origin, reply.seen)
                except OSError as error:
                    log.error("the witness cannot write its state: %s", error)  # noqa: TRY400 - its words say all
                    return Reply(500, "the state cannot be written, so nothing is signed\n")
            return reply

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection when few are open, otherwise close it."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection for a bounded time, however slowly the other side sends."""
        over = threading.Timer(REQUEST_SECONDS, _cut, [request])
        over.daemon = True
        over.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            over.cancel()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong with a connection, in one line."""
        log.warning("a connection ended in %s", sys.exc_info()[1])


def _cut(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: WitnessServer
    timeout = READ_SECONDS
    server_version = "witness"
    sys_version = ""

    def do_POST(self) -> None:
        self.close_connection = True
        if self.path != PATH:
            self._send(Reply(404, "there is nothing here\n"))
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or len(length) > 9:
            self._send(Reply(411, "say how long the request is\n"))
        elif int(length) > MOST_BYTES:
            self._send(Reply(413, f"a request has {MOST_BYTES} bytes at most\n"))
        else:
            body = self.rfile.read(int(length))
            cut = len(body) < int(length)
            self._send(Reply(400, "the request ended too early\n") if cut else self.server.decide(body))

    def _send(self, reply: Reply) -> None:
        body = reply.body.encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type or PLAIN_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        log.info("%s %s", self.address_string(), format % args)


def witness_of(key_file: Path, log_keys: Sequence[str]) -> Witness:
    """Return the witness with this key, for logs whose origins are the names of their keys. Raises BadNote."""
    try:
        with key_file.open(encoding="ascii") as file:
            key = SigningKey.from_skey(file.read(MOST_KEY_BYTES))
    except (OSError, UnicodeDecodeError) as error:
        raise BadNote(f"the key in {key_file} cannot be read ({type(error).__name__})") from None
    if key.kind != COSIGNATURE:
        raise BadNote("the key is that of a log, not of a witness", next_step="Make one with keygen --witness.")
    logs: Mapping[str, list[PublicKey]] = {}
    for text in log_keys:
        public = PublicKey.from_vkey(text)
        logs = {**logs, public.name: [*logs.get(public.name, []), public]}
    return Witness(key, logs)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the program."""
    parser.add_argument("--key", type=Path, required=True, help="the file with the witness's private key")
    parser.add_argument("--state", type=Path, required=True, help="the file that keeps what was signed last")
    parser.add_argument("--log-key", action="append", required=True, help="a public key of a log; may be repeated")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8099, help="the port (8099); 0 takes a free one")
    parser.add_argument("--new", action="store_true", help="this witness has never signed anything: make its state")


def serve(options: Mapping[str, Any], say: Callable[[str], object]) -> None:
    """Answer until the process is ended. Raises AgentOpsError when it cannot begin."""
    witness = witness_of(options["key"], options["log_key"])
    state = StateFile(options["state"], new=options["new"])
    try:
        server = WitnessServer((options["host"], options["port"]), witness, state)
    except (OSError, OverflowError) as error:
        raise AgentOpsError(f"{options['host']}:{options['port']} cannot be listened on ({error}).") from None
    say(f"{witness.key.public.vkey()} listens on port {server.server_address[1]}")
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    server.server_close()
    state.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program, and return its exit code: 2 when it could not begin."""
    parser = argparse.ArgumentParser(description="A witness of a ledger's checkpoints.")
    declare(parser)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    try:
        serve(vars(parser.parse_args(arguments)), lambda words: print(words, flush=True))  # noqa: T201 - a program
    except AgentOpsError as error:
        sys.stderr.write(f"{error.in_full}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
