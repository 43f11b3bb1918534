"""A durable step of the runtime beside the reference and other libraries, in interleaved rounds.

Times and counts come from different sessions: reading a counter is itself a statement. A step's time is that between
the claim and the end of its session, divided by the steps; the claim is given apart.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from django.db import connection

from agentops.agents.models import Agent
from benchmarks import runtime_role
from benchmarks.runtime_base import LONG, SHORT, conninfo, median, require_all, start, tidy, work_next
from benchmarks.runtime_counts import counts, rows
from benchmarks.runtime_others import Other
from benchmarks.runtime_raw import Raw, make_tables

SESSIONS_A_ROUND = 10
Samples = dict[str, list[float]]


def measure(agent: Agent, others: list[Other], *, rounds: int) -> dict[str, Any]:
    """Return the figures of a step: times from ``rounds`` rounds, then counts from further sessions.

    The ``others`` are closed in between.
    """
    make_tables(conninfo())
    raw = Raw(conninfo())
    try:
        for _ in range(5):
            _round(agent, raw, [], defaultdict(list), sessions=1, long=False)
        for other in others:
            other.work(2, SHORT)
        tidy()
        raw.close()
        raw = Raw(conninfo())
        _round(agent, raw, [], defaultdict(list), sessions=3, long=True)
        by_round: Samples = defaultdict(list)
        for number in range(rounds):
            _round(agent, raw, _rotated(others, number), by_round, sessions=SESSIONS_A_ROUND, long=True)
        for other in others:
            # Some of them look into the database by themselves all the time, which would be counted.
            other.close()
        figures = _times(by_round) | counts(agent, raw, sessions=max(4, 4 * rounds))
        require_all("finished")
        return figures | {"rows": rows(raw)}
    finally:
        raw.close()


def _rotated(others: list[Other], number: int) -> list[Other]:
    turn = number % len(others) if others else 0
    return others[turn:] + others[:turn]


def _round(agent: Agent, raw: Raw, others: list[Other], by_round: Samples, *, sessions: int, long: bool) -> None:
    """Add one value a variant: milliseconds a step, the median of its sessions in this round.

    Sessions of the variants take turns, in another order each time, so that a slow moment hits all of them.
    """
    samples: Samples = defaultdict(list)
    variants: list[Callable[[], None]] = [
        lambda: _work_raw(raw, SHORT, samples["raw"]),
        lambda: _work_writes(agent, SHORT, samples, "ours"),
        lambda: _work_reads(agent, samples["read"]),
    ]
    for number in range(sessions):
        for place in range(3):
            variants[(number + place) % 3]()
    if long:
        _work_raw(raw, LONG, samples["raw_300"])
        _work_writes(agent, LONG, samples, "ours_300")
    for other in others:
        samples[other.name].append(other.work(2, SHORT))
    for name, values in samples.items():
        by_round[name].append(median(values))


def _work_raw(raw: Raw, steps: int, into: list[float]) -> None:
    session = raw.start()
    into.append(raw.work(session, steps) * 1000 / steps)


def _work_writes(agent: Agent, steps: int, samples: Samples, name: str) -> None:
    start(agent, "write", steps)
    worked = work_next()
    samples[name].append(worked.work_s * 1000 / steps)
    samples[f"{name}_claim"].append(worked.claim_s * 1000)


def _work_reads(agent: Agent, into: list[float]) -> None:
    """The session's one write, between the last two questions to the planner, is taken out."""
    start(agent, "read", SHORT)
    runtime_role.watch(True)
    worked = work_next()
    asked = list(runtime_role.asked_at)
    runtime_role.watch(False)
    into.append((worked.work_s - (asked[SHORT + 1] - asked[SHORT])) * 1000 / SHORT)


def _times(by_round: Samples) -> dict[str, Any]:
    def ratio(above: str, below: str) -> float:
        return round(median([a / b for a, b in zip(by_round[above], by_round[below], strict=True)]), 3)

    raw, ours, read = (round(median(by_round[name]), 3) for name in ("raw", "ours", "read"))
    whole = [o + c / SHORT for o, c in zip(by_round["ours"], by_round["ours_claim"], strict=True)]
    figures: dict[str, Any] = {
        "raw_ms": raw,
        "ours_ms": ours,
        "ratio": ratio("ours", "raw"),
        "read_ms": read,
        "read_ratio": ratio("read", "raw"),
        "raw_300_ms": round(median(by_round["raw_300"]), 3),
        "ours_300_ms": round(median(by_round["ours_300"]), 3),
        "ratio_300": ratio("ours_300", "raw_300"),
        "growth_300_over_20": ratio("ours_300", "ours"),
        "raw_growth_300_over_20": ratio("raw_300", "raw"),
        "claim_ms": round(median(by_round["ours_claim"]), 3),
        "ratio_with_claim": round(median([w / r for w, r in zip(whole, by_round["raw"], strict=True)]), 3),
        "ratios": [round(o / r, 3) for o, r in zip(by_round["ours"], by_round["raw"], strict=True)],
    }
    for name in set(by_round) & {"dbos", "langgraph"}:
        figures |= {f"{name}_ms": round(median(by_round[name]), 3), f"{name}_ratio": ratio(name, "raw")}
        figures[f"{name}_over_ours"] = ratio(name, "ours")
    return figures


def versions() -> dict[str, Any]:
    """Return what the figures depend on."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version'), current_setting('synchronous_commit'), current_setting('fsync'),"
            " current_database()"
        )
        server, commit, fsync, database = cursor.fetchone()
    return {
        "postgresql": server,
        "synchronous_commit": commit,
        "fsync": fsync,
        "database": database,
        "at": time.strftime("%Y-%m-%d %H:%M"),
        "load": round(os.getloadavg()[0], 1),
    }
