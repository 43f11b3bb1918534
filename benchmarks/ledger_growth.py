"""Whether a transaction costs more when there are more events, and sequencing when the log is longer.

At 10^4 and at 10^6 events, a transaction with its event is measured beside the same one without, in turns. The quotient
of both ratios is ``growth_1e6_over_1e4``; drift of the machine falls out of it. ``sequencer_growth`` is seconds an
event for a batch of 5,000 at the end, to those at the beginning.
"""

import time
from typing import Any

from agentops.ledger.sequencing import sequence
from benchmarks.ledger_base import Owner, events_there, make_tables, write_many
from benchmarks.runtime_base import BenchmarkFailed, median, tidy

SMALL = 10_000
SHARE_S = 0.25
BATCH = 5_000
AT_ONCE = 5_000


def measure(*, rounds: int, events: int) -> dict[str, Any]:
    """Return the figures; other parts may have written some events already, which count."""
    make_tables()
    first = _grow(0, SMALL)
    small, small_batch = _costs(rounds), _batches(first, rounds)
    first = _grow(first + rounds * BATCH, events)
    large, large_batch = _costs(rounds), _batches(first, rounds)
    return {
        "growth_1e6_over_1e4": round(large / small, 3),
        "growth_events": events,
        "append_over_without": round(large, 3),
        "sequencer_growth": round(large_batch / small_batch, 3),
    }


def _grow(first: int, events: int) -> int:
    """Write and sequence until there are so many events; return the number that the next one gets."""
    missing = max(events - events_there(), 0)
    write_many(first, missing, at_once=AT_ONCE)
    sequence()
    tidy()
    return first + missing


def _costs(rounds: int) -> float:
    """Return what a transaction with its event costs, to one without."""
    owner = Owner()
    owner.timed("leaf", SHARE_S)
    owner.timed("without", SHARE_S)
    ratios = []
    for _ in range(rounds):
        leaf, without = (median(owner.timed(variant, SHARE_S)) for variant in ("leaf", "without"))
        ratios.append(leaf / without)
    return median(ratios)


def _batches(first: int, rounds: int) -> float:
    """Return the seconds that an event takes in a batch."""
    sequence()
    taken = []
    for turn in range(rounds):
        write_many(first + turn * BATCH, BATCH, at_once=50)
        began = time.perf_counter()
        given = sequence()
        taken.append((time.perf_counter() - began) / given)
        if given < BATCH:
            raise BenchmarkFailed(f"{given} of {BATCH} events were sequenced; who holds the horizon?")
    return median(taken)
