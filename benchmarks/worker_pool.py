"""Real worker processes that are killed at random moments and replaced.

Each worker does what a Celery worker does on a doorbell, on several threads at once and far too often: it
rings itself again and again, so that every message arrives many times. The processes are forked from a
warmed server that holds no connection.
"""

import multiprocessing
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.process import BaseProcess

from django.db import connections

_PAUSE_S = 0.05
_RINGS_A_SWEEP = 6
Progress = Callable[[], int]


def work(prepare: str, threads: int) -> None:
    """Run in a worker process until it is killed. ``prepare`` is ``module:function`` to call first, or empty."""
    if prepare:
        module, function = prepare.split(":")
        getattr(import_module(module), function)()
    for _ in range(threads - 1):
        threading.Thread(target=_ring_for_ever, daemon=True).start()
    _ring_for_ever()


def _ring_for_ever() -> None:
    tasks = import_module("agentops.runtime.tasks")
    while True:
        tasks.sweep()
        for _ in range(_RINGS_A_SWEEP):
            tasks.ring()
            time.sleep(_PAUSE_S)


@dataclass
class Pool:
    """Running workers. ``kills`` counts those that were killed, ``deaths`` those that ended by themselves."""

    count: int
    prepare: str
    threads: int
    alive: list[BaseProcess] = field(default_factory=list)
    kills: int = 0
    deaths: int = 0

    def start(self) -> BaseProcess:
        """Start one worker."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["benchmarks.warm"])
        process = context.Process(target=work, args=(self.prepare, self.threads), daemon=True)
        process.start()
        return process

    def replace(self, place: int) -> None:
        """SIGKILL the worker at ``place`` and start another."""
        victim = self.alive[place]
        victim.kill()
        victim.join()
        if victim.exitcode == -signal.SIGKILL:
            self.kills += 1
        else:
            self.deaths += 1
        self.alive[place] = self.start()


@contextmanager
def workers(
    count: int, *, prepare: str = "", threads: int = 2, progress: Progress | None = None, most: int = 40, seed: int = 0
) -> Iterator[Pool]:
    """Keep ``count`` workers running; all of them are gone at the end.

    With ``progress``, a number that grows while they work (events recorded, say), a random worker is killed each time
    it has grown by a random amount up to ``most``: so often, and no oftener than work gets done on any machine.
    """
    pool = Pool(count, prepare, threads)
    pool.alive = [pool.start() for _ in range(count)]
    stop = threading.Event()

    def reap() -> None:
        chance = random.Random(seed)
        due = chance.randint(1, most)
        while progress is not None and not stop.wait(chance.uniform(0, 0.05)):
            if progress() >= due:
                pool.replace(chance.randrange(count))
                due = progress() + chance.randint(1, most)
        connections.close_all()

    reaper = threading.Thread(target=reap)
    reaper.start()
    try:
        yield pool
    finally:
        stop.set()
        reaper.join()
        for process in pool.alive:
            process.kill()
            process.join()
