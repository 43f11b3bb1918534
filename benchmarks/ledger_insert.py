"""Eight writers at once, each in a process of its own: with the event of a transaction, and without.

Every round measures all variants, so ratios are of one moment: ``insert_ratio`` is transactions with the leaf to those
without, ``insert_ratio_sequenced`` the same while a sequencer works beside them, and ``added_p95_ms`` what the latter
adds to the 95th percentile of a transaction's duration.
"""

import multiprocessing
import statistics
import threading
from contextlib import ExitStack
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from django.db import connection

from agentops.ledger.log import log_size
from agentops.ledger.sequencing import sequence
from benchmarks.ledger_base import events_there, make_tables
from benchmarks.runtime_base import BenchmarkFailed, median, tidy

WRITERS = 8
BURST_S = 1.0
PAUSE_S = 0.2
PATIENCE_S = 120
VARIANTS = {"without": ("without", False), "leaf": ("leaf", False), "sequenced": ("leaf", True)}


def measure(*, rounds: int, events: int) -> dict[str, Any]:
    """Return the figures. ``events`` is for other parts."""
    make_tables()
    tidy()
    rates: dict[str, list[float]] = {name: [] for name in VARIANTS}
    slow: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with ExitStack() as stack:
        crew = [stack.enter_context(_Writer()) for _ in range(WRITERS)]
        _burst(crew, "leaf", 0.3)
        _burst(crew, "without", 0.3)
        for turn in range(rounds):
            names = list(VARIANTS)
            for name in names[turn % 3 :] + names[: turn % 3]:
                variant, sequenced = VARIANTS[name]
                taken = _beside_sequencer(crew, variant) if sequenced else _burst(crew, variant, BURST_S)
                rates[name].append(len(taken) / BURST_S)
                slow[name].append(statistics.quantiles(taken, n=20)[-1] * 1000)
    while log_size() < events_there():
        sequence()
    return {
        "insert_without_tx_s": round(median(rates["without"])),
        "insert_leaf_tx_s": round(median(rates["leaf"])),
        "insert_ratio": _ratio(rates["leaf"], rates["without"]),
        "insert_ratio_sequenced": _ratio(rates["sequenced"], rates["without"]),
        "p95_without_ms": round(median(slow["without"]), 2),
        "added_p95_ms": round(median([b - a for a, b in zip(slow["without"], slow["sequenced"], strict=True)]), 2),
    }


def _ratio(above: list[float], below: list[float]) -> float:
    return round(median([a / b for a, b in zip(above, below, strict=True)]), 3)


def _burst(crew: "list[_Writer]", variant: str, seconds: float) -> list[float]:
    for writer in crew:
        writer.tell(variant, seconds)
    return [one for writer in crew for one in writer.hear()]


def _beside_sequencer(crew: "list[_Writer]", variant: str) -> list[float]:
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(PAUSE_S):
            sequence()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        return _burst(crew, variant, BURST_S)
    finally:
        ended.set()
        thread.join()


class _Writer:
    """A process that writes when it is told to."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["benchmarks.warm"])
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_write, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._process.join(10)
        self._process.kill()
        self._process.join()

    def tell(self, variant: str, seconds: float) -> None:
        """Let it write for so long."""
        self._ours.send((variant, seconds))

    def hear(self) -> list[float]:
        """Return what each of its transactions took, in seconds. Raises BenchmarkFailed."""
        try:
            if self._ours.poll(PATIENCE_S):
                taken: list[float] = self._ours.recv()
                return taken
        except EOFError:
            pass
        raise BenchmarkFailed("a writer ended, or took too long")


def _write(pipe: Connection) -> None:
    """Run in a process of its own, until the other end is closed."""
    owner = import_module("benchmarks.ledger_base").Owner()
    while True:
        try:
            variant, seconds = pipe.recv()
        except EOFError:
            break
        pipe.send(owner.timed(variant, seconds))
