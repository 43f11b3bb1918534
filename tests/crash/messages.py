"""Workers that hear of work by messages alone, and a carrier that loses, repeats and delays these."""

import multiprocessing
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty
from typing import Any

from agentops.runtime import doorbell, tasks

LOST, REPEATED = 0.4, 0.4
LATEST_S = 0.8
SWEEP_EVERY_S = 0.5
_context = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Tally:
    """How many rings were lost, came more than once, and came after one that was sent later."""

    lost: Any
    repeated: Any
    overtaken: Any

    def counts(self) -> tuple[int, int, int]:
        return self.lost.value, self.repeated.value, self.overtaken.value


class Carrier:
    """Takes rings to the queue, carelessly: each message is the moment it is due and its number."""

    def __init__(self, queue: Any, tally: Tally, seed: int) -> None:
        self._queue, self._tally, self._chance = queue, tally, random.Random(seed)
        self._latest = 0.0

    def ring(self) -> None:
        if self._chance.random() < LOST:
            add(self._tally.lost)
            return
        copies = 1
        if self._chance.random() < REPEATED:
            copies = self._chance.randint(2, 4)
            add(self._tally.repeated)
        for _ in range(copies):
            due = time.time() + self._chance.uniform(0, LATEST_S)
            if due < self._latest:
                add(self._tally.overtaken)
            self._latest = max(self._latest, due)
            self._queue.put(due)


def add(counter: Any) -> None:
    with counter.get_lock():
        counter.value += 1


def hear(queue: Any, tally: Tally, seed: int) -> None:
    """Run in a process of its own: work when a message says so; now and then do what is due, as the clock would."""
    doorbell.ring = Carrier(queue, tally, seed).ring
    waiting: list[float] = []
    sweep_at = 0.0
    while True:
        with suppress(Empty):
            waiting.append(queue.get(timeout=0.05))
        if time.time() >= sweep_at:
            sweep_at = time.time() + SWEEP_EVERY_S
            tasks.sweep()
        due = [moment for moment in waiting if moment <= time.time()]
        waiting = [moment for moment in waiting if moment not in due]
        for _ in due:
            tasks.ring()


@contextmanager
def careless_workers(count: int, *, seed: int) -> Iterator[tuple[Callable[[], None], Tally]]:
    """Run workers; yield a ring for this process and the tally, which is complete at the end."""
    _context.set_forkserver_preload(["benchmarks.warm"])
    queue = _context.Queue()
    tally = Tally(*(_context.Value("i", 0) for _ in range(3)))
    workers = [_context.Process(target=hear, args=(queue, tally, seed + n), daemon=True) for n in range(1, count + 1)]
    for worker in workers:
        worker.start()
    try:
        yield Carrier(queue, tally, seed).ring, tally
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
        queue.close()
        queue.cancel_join_thread()
