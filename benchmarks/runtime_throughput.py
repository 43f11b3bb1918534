"""Many sessions at once: worker processes with threads, as a Celery worker has them, and the reference beside them.

Eight or two hundred sessions are worked at the same time, each by a thread of its own while the server has
connections for it; what was really used is told as ``threads``.
"""

import multiprocessing
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

import psycopg

from agentops.agents.models import Agent
from agentops.runtime.models import Session
from benchmarks.runtime_base import SHORT, BenchmarkFailed, conninfo, median, require_all, start, tidy
from benchmarks.runtime_raw import Raw

PATIENCE_S = 300
_PAUSE_S = 0.001


@dataclass(frozen=True)
class Setting:
    """``threads`` are those of each worker process."""

    sessions_at_once: int
    workers: int
    threads: int


def settings() -> tuple[Setting, ...]:
    """Return what is measured, within half the connections of the server: it may have other users."""
    with psycopg.connect(conninfo()) as server:
        row = server.execute("SELECT current_setting('max_connections')::int").fetchone()
    most = int(row[0]) // 2 if row else 1
    return tuple(
        Setting(sessions, workers, max(1, min(sessions, most) // workers))
        for sessions in (8, 200)
        for workers in (1, 4)
    )


def measure(agent: Agent, *, rounds: int) -> dict[str, Any]:
    """Return steps a second of every setting, and of the reference with eight threads in one process."""
    tidy()
    chosen = settings()
    found: dict[Setting | None, list[float]] = defaultdict(list)
    for _ in range(rounds):
        found[None].append(_raw(8, sessions=160))
        for setting in chosen:
            found[setting].append(_ours(agent, setting, sessions=max(80, setting.sessions_at_once)))
    require_all("finished")
    ratios = [ours / raw for ours, raw in zip(found[chosen[0]], found[None], strict=True)]
    return {
        "throughput": [{**vars(one), "steps_s": round(median(found[one]))} for one in chosen],
        "throughput_raw_8": round(median(found[None])),
        "throughput_ratio_8": round(median(ratios), 3),
    }


def _ours(agent: Agent, setting: Setting, *, sessions: int) -> float:
    """Every thread works one session first, which is not counted: it opens its connection and makes its plans."""
    for _ in range(setting.workers * setting.threads):
        start(agent, "write", SHORT)
    with ExitStack() as stack:
        crew = [stack.enter_context(_Worker(_work_ours, setting.threads)) for _ in range(setting.workers)]
        for worker in crew:
            worker.hear()
        for _ in range(sessions):
            start(agent, "write", SHORT)
        return sessions * SHORT / _timed(crew)


def _raw(threads: int, *, sessions: int) -> float:
    with _Worker(_work_raw, threads, sessions // threads) as worker:
        worker.hear()
        return sessions // threads * threads * SHORT / _timed([worker])


def _timed(crew: "list[_Worker]") -> float:
    began = time.perf_counter()
    for worker in crew:
        worker.tell()
    for worker in crew:
        worker.hear()
    return time.perf_counter() - began


class _Worker:
    """A process that is forked from a warmed server, prepares, says so, and works when it is told to."""

    def __init__(self, target: Callable[..., None], *arguments: int) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["benchmarks.warm"])
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> "_Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._process.join(10)
        self._process.kill()
        self._process.join()

    def tell(self) -> None:
        """Let it go on."""
        self._ours.send(True)

    def hear(self) -> None:
        """Wait until it got to its next point. Raises BenchmarkFailed when it does not."""
        try:
            if self._ours.poll(PATIENCE_S) and self._ours.recv():
                return
        except EOFError:
            pass
        raise BenchmarkFailed("a worker process ended, or took too long")


# -- In the worker process -----------------------------------------------------------------------------


def _work_ours(pipe: Connection, threads: int) -> None:
    dispatch = import_module("agentops.runtime.dispatch")

    def prepare() -> Callable[[], None]:
        while dispatch.work_until_quiet(most=1) == 0:
            # Another thread was about to claim the same session.
            time.sleep(_PAUSE_S)
        return work

    def work() -> None:
        while dispatch.work_until_quiet() or Session.objects.filter(status="queued").exists():
            time.sleep(_PAUSE_S)

    _together(pipe, threads, prepare)


def _work_raw(pipe: Connection, threads: int, sessions: int) -> None:
    def prepare() -> Callable[[], None]:
        raw = Raw(conninfo())
        raw.work(raw.start(), SHORT)

        def work() -> None:
            for _ in range(sessions):
                raw.work(raw.start(), SHORT)

        return work

    _together(pipe, threads, prepare)


def _together(pipe: Connection, threads: int, prepare: Callable[[], Callable[[], None]]) -> None:
    """Prepare in every thread, tell, wait for the word, work in every thread, tell. Silence says that it failed."""
    ready, go = threading.Barrier(threads + 1), threading.Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work = prepare()
            ready.wait()
            go.wait()
            work()
        except BaseException as error:
            failed.append(error)
            ready.abort()
            raise

    crew = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in crew:
        thread.start()
    ready.wait()
    pipe.send(True)
    pipe.recv()
    go.set()
    for thread in crew:
        thread.join()
    pipe.send(not failed)
