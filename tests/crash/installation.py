"""A whole installation in processes of its own: a web server, Celery workers, and the clock that rings them."""

import http.cookiejar
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import redis

ROOT = Path(__file__).parents[2]
PATIENCE = 90
CELERY = (sys.executable, "-m", "celery", "-A", "agentops")
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")


@dataclass(frozen=True)
class Installation:
    """Where its pages are, and the ids of its worker processes."""

    url: str
    workers: frozenset[int]


@contextmanager
def installation(folder: Path, *, workers: int, redis_url: str = "") -> Iterator[Installation]:
    """Run one on the test's database and on REDIS_URL or another Redis; ``folder`` gets its logs.

    Nothing of it is left behind.
    """
    redis_url = redis_url or os.environ["REDIS_URL"]
    prefix = f"test-{uuid4().hex[:12]}:"
    environment = {
        **os.environ,
        "REDIS_URL": redis_url,
        "DJANGO_SETTINGS_MODULE": "tests.crash.settings_apart",
        "APART_PREFIX": prefix,
        "APART_FOLDER": str(folder),
        "WORKER_THREADS": "2",
        "LEASE_SECONDS": "60",
    }
    with ExitStack() as stack, socket.socket() as listener:
        stack.callback(_forget, redis_url, prefix)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        number = str(listener.fileno())

        def start(name: str, *command: str) -> int:
            log = stack.enter_context((folder / f"{name}.log").open("wb"))
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=log, pass_fds=[listener.fileno()]
            )
            stack.callback(_end, process)
            return process.pid

        start(
            "web", sys.executable, "-m", "uvicorn", "agentops.asgi:application", "--fd", number, "--log-level", "error"
        )
        pids = frozenset(start(f"worker-{n}", *CELERY, "worker", *QUIET, "-n", f"w{n}@test") for n in range(workers))
        _wait(lambda: all((folder / f"ready-{pid}").exists() for pid in pids), folder)
        _wait(lambda: _answers(f"{url}/readyz"), folder)
        start("beat", *CELERY, "beat", "--pidfile=", "-s", str(folder / "schedule"))
        yield Installation(url, pids)


def _wait(there: Callable[[], bool], folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < deadline, said_in(folder)
        time.sleep(0.05)


def said_in(folder: Path) -> str:
    """Return the ends of the logs of all processes."""
    return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-3000:]}" for log in sorted(folder.glob("*.log")))


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        process.send_signal(number)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            continue
        return


def _forget(redis_url: str, prefix: str) -> None:
    with redis.Redis.from_url(redis_url) as server:
        for key in server.scan_iter(match=f"{prefix}*", count=1000):
            server.delete(key)


class Visitor:
    """A person with a browser that has no scripts: follows pages, keeps cookies, sends the forms it was given."""

    def __init__(self, url: str) -> None:
        self.url = url
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(jar)

    def get(self, path: str) -> str:
        """Return the page. Raises urllib.error.HTTPError."""
        with self._opener.open(self.url + path, timeout=60) as answer:
            return str(answer.read().decode())

    def send(self, path: str, page: str, **fields: str) -> str:
        """Send the form of ``page`` to ``path`` with its hidden fields, and return the page that it leads to."""
        hidden = dict(re.findall(r'<input type="hidden" name="(csrfmiddlewaretoken|digest)" value="(\w+)"', page))
        data = urllib.parse.urlencode({**hidden, **fields}).encode()
        with self._opener.open(self.url + path, data, timeout=60) as answer:
            return str(answer.read().decode())

    def sign_in(self, name: str, password: str) -> None:
        """Sign in by the sign-in page."""
        page = self.send("/login/", self.get("/login/"), username=name, password=password)
        assert "Sign out" in page
