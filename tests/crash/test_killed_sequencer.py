"""A sequencer is killed at each of its crash points, with writers beside it, and the next one goes on."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import pytest
from django.db import connection

from agentops.kernel.crashpoints import CrashPoint, arm
from agentops.ledger.log import log_size
from agentops.ledger.models import LedgerEvent
from agentops.ledger.sequencing import sequence
from tests.factories.ledger_log import require_whole_log, sequence_until, write_events

POINTS = [CrashPoint.LOG_COPIED, CrashPoint.LOG_COMMITTING, CrashPoint.LOG_COMMITTED]
BATCH = 100
PATIENCE = 60
SPREAD = 5


def sequence_until_killed(point: CrashPoint, nth: int, told: Connection) -> None:
    """Run in a process of its own: sequence, and die when the point is reached for the nth time."""
    left = nth

    def trap(reached: CrashPoint) -> None:
        nonlocal left
        left -= reached is point
        if left == 0:
            told.send(log_size())
            os.kill(os.getpid(), signal.SIGKILL)

    arm(trap)
    while True:
        sequence(batch=BATCH)


def kill_at(point: CrashPoint, nth: int) -> int:
    """Let a sequencer die there, and return how long the log was as it saw it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.warm"])
    hears, told = context.Pipe(duplex=False)
    process = context.Process(target=sequence_until_killed, args=(point, nth, told), daemon=True)
    process.start()
    told.close()
    try:
        assert hears.poll(PATIENCE), f"no sequencer got to {point}"
        size = int(hears.recv())
        process.join(PATIENCE)
        assert process.exitcode == -signal.SIGKILL
        return size
    finally:
        hears.close()
        process.kill()
        process.join()


@contextmanager
def writing() -> Iterator[None]:
    """Write all the time, in another thread."""
    ended = threading.Event()

    def write() -> None:
        for number in range(10**9):
            if ended.is_set():
                break
            write_events(f"agent:{number % SPREAD}", 20)
        connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("point", POINTS)
def test_killed_sequencer_loses_nothing_and_writes_nothing_twice(point: CrashPoint) -> None:
    with writing():
        # A sequencer that is gone holds its lock until the server has noticed.
        sizes = [kill_at(point, nth) for nth in (1, 2, 3)]
    assert sizes == sorted(sizes)
    total = LedgerEvent.objects.count()
    assert total > sizes[-1] > 0
    sequence_until(total)
    require_whole_log(total)


def test_batch_that_was_not_committed_is_taken_again() -> None:
    for number in range(10):
        write_events(f"agent:{number}", 60)
    seen = kill_at(CrashPoint.LOG_COMMITTING, 3)
    deadline = time.monotonic() + PATIENCE
    while log_size() == seen:
        assert time.monotonic() < deadline
        sequence(batch=BATCH)
    sequence_until(600)
    require_whole_log(600)
    # The one that died had written its third batch, and saw it; two were committed.
    assert seen == 360
