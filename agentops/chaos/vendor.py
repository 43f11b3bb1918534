"""A stateful vendor as a process of its own, over HTTP on this machine, with its own books and its own log.

It knows nothing of us: it keeps balances, answers repeated keys with the first answer, and writes down every
effect it makes. A call may carry words, one for each time it is made, that tell the vendor how to misbehave:

``busy`` 429 · ``down`` 503 · ``refused`` 422, none of them with an effect · ``broken_before`` and ``broken_after``
500 without and with one · ``silent``: the effect is made, the answer comes after the caller stopped waiting ·
``late``: both come after that.
"""

import json
import multiprocessing
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import Any

OPENING_MINOR = 1_000_000
TOO_LATE_S = 1.0
STATUS = {"busy": 429, "down": 503, "refused": 422, "broken_before": 500}
SIGNS = {"pay": -1, "charge": -1, "take_back": 1, "credit": 1}


@dataclass
class Books:
    """Balances in minor units, the first answer to each key, and every effect in the order it was made."""

    balances: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: OPENING_MINOR))
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    effects: list[dict[str, Any]] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def word(self, call: dict[str, Any]) -> str:
        """Return how to misbehave at this attempt, "" for not at all."""
        with self.lock:
            attempt = self.attempts[call["action"] + call["ref"]]
            self.attempts[call["action"] + call["ref"]] += 1
        words = str(call.get("words", "")).partition("|")[0].split()
        return words[attempt] if attempt < len(words) else ""

    def act(self, call: dict[str, Any]) -> dict[str, Any]:
        """Make the effect, once for each key; without a key, every time."""
        key = str(call.get("key", ""))
        with self.lock:
            if key and key in self.answers:
                return self.answers[key]
            self.balances[call["account"]] += SIGNS.get(call["action"], 0) * call["minor"]
            effect = {name: call[name] for name in ("action", "ref", "account", "minor")}
            self.effects.append({**effect, "key": key})
            answer = {"receipt": f"r-{len(self.effects)}"}
            if key:
                self.answers[key] = answer
            return answer


class Handler(BaseHTTPRequestHandler):
    """One request; ``books`` are set by ``serve``."""

    books: Books

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is inherited
        """Say nothing."""

    def do_GET(self) -> None:
        """``/accounts/ID``, ``/keys/KEY``, ``/effects/ACTION/REF``, ``/books``."""
        _, kind, *rest = self.path.split("/")
        with self.books.lock:
            if kind == "accounts":
                self._answer(200, {"balance": self.books.balances[rest[0]]})
            elif kind == "keys" and rest[0] in self.books.answers:
                self._answer(200, self.books.answers[rest[0]])
            elif kind == "effects":
                made = any([effect["action"], effect["ref"]] == rest for effect in self.books.effects)
                self._answer(200, {"made": made})
            elif kind == "books":
                self._answer(200, {"balances": self.books.balances, "effects": self.books.effects})
            else:
                self._answer(404, {})

    def do_POST(self) -> None:
        """``/calls``: make a call."""
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        word = self.books.word(call)
        if word in STATUS:
            self._answer(STATUS[word], {})
            return
        if word == "late":
            time.sleep(TOO_LATE_S)
        answer = self.books.act(call)
        if word == "silent":
            time.sleep(TOO_LATE_S)
        self._answer(500 if word == "broken_after" else 200, answer)

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True  # nobody waits for the answer any more


@contextmanager
def serving() -> Iterator[str]:
    """Run it in a process of its own, and give its port."""
    context = multiprocessing.get_context("forkserver")
    hears, tells = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(tells,), daemon=True)
    process.start()
    tells.close()
    try:
        yield str(hears.recv())
    finally:
        process.kill()
        process.join()


def serve(told: Connection) -> None:
    """Run in a process of its own; sends the port, then serves until it is killed."""
    Handler.books = Books()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.send(server.server_address[1])
    server.serve_forever()
