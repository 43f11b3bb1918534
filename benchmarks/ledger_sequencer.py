"""How many events a second get their place in the log, when many wait: ``sequencer_events_s``.

The events were written fifty a transaction; a batch is what the sweep takes.
"""

import time
from typing import Any

from agentops.ledger.sequencing import sequence
from benchmarks.ledger_base import write_many
from benchmarks.runtime_base import BenchmarkFailed, median, tidy

WAITING = 20_000
FIRST = 1_000_000_000
"""The number of the first event: other parts count from 0."""


def measure(*, rounds: int, events: int) -> dict[str, Any]:
    """Return the figures. ``events`` is for other parts."""
    write_many(FIRST - WAITING, WAITING, at_once=50)
    tidy()
    sequence()
    rates = []
    for turn in range(rounds):
        write_many(FIRST + turn * WAITING, WAITING, at_once=50)
        began = time.perf_counter()
        given = sequence()
        rates.append(given / (time.perf_counter() - began))
        if given < WAITING:
            raise BenchmarkFailed(f"{given} of {WAITING} events were sequenced; who holds the horizon?")
    return {"sequencer_events_s": round(median(rates))}
