"""The demo as its user meets it: a process with a terminal, a browser's requests, signals."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from agentops.embedded.home import remove_home
from agentops.embedded.postgres import EmbeddedPostgres
from agentops.embedded.processes import all_running_in

MANAGE = Path(__file__).parents[2] / "manage.py"
NOT_INHERITED = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "AGENTOPS_TEST_CLUSTER", "PORT")
PATIENCE = 300


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return {**kept, "DEMO_DIR": str(folder), **more}


@dataclass
class RunningDemo:
    folder: Path
    process: "subprocess.Popen[str]"
    said: list[str] = field(default_factory=list)
    url: str = ""
    reader: threading.Thread = field(default_factory=threading.Thread)

    @classmethod
    def start(cls, folder: Path, *options: str) -> "RunningDemo":
        process = subprocess.Popen(
            [sys.executable, str(MANAGE), "demo", "--port", "0", *options],
            env=environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        demo = cls(folder, process)
        announced = threading.Event()
        demo.reader = threading.Thread(target=demo._listen, args=(announced,), daemon=True)
        demo.reader.start()
        assert announced.wait(PATIENCE), "".join(demo.said)
        assert demo.url, "".join(demo.said)
        return demo

    def _listen(self, announced: threading.Event) -> None:
        """Read all that it says, to the end: a full pipe would stop it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            address = re.search(r"runs at (http://127\.0\.0\.1:\d+/)", line)
            if address:
                self.url = address.group(1)
            if self.url and line.strip() == "":
                announced.set()
        announced.set()

    @property
    def data(self) -> Path:
        """Where its database keeps its data."""
        return EmbeddedPostgres(self.folder, "demo").cluster.data

    @contextmanager
    def joined(self) -> "Iterator[psycopg.Connection[tuple[object, ...]]]":
        """Use its database beside it, as another process does."""
        database = EmbeddedPostgres(self.folder, "demo")
        with database.ensure().connect() as connection:
            yield connection
        database.stop()

    def get(self, path: str) -> tuple[int, str]:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return answer.status, answer.read().decode()

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join(10)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def port_is_free(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(self.url.rstrip("/").rpartition(":")[2]))) != 0


@contextmanager
def running(folder: Path, *options: str) -> Iterator[RunningDemo]:
    """Start a demo, and leave no process of it."""
    demo = RunningDemo.start(folder, *options)
    try:
        yield demo
    finally:
        demo.kill()


def refused(folder: Path, *options: str, **more: str) -> tuple[int, str]:
    answer = subprocess.run(
        [sys.executable, str(MANAGE), "demo", *options],
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "Traceback" not in answer.stderr
    return answer.returncode, answer.stderr.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "demo"
    if (tmp_path / "demo").exists():
        remove_home(tmp_path / "demo")


def test_demo_serves_refuses_a_second_one_survives_a_kill_and_ends_clean(folder: Path) -> None:
    with running(folder) as demo:
        assert_serves(demo)
        assert refused(folder, "--port", "0") == (
            2,
            f"The demo cannot start: a demo already runs in this folder: process {demo.process.pid}, {demo.url}.",
        )
        with demo.joined() as connection:
            connection.execute("CREATE TABLE marker AS SELECT 41 AS value")
        data = demo.data
        assert all_running_in(data)

    with running(folder) as again:
        with again.joined() as connection:
            assert connection.execute("SELECT value FROM marker").fetchone() == (41,)
        assert again.end(signal.SIGINT) == 0
    assert all_running_in(data) == []
    assert again.port_is_free()

    with running(folder, "--reset") as anew:
        with anew.joined() as connection:
            assert connection.execute("SELECT to_regclass('marker')").fetchone() == (None,)
        assert anew.end(signal.SIGTERM) == 0
    assert all_running_in(data) == []
    assert anew.port_is_free()


def assert_serves(demo: RunningDemo) -> None:
    """The terminal names the accounts, the checks are well, and the login page offers the accounts."""
    shown = "".join(demo.said)
    assert [name for name in ("approver", "admin", "support") if f"  {name} " in shown] == [
        "approver",
        "admin",
        "support",
    ]
    assert demo.get("readyz") == (
        200,
        '{"status": "ok", "checks": {"database": "ok", "migrations": "ok"}, "ledger": "ok"}',
    )
    status, page = demo.get("login/")
    assert status == 200
    assert re.findall(r'name="username" value="(\w+)"', page) == ["approver", "second", "admin", "support"]


def test_taken_port_is_refused_in_one_sentence(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert refused(folder, "--port", str(port)) == (
            2,
            (
                f"The demo cannot start: port {port} cannot be used (Address already in use); "
                f"choose another one: make demo PORT={port + 1}."
            ),
        )


def test_dead_database_is_refused_in_one_sentence(folder: Path) -> None:
    code, sentence = refused(folder, "--port", "0", DATABASE_URL="postgres://nobody@127.0.0.1:9/none")
    assert code == 2
    assert sentence.startswith("The demo cannot start: the database at 127.0.0.1:9 does not answer: ")
    assert len(sentence.splitlines()) == 1


def test_reset_of_a_database_that_is_not_ours_is_refused(folder: Path) -> None:
    code, sentence = refused(folder, "--port", "0", "--reset", DATABASE_URL="postgres://nobody@127.0.0.1:9/none")
    assert code == 2
    assert sentence.endswith("RESET deletes only the demo's own database, and DATABASE_URL names another one.")


@pytest.mark.parametrize("port", ["http", "70000", "-1"])
def test_port_that_is_none_is_refused(folder: Path, port: str) -> None:
    code, sentence = refused(folder, PORT=port)
    assert code == 2
    assert sentence == f"The demo cannot start: PORT is '{port}'; write a whole number from 0 to 65535."


def test_other_settings_have_no_demo(folder: Path) -> None:
    assert refused(folder, DJANGO_SETTINGS_MODULE="agentops.settings.test", AGENTOPS_TEST_CLUSTER="unused") == (
        2,
        "The demo cannot start: it needs DJANGO_SETTINGS_MODULE=agentops.settings.demo.",
    )
